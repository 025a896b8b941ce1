package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/a-h/templ"

	"retwis/internal/social"
)

// visit is one request and who makes it.
type visit struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context //nolint:containedctx // that of the request, with its deadline
	viewer social.User     // who is signed in, if signedIn
	signed bool
	id     string // names the request in the log and on the page of a failure
	status int
}

const (
	// patience bounds what a page may take from the database.
	patience = 10 * time.Second
	// maxForm bounds a form.
	maxForm = 64 << 10
)

// pageError is what a visitor is told, and what the log is.
type pageError struct {
	status int
	detail string // a sentence for the visitor
	cause  error  // for the log
}

func (e *pageError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.status, http.StatusText(e.status), e.detail)
}

func (e *pageError) Unwrap() error { return e.cause }

var (
	errNotFound = &pageError{status: http.StatusNotFound, detail: "There is nothing at this address."}
	errNoUser   = &pageError{status: http.StatusNotFound, detail: "There is no such user."}
)

// handler makes a page out of a function that may fail.
func (s *Server) handler(pattern string, page func(*visit) error) http.Handler {
	route := s.metrics.route(pattern)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		s.metrics.inFlight.Inc()
		defer s.metrics.inFlight.Dec()
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		v := &visit{server: s, w: w, r: r, ctx: ctx, id: newID(), status: http.StatusOK}
		v.headers()
		err := v.run(page)
		if err != nil {
			v.fail(err)
		}
		took := time.Since(began)
		route.observe(v.status, took)
		v.log(err, took)
	})
}

// run turns a panic into an error: a fault on one page is no other page's.
func (v *visit) run(page func(*visit) error) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p)
		default:
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if v.r.Method != http.MethodGet && v.r.Method != http.MethodHead {
		v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
		if err := v.r.ParseForm(); err != nil {
			return formError(err)
		}
	}
	if err := v.identify(); err != nil {
		return err
	}
	return page(v)
}

func formError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return &pageError{status: http.StatusRequestEntityTooLarge, detail: "That was more than a form can hold.", cause: err}
	}
	return &pageError{status: http.StatusBadRequest, detail: "The form could not be read.", cause: err}
}

// fail shows an error: the one place that decides how.
func (v *visit) fail(err error) {
	shown := &pageError{status: http.StatusInternalServerError, detail: "Something went wrong here, and it is written down.", cause: err}
	var invalid *social.InvalidError
	switch {
	case errors.As(err, &shown):
	case errors.Is(err, social.ErrNotFound):
		shown = errNotFound
	case errors.As(err, &invalid):
		shown = &pageError{status: http.StatusBadRequest, detail: invalid.Reason, cause: err}
	case errors.Is(err, social.ErrBusy), errors.Is(err, context.DeadlineExceeded):
		v.w.Header().Set("Retry-After", "5")
		shown = &pageError{status: http.StatusServiceUnavailable, detail: "There is too much going on right now. Try again in a moment.", cause: err}
	}
	if err := v.show(shown.status, errorPage(v.page(http.StatusText(shown.status)), shown, v.id)); err != nil {
		v.server.log.Error("the page of an error cannot be shown", "request", v.id, "error", err)
	}
}

// log writes one line: of failures always, of others when somebody debugs.
func (v *visit) log(err error, took time.Duration) {
	level := slog.LevelDebug
	if v.status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	if !v.server.log.Enabled(v.ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", v.r.Method), slog.String("path", v.r.URL.Path), slog.Int("status", v.status),
		slog.Duration("took", took), slog.String("request", v.id),
	}
	if err != nil {
		if cause := errors.Unwrap(err); cause != nil {
			err = cause
		}
		attrs = append(attrs, slog.Any("error", err))
	}
	v.server.log.LogAttrs(v.ctx, level, "request", attrs...)
}

// newID names a request. It need not be unguessable, only of its own.
func newID() string {
	var b [16]byte
	return string(strconv.AppendUint(b[:0], rand.Uint64()|1<<63, 36)) //nolint:gosec // see above
}

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
	if err := page.Render(v.ctx, buf); err != nil {
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

// nowhere is every address without a page.
func (s *Server) nowhere(v *visit) error {
	probe := *v.r
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		probe.Method = method
		if _, pattern := s.mux.Handler(&probe); pattern != "/" {
			v.w.Header().Add("Allow", method)
		}
	}
	if v.w.Header().Get("Allow") != "" {
		return &pageError{status: http.StatusMethodNotAllowed, detail: "This address does not do that."}
	}
	return errNotFound
}
