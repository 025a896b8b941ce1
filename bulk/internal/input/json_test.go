package input

import (
	"encoding/json"
	"strings"
	"testing"

	"retwis/bulk/resp"
	"retwis/internal/require"
)

// TestJSONInside checks templates that use an object and also fields inside the object.
func TestJSONInside(t *testing.T) {
	t.Parallel()
	const object = `{"b\u0001":1,"c":"x\u0001\u007f\u0007\"","d":{"e":"\u0002"}}`
	for _, text := range []string{
		"SET {a.c} {a}", "SET {a} {a.c}", "SET {a.none|default:-} {a}", "SET {a.d.e} {a}", "SET {a.d.none|default:-} {a.d} {a}",
	} {
		parsed, err := ParseTemplate(text)
		require.OK(t)(err)
		s := newJSON(newLineReader(strings.NewReader(`{"a":`+object+"}"), Position{}), Options{Do: []*Template{parsed}}, Position{})
		var f resp.Frame
		require.OK(t)(s.Next(&f))
		for i := range f.Len() {
			arg := f.Arg(i)
			if strings.HasPrefix(string(arg), "{") && !json.Valid(arg) {
				t.Errorf("%s: argument %q is not valid JSON", text, arg)
			}
			if strings.HasPrefix(string(arg), `{"b`) && string(arg) != object {
				t.Errorf("%s: %q, want %q", text, arg, object)
			}
		}
	}
}
