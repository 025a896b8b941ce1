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
