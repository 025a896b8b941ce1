package bulk

import (
	"strings"
	"testing"
)

func TestJSONStrict(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"id":"a\qb"}`, `{"id":"\u12"}`, "{\"id\":\"a\tb\"}", `{"id":[01]}`, `{"id":[NaN]}`, `{"id":1,"other":1-2}`,
		`{"id":01}`, `{"id":nan}`, `{"id":+1}`, `{"id":-Inf}`, `{"id":1.}`, `{"id":1}x`, `{"id":` + strings.Repeat("[", 8<<20),
	} {
		got, _, err := emitted(line, Options{Format: NDJSON, Do: templates(t, "SET a {id}")})
		if len(got) > 0 || err == nil || !strings.Contains(err.Error(), "line 1: this is not JSON: ") || len(err.Error()) > 300 {
			t.Errorf("%.40s: %q, %v", line, got, err)
		}
	}
}
