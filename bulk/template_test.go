package bulk

import (
	"strings"
	"testing"
)

func TestTemplateWords(t *testing.T) {
	t.Parallel()
	missing := func(string) ([]byte, bool) { return nil, false }
	for text, want := range map[string]string{
		`SET "a\x01b" c`:                  "SET|a\x01b|c",
		"SET \x01 {x|default:\x01}":       "SET|\x01|\x01",
		"SET a {x|default:New\tYork} ":    "SET|a|New\tYork",
		`SET a:{x|default:b c}"d \"e"`:    `SET|a:b cd "e`,
		`SET {{a b}} c`:                   "SET|{a|b}|c",
		`SET '' {x|default:}`:             "SET||",
		`SET {x|default:a}' b' "\x41\\n"`: `SET|a b|A\n`,
	} {
		raw, err := templates(t, text)[0].Append(nil, 1, missing)
		got, _, scanErr := scanAll(strings.NewReader(string(raw)))
		if err != nil || scanErr != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, %v, %v; expected %q", text, got, err, scanErr, want)
		}
	}
}

func TestTemplateColumns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"SET {a|foo}":           "(column 5)",
		"SET  a:{} b":           "(column 6)",
		"SET {x|default:b c} }": "(column 21)",
		`"" {a`:                 "(column 4)",
		`SET a b"c`:             "column 8: the quote",
	} {
		if _, err := ParseTemplate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %q", text, err, want)
		}
	}
}
