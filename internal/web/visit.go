package web

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

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

// maxForm bounds a form.
const maxForm = 64 << 10

// handler makes a page out of a function that may fail.
func (s *Server) handler(pattern string, page func(*visit) error) http.Handler {
	route := s.metrics.route(pattern)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		s.metrics.inFlight.Inc()
		defer s.metrics.inFlight.Dec()
		ctx, cancel := context.WithTimeout(r.Context(), s.patience)
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

// newID names a request. It need not be unguessable, only of its own.
func newID() string {
	var b [16]byte
	return string(strconv.AppendUint(b[:0], rand.Uint64()|1<<63, 36)) //nolint:gosec // see above
}
