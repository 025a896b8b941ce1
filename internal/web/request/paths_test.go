package request

import (
	"net/url"
	"strings"
	"testing"

	"retwis/internal/web/view"
)

// FuzzBefore looks for a cursor that is parsed incorrectly.
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
			t.Errorf("parseBefore(%q) = %d, %v", raw, id, err)
		case err == nil && id == 0 && query.Has("before"):
			t.Errorf("parseBefore(%q) ignored the cursor", raw)
		case err == nil && id != 0 && !strings.HasSuffix(view.OlderPage("", id), "="+query.Get("before")):
			t.Errorf("parseBefore(%q) = %d", raw, id)
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
		path := LocalPath(next)
		to, err := base.Parse(path)
		if err != nil || to.Host != base.Host || to.Scheme != base.Scheme {
			t.Errorf("LocalPath(%q) = %q, which leads to %v (%v)", next, path, to, err)
		}
		if strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
			t.Errorf("LocalPath(%q) = %q", next, path)
		}
	})
}
