package view

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %q, want %q", n, got, want)
		}
	}
}

// A name in a path is decoded unchanged.
func TestProfilePath(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.String().Draw(rt, "name")
		path := ProfilePath(name)
		back, err := url.PathUnescape(strings.TrimPrefix(path, "/u/"))
		if err != nil || back != name || strings.Count(path, "/") != 2 {
			rt.Errorf("%q is at %q", name, path)
		}
	})
}
