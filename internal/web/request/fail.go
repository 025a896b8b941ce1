package request

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"retwis/internal/social"
	"retwis/internal/web/view"
)

// fail sends the error page for err. All error pages are rendered here.
func (s *Site) fail(req *Request, err error) {
	if req.formRead && errors.Is(req.R.Context().Err(), context.Canceled) {
		// The client has disconnected. Without a status the server would send 200, which is wrong
		// for a client that still reads.
		req.status = statusGone
		closeConnection(req)
		req.W.WriteHeader(req.status)
		return
	}
	req.RetryAfter(err)
	page := describe(err)
	switch page.Status {
	case http.StatusServiceUnavailable:
		wait := "5"
		if errors.Is(err, social.ErrOverloaded) {
			wait = "60"
		}
		req.W.Header().Set("Retry-After", wait)
	case http.StatusRequestTimeout:
		closeConnection(req)
	}
	if page.Status == http.StatusForbidden || errors.Is(err, ErrNotModerator) {
		s.logRefusal(req, page)
	}
	draft := ""
	switch {
	case page.Status >= http.StatusInternalServerError, page.Status == http.StatusNotFound, page.Status == http.StatusTooManyRequests,
		page.Status == http.StatusRequestTimeout, page.Status == http.StatusRequestEntityTooLarge:
		draft = req.Draft
	}
	req.columns, req.sidebar = false, nil
	shown := view.Failure{
		Status: page.Status, Detail: req.Language.Say(page.Detail), ID: req.id, RetryPath: retryPath(req), Draft: draftForm(req, page, draft),
		Suspended: errors.Is(err, social.ErrSuspended),
	}
	if err := req.Render(page.Status, view.ErrorPage(req.Frame(shown.Headline()), shown)); err != nil {
		req.Log().Error("cannot render an error page", "error", err)
		req.status = http.StatusInternalServerError
		Plain(req.W, req.status, "Something went wrong. Request ID: "+req.id)
	}
}

// closeConnection closes the connection after a request that has not arrived completely. In HTTP/2
// the request ends with its stream, and a Connection header would close the connection for all
// other requests.
func closeConnection(req *Request) {
	if req.R.ProtoMajor == 1 {
		req.W.Header().Set("Connection", "close")
	}
}

// retryPath returns the address of the page to try again: the requested page, or the page with the
// submitted form. The form of a one-time link is at the address that the form is sent to.
func retryPath(req *Request) string {
	if req.R.Method == http.MethodPost && req.R.PathValue("token") == "" {
		return req.ReturnTo(req.FormPage())
	}
	return LocalPath(req.R.URL.RequestURI())
}

// logRefusal writes a refused request to the security log. If host and origin differ although the
// request came from a page of the site, a proxy has changed the host.
func (s *Site) logRefusal(req *Request, page *Error) {
	attrs := []slog.Attr{
		slog.String("method", req.R.Method), slog.String("path", s.opt.Access.Path(req.R.URL.Path)), slog.String("reason", page.Detail.String()),
	}
	if origin := req.R.Header.Get("Origin"); origin != "" {
		attrs = append(attrs, slog.String("host", view.Opening(req.R.Host, 100)), slog.String("origin", view.Opening(origin, 100)))
	}
	req.LogSecurity("refused", req.User, attrs...)
}

// logRequest writes one line for each request: failures as errors, other requests at level debug.
// Failures are sampled, because there are thousands of them while the database is down.
func (s *Site) logRequest(req *Request, err error, took time.Duration) {
	level := slog.LevelDebug
	if req.status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	if !s.opt.Logger.Enabled(req.Ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", req.R.Method), slog.String("path", s.opt.Access.Path(req.R.URL.Path)), slog.Int("status", req.status),
		slog.Duration("took", took), slog.String("request", req.id),
	}
	if level == slog.LevelError {
		ok, omitted := s.failures.Allow(strconv.Itoa(req.status), time.Now())
		if !ok {
			return
		}
		if omitted > 0 {
			attrs = append(attrs, slog.Int("omitted", omitted))
		}
	}
	if err != nil {
		var page *Error
		if errors.As(err, &page) && page.Cause != nil {
			err = page.Cause
		}
		attrs = append(attrs, slog.Any("error", err))
	}
	s.opt.Logger.LogAttrs(req.Ctx, level, "request", attrs...)
}
