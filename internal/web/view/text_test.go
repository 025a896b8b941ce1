package view

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Names are isolated from the text direction: in Arabic text, their @ and # stay in front.
func TestDirectionOfNames(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := bodyText("مرحبا @yuki_t #redis", nil).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	if want := `مرحبا <a href="/u/yuki_t" dir="auto">@yuki_t</a> <a href="/tag/redis" rel="tag" dir="auto">#redis</a>`; b.String() != want {
		t.Errorf("bodyText: %s; want %s", b.String(), want)
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
			rt.Errorf("ProfilePath(%q) = %q", name, path)
		}
	})
}
