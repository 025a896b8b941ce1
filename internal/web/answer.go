package web

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/a-h/templ"

	"retwis/internal/web/httpserver"
)

// These never change, so all responses share them.
var (
	headerHTML     = []string{"text/html; charset=utf-8"}
	headerCSP      = []string{"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"}
	headerGzip     = []string{"gzip"}
	headerReferrer = []string{"same-origin"}
	headerOpener   = []string{"same-origin"}
	headerPolicy   = []string{"camera=(), geolocation=(), microphone=(), payment=(), usb=()"}
	headerCache    = []string{"private, no-cache"}
	headerNoStore  = []string{"no-store"}
	headerSecret   = []string{"no-referrer"}
	headerVary     = []string{"Cookie, Accept-Encoding"}
)

// setHeaders sets the headers of every page.
func setHeaders(w http.ResponseWriter, id string) {
	h := w.Header()
	h["Content-Security-Policy"] = headerCSP
	h["Referrer-Policy"] = headerReferrer
	h["Cross-Origin-Opener-Policy"] = headerOpener
	h["Permissions-Policy"] = headerPolicy
	h["Cache-Control"] = headerCache
	h["Vary"] = headerVary
	h["X-Request-Id"] = []string{id}
}

// isPrivate reports whether the pages of a route are about the account itself. Timelines
// and notifications are not among them: the back button needs them at once.
func isPrivate(pattern string) bool {
	_, path, _ := strings.Cut(pattern, " ")
	return strings.HasPrefix(path, "/settings") || strings.HasPrefix(path, "/login") || strings.HasSuffix(path, "/{token}")
}

// isUnstored reports whether a browser keeps no page of a route: the private ones, and
// those with reports.
func isUnstored(pattern string) bool {
	_, path, _ := strings.Cut(pattern, " ")
	return isPrivate(pattern) || strings.HasPrefix(path, "/moderation")
}

// setPrivate keeps a page out of every cache, and its address from other pages.
func setPrivate(w http.ResponseWriter) {
	h := w.Header()
	h["Cache-Control"], h["Referrer-Policy"] = headerNoStore, headerSecret
}

// buffers hold pages while they are rendered: nothing is sent before a page is
// complete.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled is the size above which a buffer is not reused.
const maxPooled = 256 << 10

// render renders a page and sends it.
func (req *request) render(status int, page templ.Component) error {
	return req.renderTo(page, func(body []byte) { req.send(status, body) })
}

// renderTo passes a rendered page to send, which must not retain it.
func (req *request) renderTo(page templ.Component, send func([]byte)) error {
	buf := buffers.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= maxPooled {
			buf.Reset()
			buffers.Put(buf)
		}
	}()
	buf.Reset()
	// With the request's own context no page would be rendered after its
	// deadline, not even the one that reports it.
	if err := page.Render(req.site.pages.Context(), buf); err != nil {
		return fmt.Errorf("web: render: %w", err)
	}
	send(buf.Bytes())
	return nil
}

func (req *request) send(status int, body []byte) {
	h := req.w.Header()
	h["Content-Type"] = headerHTML
	if len(body) >= httpserver.CompressFrom && httpserver.AcceptsGzip(req.r) && httpserver.MayCompress(req.r) {
		buf := buffers.Get().(*bytes.Buffer)
		defer buffers.Put(buf)
		buf.Reset()
		httpserver.Compress(buf, body)
		body = buf.Bytes()
		h["Content-Encoding"] = headerGzip
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	req.status = status
	req.w.WriteHeader(status)
	_, _ = req.w.Write(body) // the client may have disconnected
}

// redirect sends the browser to another page after a form.
func (req *request) redirect(to string) error {
	req.status = http.StatusSeeOther
	req.w.Header().Set("Location", to)
	req.w.WriteHeader(req.status)
	return nil
}

// redirectToName leads to the same page under the username as it was registered.
func (req *request) redirectToName(path string) error {
	if req.r.URL.RawQuery != "" {
		path += "?" + req.r.URL.RawQuery
	}
	req.status = http.StatusFound
	req.w.Header().Set("Location", path)
	req.w.WriteHeader(req.status)
	return nil
}
