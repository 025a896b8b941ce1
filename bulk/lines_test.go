package bulk

import (
	"strings"
	"testing"
)

// TestLineBlanks checks that blanks separate the words of a line as in redis-cli.
func TestLineBlanks(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"\x00\nSET a b\n\x00\x00\x00": "SET|a|b",
		"SET a x\vy":                  "SET|a|x\vy",
		"SET a z\fw b":                "SET|a|z\fw|b",
		"SET \va \fb":                 "SET|a|b",
		"SET \"q\"\vr":                "SET|q|r",
		"SET x\v\"q\"":                "SET|x\vq",
	} {
		got, _, err := emitted(input, Options{Format: Commands})
		if err != nil || strings.Join(got, "\n") != want {
			t.Errorf("%q: %q, %v; want %q", input, got, err, want)
		}
	}
}
