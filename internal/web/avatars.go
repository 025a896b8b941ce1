package web

import (
	"net/http"
	"strconv"
	"strings"

	"retwis/internal/picture"
	"retwis/internal/social/storage"
	"retwis/internal/web/view"
)

// Headers of drawn avatars. The avatar of a name changes only with the drawing code.
var (
	headerMonth     = []string{"public, max-age=2592000"}
	headerSVG       = []string{"image/svg+xml"}
	headerAvatarCSP = []string{"default-src 'none'; sandbox"}
)

// drawnAvatar returns a handler that serves the drawn avatar of a name without accessing the
// database. Names without a user have avatars, too. missing handles invalid names.
func drawnAvatar(missing http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutSuffix(r.PathValue("file"), view.DrawnSuffix)
		if !ok || name == "" || len(name) > storage.MaxLookup {
			missing.ServeHTTP(w, r)
			return
		}
		drawn := picture.Drawn(name)
		h := w.Header()
		h["Cache-Control"], h["Content-Type"], h["Content-Security-Policy"] = headerMonth, headerSVG, headerAvatarCSP
		h["Content-Length"] = []string{strconv.Itoa(len(drawn))}
		_, _ = w.Write(drawn) // the client may have disconnected
	})
}
