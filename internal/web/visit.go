package web

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"retwis/internal/social"
)

// visit is one request and who makes it.
type visit struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context // that of the request, with its deadline
	viewer social.User     // who is signed in, if signed
	signed bool
	known  bool   // whether there is a session or not is known
	id     string // names the request in the log and on the page of a failure
	status int

	formRead bool   // the form has arrived whole, or there is none
	draft    string // the text of a post that came with the request
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
		ctx, stop := s.database.guard(ctx)
		defer stop()
		v := &visit{server: s, w: w, r: r, ctx: ctx, id: newID(), status: http.StatusOK}
		v.headers()
		err := v.run(page)
		if err != nil {
			if cause := context.Cause(ctx); errors.Is(err, context.Canceled) && cause != nil && r.Context().Err() == nil {
				err = fmt.Errorf("%w: %w", err, cause)
			}
			v.fail(err)
		} else {
			s.database.served()
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
	form := v.readForm()
	if err := v.server.database.admit(); err != nil {
		return err
	}
	// Also for the page that says what is wrong with the form.
	if err := v.identify(); err != nil && form == nil {
		return err
	}
	if form != nil {
		return form
	}
	return page(v)
}

// readForm reads the form of a request that has one.
func (v *visit) readForm() error {
	if v.r.Method != http.MethodGet && v.r.Method != http.MethodHead {
		v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
		if err := v.r.ParseForm(); err != nil {
			return formError(err)
		}
		if text := v.r.PostForm.Get("status"); strings.TrimSpace(text) != "" {
			v.draft = text
		}
	}
	v.formRead = true
	return nil
}

// newID names a request. It need not be unguessable, only of its own.
func newID() string {
	var b [16]byte
	return string(strconv.AppendUint(b[:0], rand.Uint64()|1<<63, 36))
}
