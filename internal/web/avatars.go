package web

import (
	"net/http"
	"strconv"
	"strings"

	"retwis/internal/picture"
	"retwis/internal/social/storage"
	"retwis/internal/web/view"
)

// Headers of drawn avatars. A name keeps its avatar as long as the program draws the same way.
var (
	headerMonth = []string{"public, max-age=2592000"}
	headerSVG   = []string{"image/svg+xml"}
	headerNoCSP = []string{"default-src 'none'; sandbox"}
)

// drawnAvatar returns a handler that serves the drawn avatar of a name. It does not access the
// database: unused names have avatars, too. missing handles invalid names.
func drawnAvatar(missing http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutSuffix(r.PathValue("file"), view.DrawnSuffix)
		if !ok || name == "" || len(name) > storage.MaxLookup {
			missing.ServeHTTP(w, r)
			return
		}
		drawn := picture.Drawn(name)
		h := w.Header()
		h["Cache-Control"], h["Content-Type"], h["Content-Security-Policy"] = headerMonth, headerSVG, headerNoCSP
		h["Content-Length"] = []string{strconv.Itoa(len(drawn))}
		_, _ = w.Write(drawn) // the client may have disconnected
	})
}
