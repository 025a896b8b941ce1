package input

import (
	"bytes"
	"testing"

	"retwis/bulk/resp"
)

func FuzzTemplate(f *testing.F) {
	f.Add("SET user:{id} {name|lower}", []byte("x"))
	f.Add("SET {{{id|int}}} '{#} {a|default:b c}'", []byte("7"))
	f.Fuzz(func(t *testing.T, text string, value []byte) {
		parsed, err := ParseTemplate(text)
		if err != nil {
			return
		}
		raw, err := parsed.Append(nil, 1, func(string) ([]byte, bool) { return value, true })
		if err != nil {
			return
		}
		s := resp.NewScanner(bytes.NewReader(raw))
		if !s.Scan() || s.Frame().Len() != len(parsed.args) || len(s.Frame().Raw()) != len(raw) || s.Scan() || s.Err() != nil {
			t.Fatalf("%q made %q: %v", text, raw, s.Err())
		}
	})
}
