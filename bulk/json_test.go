package bulk

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestJSONStrict(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"id":"a\qb"}`, `{"id":"\u12"}`, "{\"id\":\"a\tb\"}", `{"id":[01]}`, `{"id":[NaN]}`, `{"id":1,"other":1-2}`,
		`{"id":01}`, `{"id":nan}`, `{"id":+1}`, `{"id":-Inf}`, `{"id":1.}`, `{"id":1}x`, `{"id":` + strings.Repeat("[", maxRecord/2),
	} {
		got, _, err := emitted(line, Options{Format: NDJSON, Do: templates(t, "SET a {id}")})
		if len(got) > 0 || err == nil || !strings.Contains(err.Error(), "line 1: this is not JSON: ") || len(err.Error()) > 300 {
			t.Errorf("%.40s: %q, %v", line, got, err)
		}
	}
}

// TestJSONInside takes a value and, before or behind it, what is in it.
func TestJSONInside(t *testing.T) {
	t.Parallel()
	const object = `{"b\u0001":1,"c":"x\u0001\u007f\u0007\"","d":{"e":"\u0002"}}`
	for _, text := range []string{
		"SET {a.c} {a}", "SET {a} {a.c}", "SET {a.none|default:-} {a}", "SET {a.d.e} {a}", "SET {a.d.none|default:-} {a.d} {a}",
	} {
		s := newJSON(strings.NewReader(`{"a":`+object+"}"), templates(t, text), nil, position{})
		var f Frame
		if _, err := s.next(&f); err != nil {
			t.Fatal(err)
		}
		for i := range f.Len() {
			arg := f.Arg(i)
			if strings.HasPrefix(string(arg), "{") && !json.Valid(arg) {
				t.Errorf("%s: %q", text, arg)
			}
			if strings.HasPrefix(string(arg), `{"b`) && string(arg) != object {
				t.Errorf("%s: %q, expected %q", text, arg, object)
			}
		}
	}
}
