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

	"retwis/internal/social/auth"
	"retwis/internal/web/httpserver"
)

// maxForm bounds a form.
const maxForm = 64 << 10

// handler makes an http.Handler of a function that may fail.
func (s *Server) handler(pattern string, page func(*request) error) http.Handler {
	route, secret, unstored := s.metrics.Route(pattern), isPrivate(pattern), isUnstored(pattern)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		s.metrics.InFlight.Inc()
		defer s.metrics.InFlight.Dec()
		ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
		defer cancel()
		ctx, stop := s.database.Guard(ctx)
		defer stop()
		req := &request{server: s, w: w, r: r, ctx: ctx, id: newID(), status: http.StatusOK}
		req.headers()
		if secret {
			req.private()
		} else if unstored {
			w.Header()["Cache-Control"] = headerNoStore
		}
		err := req.run(page)
		if err != nil {
			if cause := context.Cause(ctx); errors.Is(err, context.Canceled) && cause != nil && r.Context().Err() == nil {
				err = fmt.Errorf("%w: %w", err, cause)
			}
			req.fail(err)
		} else {
			s.database.Served()
		}
		took := time.Since(began)
		route.Observe(req.status, took)
		req.log(err, took)
		httpserver.Note(w, req.id, req.viewer.ID)
		if req.stream != nil {
			stop()
			cancel()
			req.stream()
		}
	})
}

// run turns a panic into an error, so that it affects one request only.
func (req *request) run(page func(*request) error) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p)
		default:
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	form := req.readForm()
	if req.r.Method == http.MethodPost {
		req.ctx = auth.WithDevice(req.ctx, req.device())
	}
	if err := req.server.database.Admit(); err != nil {
		return err
	}
	// Error pages show the session user too.
	err = req.confirm()
	if err == nil {
		err = req.identify()
	}
	if err != nil && form == nil {
		return err
	}
	if form != nil {
		return form
	}
	return page(req)
}

// confirm waits until the process knows what others have changed.
func (req *request) confirm() (err error) {
	req.ctx, req.outdated, err = req.server.confirm(req.ctx)
	return err
}

// readForm reads the form of a request that has one.
func (req *request) readForm() error {
	if req.r.Method != http.MethodGet && req.r.Method != http.MethodHead {
		req.ctx = auth.WithAddress(req.ctx, req.place())
		req.r.Body = http.MaxBytesReader(req.w, req.r.Body, maxForm)
		if err := req.r.ParseForm(); err != nil {
			return formError(err)
		}
		if text := req.r.PostForm.Get("status"); strings.TrimSpace(text) != "" {
			req.draft = text
		}
	}
	req.formRead = true
	return nil
}

// newID returns a request id. It must be unique, not unguessable.
func newID() string {
	var b [16]byte
	return string(strconv.AppendUint(b[:0], rand.Uint64()|1<<63, 36))
}
