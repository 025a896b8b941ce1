package static

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestEveryFileHasAKind(t *testing.T) {
	t.Parallel()
	if len(byName) == 0 {
		t.Fatal("no files")
	}
	for name, file := range byName {
		if file.kind == "" {
			t.Errorf("%s: no content type is known for it; add one to kinds", name)
		}
	}
}

// While a site is upgraded, a page of one version may ask a process of another one for its files.
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
