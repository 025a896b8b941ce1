// Package static has the files that pages link to: styles, scripts and the icon of the site.
// Each has a checksum in its address, so browsers may cache it indefinitely.
package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"

	"retwis/internal/web/httpserver"
)

//go:embed *.css *.js *.svg *.png
var files embed.FS

// Files serves the files.
type Files struct {
	byAddress map[string]file // by its name with the checksum
}

type file struct {
	kind  string
	body  []byte
	small []byte // compressed; nil where that is not smaller
}

// byName has the address of each embedded file.
var byName = addresses()

// Address is where a file is found, by its name.
func Address(name string) string { return byName[name] }

func addresses() map[string]string {
	all := map[string]string{}
	entries, _ := files.ReadDir(".")
	for _, entry := range entries {
		body, _ := files.ReadFile(entry.Name())
		sum := sha256.Sum256(body)
		ext := path.Ext(entry.Name())
		all[entry.Name()] = "/static/" + strings.TrimSuffix(entry.Name(), ext) + "." + hex.EncodeToString(sum[:6]) + ext
	}
	return all
}

// kinds are the content types. The machine's own table may differ, and browsers
// run no script that is declared as plain text.
var kinds = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".png": "image/png",
}

// Read returns the content of a file.
func Read(name string) ([]byte, error) { return files.ReadFile(name) }

// New returns the files, compressed once.
func New() (*Files, error) {
	s := &Files{byAddress: map[string]file{}}
	for name, address := range byName {
		body, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("static: %w", err)
		}
		kind, ok := kinds[path.Ext(name)]
		if !ok {
			return nil, fmt.Errorf("static: %s: no content type is known for it; add one to kinds", name)
		}
		s.byAddress[path.Base(address)] = file{kind: kind, body: body, small: httpserver.Compressed(body)}
	}
	return s, nil
}

// WithFallback serves the files, and every other name with missing.
func (s *Files) WithFallback(missing http.Handler) http.Handler {
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
			h.Set("Content-Encoding", "gzip")
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		_, _ = w.Write(body)
	})
}
