package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"retwis/internal/web/httpserver"
)

//go:embed static
var staticFiles embed.FS

// static serves the files that pages link to. Each has a checksum in its address,
// so browsers may cache it indefinitely.
type static struct {
	byAddress map[string]staticFile // by its name with the checksum
}

type staticFile struct {
	kind  string
	body  []byte
	small []byte // compressed; nil where that is not smaller
}

// address is the address of each embedded file.
var address = addresses()

func addresses() map[string]string {
	all := map[string]string{}
	entries, _ := staticFiles.ReadDir("static")
	for _, entry := range entries {
		body, _ := staticFiles.ReadFile("static/" + entry.Name())
		sum := sha256.Sum256(body)
		ext := path.Ext(entry.Name())
		all[entry.Name()] = "/static/" + strings.TrimSuffix(entry.Name(), ext) + "." + hex.EncodeToString(sum[:6]) + ext
	}
	return all
}

// links are the links to static files in the head of every page.
var links = templ.Raw(`<link rel="icon" href="` + address["favicon.svg"] + `" type="image/svg+xml"/>` +
	`<link rel="stylesheet" href="` + address["app.css"] + `"/>` +
	script("app.js") + script("composer.js") + script("keys.js") + script("live.js") + script("password.js"))

func script(name string) string { return `<script type="module" src="` + address[name] + `"></script>` }

// kinds are the content types. The machine's own table may differ, and browsers
// run no script that is declared as plain text.
var kinds = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

func newStatic() (*static, error) {
	s := &static{byAddress: map[string]staticFile{}}
	for name, address := range address {
		body, err := staticFiles.ReadFile("static/" + name)
		if err != nil {
			return nil, fmt.Errorf("web: %w", err)
		}
		kind, ok := kinds[path.Ext(name)]
		if !ok {
			return nil, fmt.Errorf("web: static/%s: no content type is known for it; add one to kinds", name)
		}
		s.byAddress[path.Base(address)] = staticFile{kind: kind, body: body, small: httpserver.Compressed(body)}
	}
	return s, nil
}

// or serves static files, and every other name with missing.
func (s *static) or(missing http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, ok := s.byAddress[r.PathValue("file")]
		if !ok {
			missing.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", file.kind)
		h.Set("Vary", "Accept-Encoding")
		body := file.body
		if file.small != nil && httpserver.AcceptsGzip(r) {
			body = file.small
			h["Content-Encoding"] = headerGzip
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		_, _ = w.Write(body)
	})
}

// robots allows search engines to index all public pages.
func (*static) robots(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("User-agent: *\nDisallow: /login\nDisallow: /register\n"))
}
