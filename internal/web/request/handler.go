package request

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

const (
	// maxForm bounds a form.
	maxForm = 64 << 10
	// maxFile bounds the form of an import, with its file.
	maxFile = 1<<20 + maxForm
)

// ImportPath is the address to which a file of an import is sent.
const ImportPath = "/settings/import"

// maxOf bounds the forms of a route.
func maxOf(pattern string) int64 {
	if pattern == "POST "+ImportPath {
		return maxFile
	}
	return maxForm
}

// Page makes the response to a request.
type Page = func(*Request) error

// Handler makes an http.Handler of a function that may fail.
func (s *Site) Handler(pattern string, page Page) http.Handler {
	route, secret, unstored, most := s.metrics.Route(pattern), isPrivate(pattern), isUnstored(pattern), maxOf(pattern)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		s.metrics.InFlight.Inc()
		defer s.metrics.InFlight.Dec()
		ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
		defer cancel()
		ctx, stop := s.database.Guard(ctx)
		defer stop()
		req := &Request{site: s, W: w, R: r, Ctx: ctx, id: newID(), status: http.StatusOK, maxForm: most}
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
		httpserver.Note(w, req.id, req.User.ID)
		if req.Stream != nil {
			stop()
			cancel()
			req.Stream()
		}
	})
}

// run turns a panic into an error, so that it affects one request only.
func (s *Site) run(req *Request, page Page) (err error) {
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
	if req.R.Method == http.MethodPost {
		req.Ctx = auth.WithDevice(req.Ctx, httpserver.DeviceName(req.R.UserAgent()))
	}
	if err := s.database.Admit(); err != nil {
		return err
	}
	// Error pages show the session user too.
	req.Ctx, req.outdated, err = s.confirm(req.Ctx)
	if err == nil {
		err = s.identify(req)
	}
	if err == nil {
		s.askRobots(req)
	}
	if err != nil && form == nil {
		return err
	}
	if form != nil {
		return form
	}
	return page(req)
}

// askRobots asks search engines to leave out the page, where they must leave out the site, or
// where that is not known: a setting must not fail a page.
func (s *Site) askRobots(req *Request) {
	if s.settings == nil {
		return
	}
	if hidden, err := s.settings.NoIndex(req.Ctx); hidden || err != nil {
		req.NoIndex()
	}
}

// readForm reads the form of a request that has one.
func readForm(req *Request) error {
	if req.R.Method != http.MethodGet && req.R.Method != http.MethodHead {
		req.Ctx = auth.WithAddress(req.Ctx, req.LimitAddress())
		req.R.Body = http.MaxBytesReader(req.W, req.R.Body, req.maxForm)
		err := req.R.ParseForm()
		if err == nil && req.maxForm > maxForm {
			// All of it in memory; a form without a file is none of that kind.
			if err = req.R.ParseMultipartForm(req.maxForm); errors.Is(err, http.ErrNotMultipart) {
				err = nil
			}
		}
		if err != nil {
			return formError(err)
		}
		if text := req.R.PostForm.Get("status"); strings.TrimSpace(text) != "" {
			req.Draft = text
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
