package request

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/web/httpserver"
)

const (
	// maxForm is the maximum size of a form, in bytes.
	maxForm = 64 << 10
	// maxLongForm is the maximum size of a form with a page of text: 20,000 characters of up to
	// three bytes, each of which takes three bytes in an encoded form.
	maxLongForm = 256 << 10
	// maxFile is the maximum size of an import form, including its file.
	maxFile = 1<<20 + maxForm
)

// ImportPath is the address to which the file of an import is sent.
const ImportPath = "/settings/import"

// maxFormSize returns the maximum size of the forms of a route, in bytes.
func maxFormSize(pattern string) int64 {
	switch pattern {
	case "POST " + ImportPath:
		return maxFile
	case "POST /moderation/site/{page}":
		return maxLongForm
	}
	return maxForm
}

// Page responds to a request.
type Page = func(*Request) error

// Handler returns an http.Handler for a page. form is the path of the page with the form for a
// POST, with the wildcards {name} and {id} of the pattern. form is empty if the page with the form
// has the same address as the POST.
func (s *Site) Handler(pattern, form string, page Page) http.Handler {
	route, secret, unstored, maxSize := s.opt.Metrics.Route(pattern), hasSecret(pattern), mustNotStore(pattern), maxFormSize(pattern)
	columns := hasSidebar(pattern)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		s.opt.Metrics.InFlight.Inc()
		defer s.opt.Metrics.InFlight.Dec()
		timeout, files := s.opt.Timeout, maxFilesSize(pattern, r)
		if files > 0 {
			timeout += httpserver.UploadTime
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		ctx, stop := s.database.Guard(ctx)
		defer stop()
		req := &Request{site: s, W: w, R: r, Ctx: ctx, id: newID(), status: http.StatusOK, form: form, columns: columns, files: files, maxForm: maxSize, Language: language(r)}
		if s.app.Site != nil {
			req.Info = s.app.Site.Cached() // for an error page before the settings are read
		}
		setHeaders(w, req.id)
		if unstored {
			w.Header()["Cache-Control"] = headerNoStore
		}
		if secret {
			// The address must not leak to other sites. With no-referrer, the Origin of a form
			// would be null, and over plain HTTP no other header says that the form comes from this
			// site.
			w.Header()["Referrer-Policy"] = headerReferrerSecret
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
		skipFiles(req)
		took := time.Since(began) - req.waited
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

// run calls the page after reading the form and the session. It turns a panic into an error, so
// that the panic affects only one request.
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
	formErr := readForm(req)
	if req.R.Method == http.MethodPost {
		req.Ctx = auth.WithDevice(req.Ctx, httpserver.DeviceName(req.R.UserAgent()))
	}
	if err := s.database.Admit(); err != nil {
		return err
	}
	// Error pages show the session user, too.
	req.Ctx, req.outdated, err = s.confirm(req.Ctx)
	if err == nil {
		err = s.identify(req)
	}
	req.Ctx = i18n.With(req.Ctx, req.Language)
	if err == nil {
		s.readSettings(req)
	}
	if err != nil && formErr == nil {
		return err
	}
	if formErr != nil {
		return formErr
	}
	if err = page(req); errors.Is(err, ErrLogin) {
		req.ForgetUser()
		return req.LoginFirst()
	}
	return err
}

// readSettings reads the operators' settings. If that fails, the page uses the settings that this
// process has read before: a setting must not make a page fail. In that case, as on sites that must
// not be indexed, search engines are asked not to index the page.
func (s *Site) readSettings(req *Request) {
	if s.app.Site == nil {
		return
	}
	info, err := s.app.Site.Get(req.Ctx)
	if err == nil {
		req.Info = info
	}
	if req.Info.NoIndex() || err != nil {
		req.NoIndex()
	}
}

// readForm reads the form of a request, if any.
func readForm(req *Request) error {
	if req.R.Method != http.MethodGet && req.R.Method != http.MethodHead {
		from := req.LimitAddress()
		req.Ctx = social.WithAddress(auth.WithAddress(req.Ctx, from), from)
		if req.files > 0 {
			err := openUpload(req)
			keepDraft(req)
			return err
		}
		req.R.Body = http.MaxBytesReader(req.W, req.R.Body, req.maxForm)
		if err := req.R.ParseForm(); err != nil {
			return formError(err)
		}
		keepDraft(req)
	}
	req.formRead = true
	return nil
}

// newID returns a request ID. It must be unique, but need not be unguessable.
func newID() string {
	var b [16]byte
	return string(strconv.AppendUint(b[:0], rand.Uint64()|1<<63, 36))
}
