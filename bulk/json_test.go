package bulk

import (
	"strings"
	"testing"
)

// TestJSONStrict checks that invalid JSON is rejected with a short error.
func TestJSONStrict(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"id":"a\qb"}`, `{"id":"\u12"}`, "{\"id\":\"a\tb\"}", `{"id":[01]}`, `{"id":[NaN]}`, `{"id":1,"other":1-2}`,
		`{"id":01}`, `{"id":nan}`, `{"id":+1}`, `{"id":-Inf}`, `{"id":1.}`, `{"id":1}x`, `{"id":` + strings.Repeat("[", 8<<20),
	} {
		got, _, err := emitted(line, Options{Format: NDJSON, Do: []string{"SET a {id}"}})
		if len(got) > 0 || err == nil || !strings.Contains(err.Error(), "line 1: this is not JSON: ") || len(err.Error()) > 300 {
			t.Errorf("%.40s: emitted %q, %v; want an error of at most 300 bytes", line, got, err)
		}
	}
}

// TestJSONSurrogates checks that half of a surrogate pair is rejected in a loaded field, and
// ignored in other fields.
func TestJSONSurrogates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`\ud83d\ude00`: "\U0001f600", `\uD83D\uDE00 \u00e9`: "\U0001f600 é", `\\ud83d`: `\ud83d`,
		`\ud83d`: "", `a\ude00`: "", `\ude00\ud83d`: "", `\ud83d\ud83d\ude00`: "", `\ud83dx`: "", `\ud83d\n`: "", `\\\ud83d`: "",
	} {
		line := `{"id":"` + text + `","other":"\ud83d"}`
		got, _, err := emitted(line, Options{Format: NDJSON, Do: []string{"SET a {id}"}})
		switch {
		case want != "" && (err != nil || len(got) != 1 || got[0] != "SET|a|"+want):
			t.Errorf("%s: %q, %v, want %q", line, got, err, want)
		case want == "" && (err == nil || !strings.Contains(err.Error(), `line 1: field "id": it has half of a surrogate pair`)):
			t.Errorf("%s: emitted %q, %v; want an error", line, got, err)
		}
	}
	const object = `{"a":"\ud83d"}`
	got, _, err := emitted(`{"id":`+object+`}`, Options{Format: NDJSON, Do: []string{"SET a {id}"}})
	if err != nil || len(got) != 1 || got[0] != "SET|a|"+object {
		t.Errorf("emitted %q, %v; want the object %s unchanged", got, err, object)
	}
}
