package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/a-h/templ"
)

// These never change, so that each response can share them.
var (
	headerHTML     = []string{"text/html; charset=utf-8"}
	headerCSP      = []string{"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"}
	headerNosniff  = []string{"nosniff"}
	headerReferrer = []string{"same-origin"}
	headerOpener   = []string{"same-origin"}
	headerPolicy   = []string{"camera=(), geolocation=(), microphone=(), payment=(), usb=()"}
	headerCache    = []string{"private, no-cache"}
	headerVary     = []string{"Cookie"}
	headerHSTS     = []string{"max-age=31536000"}
)

// headers are those of every page.
func (v *visit) headers() {
	h := v.w.Header()
	h["Content-Security-Policy"] = headerCSP
	h["X-Content-Type-Options"] = headerNosniff
	h["Referrer-Policy"] = headerReferrer
	h["Cross-Origin-Opener-Policy"] = headerOpener
	h["Permissions-Policy"] = headerPolicy
	h["Cache-Control"] = headerCache
	h["Vary"] = headerVary
	h["X-Request-Id"] = []string{v.id}
	if v.overTLS() {
		h["Strict-Transport-Security"] = headerHSTS
	}
}

func (v *visit) overTLS() bool { return v.server.secure || v.r.TLS != nil }

// buffers hold pages while they are rendered: nothing goes out before a page is
// whole.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled keeps an unusually large buffer from staying for ever.
const maxPooled = 256 << 10

// show renders a page and sends it.
func (v *visit) show(status int, page templ.Component) error {
	buf := buffers.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= maxPooled {
			buf.Reset()
			buffers.Put(buf)
		}
	}()
	buf.Reset()
	// With the request's own context a page would not be rendered once the time
	// is up: not even the one that says so.
	if err := page.Render(context.Background(), buf); err != nil {
		return fmt.Errorf("web: render: %w", err)
	}
	v.send(status, buf.Bytes())
	return nil
}

func (v *visit) send(status int, body []byte) {
	h := v.w.Header()
	h["Content-Type"] = headerHTML
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	v.status = status
	v.w.WriteHeader(status)
	_, _ = v.w.Write(body) // who has gone away misses nothing
}

// redirect sends a visitor on after a form.
func (v *visit) redirect(to string) error {
	v.status = http.StatusSeeOther
	v.w.Header().Set("Location", to)
	v.w.WriteHeader(v.status)
	return nil
}

// rename leads to the same page under the name of its owner as that was typed.
func (v *visit) rename(path string) error {
	if v.r.URL.RawQuery != "" {
		path += "?" + v.r.URL.RawQuery
	}
	v.status = http.StatusFound
	v.w.Header().Set("Location", path)
	v.w.WriteHeader(v.status)
	return nil
}
