package web

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestInitials(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ada": "A", "ada_lovelace": "AL", "AdaLovelace": "A", "_x_": "X", "ada lovelace king": "AL",
		"élan": "É", "__": "_", "42nd": "4", "": "\uFFFD",
	} {
		if got := initials(name); got != want {
			t.Errorf("initials(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %q, want %q", n, got, want)
		}
	}
}

// A name in a path is decoded unchanged.
func TestProfilePath(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.String().Draw(rt, "name")
		path := profilePath(name)
		back, err := url.PathUnescape(strings.TrimPrefix(path, "/u/"))
		if err != nil || back != name || strings.Count(path, "/") != 2 {
			rt.Errorf("%q is at %q", name, path)
		}
	})
}

// FuzzBefore looks for a cursor that is misread.
func FuzzBefore(f *testing.F) {
	for _, query := range []string{"before=1", "before=01", "before=", "before=1&before=2", "before=9223372036854775807", "x=1"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		query, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		id, err := parseBefore(query)
		switch {
		case err != nil && id != 0:
			t.Errorf("%q is %d and %v", raw, id, err)
		case err == nil && id == 0 && query.Has("before"):
			t.Errorf("%q was passed over", raw)
		case err == nil && id != 0 && !strings.HasSuffix(older("", id), "="+query.Get("before")):
			t.Errorf("%q was read as %d", raw, id)
		}
	})
}

// FuzzLocalPath looks for an open redirect.
func FuzzLocalPath(f *testing.F) {
	for _, next := range []string{"/home", "//evil", `/\evil`, "https://evil", "/a?b=c#d", "/\n/evil", "/%2f/evil", "///evil"} {
		f.Add(next)
	}
	base, err := url.Parse("https://retwis.example/login")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, next string) {
		path := localPath(next)
		to, err := base.Parse(path)
		if err != nil || to.Host != base.Host || to.Scheme != base.Scheme {
			t.Errorf("%q leads to %q, which is %v (%v)", next, path, to, err)
		}
		if strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
			t.Errorf("%q leads to %q", next, path)
		}
	})
}
