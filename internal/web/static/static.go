// Package static has the files that pages link to: styles, scripts and the icon of the site. The
// address of each file contains a checksum, so browsers may cache the file indefinitely.
package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"retwis/internal/i18n"
	"retwis/internal/web/httpserver"
)

//go:embed *.css *.js *.svg *.png
var files embed.FS

// file is a file as it is served.
type file struct {
	address string
	kind    string
	body    []byte
	small   func() []byte // returns the compressed body, or nil if it is not smaller
}

// byName and byAddress hold the files by name, and by name with the checksum.
var byName, byAddress = load()

func load() (byName, byAddress map[string]file) {
	byName, byAddress = map[string]file{}, map[string]file{}
	store := func(name string, body []byte) file {
		sum := sha256.Sum256(body)
		ext := path.Ext(name)
		f := file{
			address: "/static/" + strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext, kind: kinds[ext], body: body,
			small: sync.OnceValue(func() []byte { return httpserver.Compressed(body) }),
		}
		byName[name], byAddress[path.Base(f.address)] = f, f
		return f
	}
	var add func(name string) (address string)
	add = func(name string) string {
		if f, ok := byName[name]; ok {
			return f.address
		}
		body, _ := files.ReadFile(name)
		if skipped := comments[path.Ext(name)]; skipped != nil {
			body = skipped.ReplaceAll(body, nil)
		}
		// Imports of other scripts are replaced by their addresses.
		body = imported.ReplaceAllFunc(body, func(match []byte) []byte {
			return []byte(`from "` + add(string(imported.FindSubmatch(match)[1])) + `"`)
		})
		return store(name, body).address
	}
	entries, _ := files.ReadDir(".")
	for _, entry := range entries {
		add(entry.Name())
	}
	var scripts [][]byte
	for name, f := range byName {
		if path.Ext(name) == ".js" {
			scripts = append(scripts, f.body)
		}
	}
	for _, l := range i18n.All() {
		body, err := l.Script(scripts...)
		if err != nil {
			panic(err) // an embedded script is invalid
		}
		if body != nil {
			store(TextsName(l), body)
		}
	}
	return byName, byAddress
}

// TextsName returns the name of the script with the texts of the other scripts in a language. There
// is no such script for English.
func TextsName(l *i18n.Language) string { return "texts-" + l.Tag + ".js" }

// comments matches what browsers need not load, by extension: comments and indentation, about a
// seventh of the compressed files. Comments behind a statement stay. No text in a script spans
// lines; see TestComments.
var comments = map[string]*regexp.Regexp{
	".css": regexp.MustCompile(`(?m)^\s+|(?s:/\*.*?\*/)`),
	".js":  regexp.MustCompile(`(?m)^\s*//.*\n|^\s+`),
}

// imported matches the import of another script.
var imported = regexp.MustCompile(`from "\./([a-z]+\.js)"`)

// checksum matches the checksum in an address, with the extension.
var checksum = regexp.MustCompile(`\.[0-9a-f]{12}\.[a-z0-9]+$`)

// Address returns the address of the file with a name, or "" if there is no such file.
func Address(name string) string { return byName[name].address }

// kinds are the content types. The table of the operating system may differ, and browsers run no
// script that is declared as plain text.
var kinds = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".png": "image/png",
}

// Read returns the content of a file.
func Read(name string) ([]byte, error) { return files.ReadFile(name) }

// WithFallback returns a handler that serves the files and calls missing for every other name.
func WithFallback(missing http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, cache := r.PathValue("file"), "public, max-age=31536000, immutable"
		file, ok := byAddress[name]
		if at := checksum.FindStringIndex(name); !ok && at != nil {
			// The address is of another version: during an upgrade, another process has sent the
			// page.
			file, ok = byName[name[:at[0]]+path.Ext(name)]
			cache = "no-store"
		}
		if !ok {
			missing.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", file.kind)
		h.Set("Vary", "Accept-Encoding")
		body := file.body
		if httpserver.AcceptsGzip(r) {
			if small := file.small(); small != nil {
				body = small
				h.Set("Content-Encoding", "gzip")
			}
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		h.Set("Cache-Control", cache)
		_, _ = w.Write(body)
	})
}
