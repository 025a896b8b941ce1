package graph

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"retwis/index"
)

// ParseTSV is the inverse of TSV for any names, and TSV writes a single line.
func TestTSV(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(names(), rapid.StringOfN(rapid.RuneFrom([]rune("\t\n\r\\tnr\ufeff")), 1, 5, -1))
		want := Triple{name.Draw(t, "s"), name.Draw(t, "p"), name.Draw(t, "o")}
		line := want.TSV()
		if got, err := ParseTSV(line); got != want || err != nil || strings.ContainsAny(line, "\r\n") {
			t.Fatalf("%q is formatted as %q and parsed as %q (%v)", want, line, got, err)
		}
	})
	for line, want := range map[string]string{
		"":                         "found 1 part",
		"a b c":                    "expected subject, tab, predicate, tab, object; found 1 part",
		"a\tb":                     "found 2 parts",
		"a\tb\tc\td":               "found 4 parts",
		"a\tb\tc\td\te\tf":         "found 5 or more parts",
		"é\t\tc":                   "column 3: the predicate has 0 bytes",
		`é` + "\t" + `é\x` + "\tc": `column 4: write a backslash as \\`,
		"a\tb\tc\\":                "column 6: write a backslash",
		"a\tb\t" + strings.Repeat("x", MaxName+1): "column 5: the object has 65537 bytes",
	} {
		if _, err := ParseTSV(line); err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, index.ErrValue) {
			t.Errorf("ParseTSV(%.40q): %v, want error with %q", line, err, want)
		}
	}
}
