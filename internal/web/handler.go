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

// page makes the response to a request.
type page = func(*request) error

// handler makes an http.Handler of a function that may fail.
func (s *site) handler(pattern string, page page) http.Handler {
	route, secret, unstored := s.metrics.Route(pattern), isPrivate(pattern), isUnstored(pattern)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		s.metrics.InFlight.Inc()
		defer s.metrics.InFlight.Dec()
		ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
		defer cancel()
		ctx, stop := s.database.Guard(ctx)
		defer stop()
		req := &request{site: s, w: w, r: r, ctx: ctx, id: newID(), status: http.StatusOK}
		setHeaders(w, req.id)
		if secret {
			setPrivate(w)
		} else if unstored {
			w.Header()["Cache-Control"] = headerNoStore
		}
		err := s.run(req, page)
		if err != nil {
			if cause := context.Cause(ctx); errors.Is(err, context.Canceled) && cause != nil && r.Context().Err() == nil {
				err = fmt.Errorf("%w: %w", err, cause)
			}
			s.fail(req, err)
		} else {
			s.database.Served()
		}
		took := time.Since(began)
		route.Observe(req.status, took)
		s.logRequest(req, err, took)
		httpserver.Note(w, req.id, req.viewer.ID)
		if req.stream != nil {
			stop()
			cancel()
			req.stream()
		}
	})
}

// run turns a panic into an error, so that it affects one request only.
func (s *site) run(req *request, page page) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p)
		default:
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	form := readForm(req)
	if req.r.Method == http.MethodPost {
		req.ctx = auth.WithDevice(req.ctx, httpserver.DeviceName(req.r.UserAgent()))
	}
	if err := s.database.Admit(); err != nil {
		return err
	}
	// Error pages show the session user too.
	req.ctx, req.outdated, err = s.confirm(req.ctx)
	if err == nil {
		err = s.identify(req)
	}
	if err != nil && form == nil {
		return err
	}
	if form != nil {
		return form
	}
	return page(req)
}

// readForm reads the form of a request that has one.
func readForm(req *request) error {
	if req.r.Method != http.MethodGet && req.r.Method != http.MethodHead {
		req.ctx = auth.WithAddress(req.ctx, req.limitAddress())
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
