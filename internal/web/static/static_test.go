package static

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestEveryFileHasAKind(t *testing.T) {
	t.Parallel()
	if len(byName) == 0 {
		t.Fatal("no files")
	}
	for name, file := range byName {
		if file.kind == "" {
			t.Errorf("%s has no content type: add one to kinds", name)
		}
	}
}

// During an upgrade, a page of one version may request its files from a process of another version.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle("GET /static/{file}", WithFallback(http.NotFoundHandler()))
	for address, want := range map[string]struct {
		status int
		cache  string
	}{
		Address("app.css"):              {200, "public, max-age=31536000, immutable"},
		"/static/app.0123456789ab.css":  {200, "no-store"},
		"/static/none.0123456789ab.css": {404, ""},
		"/static/app.css":               {404, ""},
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, nil))
		if got := w.Header().Get("Cache-Control"); w.Code != want.status || got != want.cache {
			t.Errorf("%s: %d, %q; want %d, %q", address, w.Code, got, want.status, want.cache)
		}
	}
}

// Scripts import other scripts by their address with the checksum.
func TestImports(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"composer.js", "find.js"} {
		if !strings.Contains(string(byName[name].body), `from "`+Address("completion.js")+`"`) {
			t.Errorf("%s does not import %s", name, Address("completion.js"))
		}
	}
	for name, file := range byName {
		if imported.Match(file.body) || strings.Contains(string(file.body), `from ""`) {
			t.Errorf("%s imports a script without a checksum", name)
		}
	}
}

// Files are served without comments and indentation, and with everything else.
func TestComments(t *testing.T) {
	t.Parallel()
	for name, served := range byName {
		source, err := Read(name)
		if err != nil {
			continue // the texts of a language
		}
		script := strings.HasSuffix(name, ".js")
		if script && strings.Contains(string(source), "/*") {
			t.Errorf("%s has a comment between /* and */, which is not removed", name)
		}
		var want []string
		for line := range strings.Lines(string(source)) {
			line = strings.TrimSpace(line)
			if script && strings.Count(line, "`")%2 != 0 {
				t.Errorf("%s: the text %q spans lines, whose indentation would be lost", name, line)
			}
			if script && line != "" && !strings.HasPrefix(line, "//") && !strings.Contains(line, ` from "./`) {
				want = append(want, line)
			}
		}
		got := string(served.body)
		for _, line := range want {
			_, rest, found := strings.Cut(got, line+"\n")
			if !found {
				t.Fatalf("%s is served without the line %q", name, line)
			}
			got = rest
		}
		if script && strings.Contains(string(served.body), "\n//") || script && strings.Contains(string(served.body), "\n ") {
			t.Errorf("%s is served with comments or indentation", name)
		}
	}
}
