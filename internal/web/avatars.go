package web

import (
	"net/http"
	"strconv"
	"strings"

	"retwis/internal/picture"
	"retwis/internal/social/storage"
	"retwis/internal/web/view"
)

// Headers of drawn avatars. A name has the same one for as long as the program draws like this.
var (
	headerMonth = []string{"public, max-age=2592000"}
	headerSVG   = []string{"image/svg+xml"}
	headerNoCSP = []string{"default-src 'none'; sandbox"}
)

// drawnAvatar returns what sends the drawn picture of a name. It asks no database: a name that
// nobody has gets one too. missing responds to what is no name.
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
