package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"retwis/internal/redis/rediserr"
	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/limits"
	"retwis/internal/social/moderation"
	"retwis/internal/social/people"
	"retwis/internal/web/httpserver"
	"retwis/internal/web/view"
)

// fail sends an error page: the one place that decides what it looks like.
func (s *site) fail(req *request, err error) {
	if req.formRead && errors.Is(req.r.Context().Err(), context.Canceled) {
		// The client has gone. Without a status the server would write 200, which
		// is wrong for a client that still reads.
		req.status = statusGone
		req.w.Header().Set("Connection", "close")
		req.w.WriteHeader(req.status)
		return
	}
	req.retryAfter(err)
	page := describe(err)
	switch page.status {
	case http.StatusServiceUnavailable:
		wait := "5"
		if errors.Is(err, social.ErrOverloaded) {
			wait = "60"
		}
		req.w.Header().Set("Retry-After", wait)
	case http.StatusRequestTimeout:
		req.w.Header().Set("Connection", "close")
	}
	if page.status == http.StatusForbidden || errors.Is(err, errNotModerator) {
		s.logRefusal(req, page)
	}
	draft := ""
	switch {
	case page.status >= http.StatusInternalServerError, page.status == http.StatusNotFound, page.status == http.StatusTooManyRequests:
		draft = req.draft
	}
	shown := view.Failure{Status: page.status, Detail: page.detail, ID: req.id, Again: retryPath(req), Draft: draftForm(req, page, draft)}
	if err := req.render(page.status, view.ErrorPage(req.page(shown.Headline()), shown)); err != nil {
		req.log().Error("cannot render an error page", "error", err)
		req.status = http.StatusInternalServerError
		plain(req.w, req.status, "Something went wrong. Request ID: "+req.id)
	}
}

// logRefusal writes what was refused to the security log. Where host and origin differ although
// the request came from a page of the site, a proxy has changed the host.
func (s *site) logRefusal(req *request, page *pageError) {
	attrs := []slog.Attr{
		slog.String("method", req.r.Method), slog.String("path", s.access.Path(req.r.URL.Path)), slog.String("reason", page.detail),
	}
	if origin := req.r.Header.Get("Origin"); origin != "" {
		attrs = append(attrs, slog.String("host", view.Opening(req.r.Host, 100)), slog.String("origin", view.Opening(origin, 100)))
	}
	req.security("refused", req.viewer, attrs...)
}

// retryPath is the page to try once more: the one that was asked for, or that with the form
// that was sent.
func retryPath(req *request) string {
	if req.r.Method == http.MethodPost {
		return req.returnTo(req.formPage())
	}
	return localPath(req.r.URL.RequestURI())
}

// mayBeSaved is the message for a post whose reply from the database was lost.
const mayBeSaved = "Your post may already have been published. Check your profile before you post it again."

// describe returns the page for an error.
func describe(err error) *pageError {
	var (
		page    *pageError
		invalid *social.InvalidError
		limit   *limits.Error

		suspended *social.SuspendedError
		forbidden *social.ForbiddenError
	)
	class := rediserr.Of(err)
	if errors.Is(err, httpserver.ErrSilent) {
		class = rediserr.Unavailable
	}
	switch {
	case errors.As(err, &page):
		return page
	case errors.As(err, &limit):
		return tooMany(limit)
	case errors.As(err, &suspended):
		return &pageError{status: http.StatusForbidden, detail: view.SuspensionText(suspended.StandingInfo)}
	case errors.As(err, &forbidden):
		return &pageError{status: http.StatusForbidden, detail: forbidden.Reason}
	case errors.Is(err, moderation.ErrReportHeld):
		return &pageError{status: http.StatusConflict, detail: "Another moderator has this report."}
	case errors.Is(err, moderation.ErrReportNotHeld):
		return &pageError{status: http.StatusConflict, detail: "You don't have this report any more. Take it again from the queue."}
	case errors.Is(err, social.ErrNotFound), errors.Is(err, moderation.ErrNoReport):
		return errNotFound
	case errors.Is(err, people.ErrBlocked):
		return &pageError{status: http.StatusForbidden, detail: "You can't follow this person.", cause: err}
	case errors.Is(err, social.ErrNotAuthor):
		return &pageError{status: http.StatusForbidden, detail: "You can only edit and delete your own posts."}
	case errors.As(err, &invalid):
		return &pageError{status: http.StatusBadRequest, detail: invalid.Reason, cause: err}
	case errors.Is(err, auth.ErrBusy):
		return &pageError{
			status: http.StatusServiceUnavailable, detail: "Retwis is busy right now. Please try again in a moment.",
			draft: "Your post hasn't been published.", cause: err,
		}
	case errors.Is(err, social.ErrOverloaded):
		return &pageError{
			status: http.StatusServiceUnavailable,
			detail: "Very many posts are on their way to followers right now. Please try again in a minute.",
			draft:  "Your post hasn't been published.", cause: err,
		}
	case class == rediserr.WritesRefused:
		return &pageError{
			status: http.StatusServiceUnavailable, detail: "Retwis can't save anything right now. Please try again in a moment.",
			draft: "Your post hasn't been published.", cause: err,
		}
	case class == rediserr.Unavailable:
		return &pageError{
			status: http.StatusServiceUnavailable, detail: "Retwis can't reach its database right now. Please try again in a moment.",
			draft: mayBeSaved, cause: err,
		}
	}
	return &pageError{
		status: http.StatusInternalServerError, detail: "Something went wrong. Please try again later.",
		draft: mayBeSaved, cause: err,
	}
}

// logRequest writes one line for each failure, and for other requests at level debug.
// Failures, which come by the thousand while the database is down, are sampled.
func (s *site) logRequest(req *request, err error, took time.Duration) {
	level := slog.LevelDebug
	if req.status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	if !s.log.Enabled(req.ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", req.r.Method), slog.String("path", s.access.Path(req.r.URL.Path)), slog.Int("status", req.status),
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
		var page *pageError
		if errors.As(err, &page) && page.cause != nil {
			err = page.cause
		}
		attrs = append(attrs, slog.Any("error", err))
	}
	s.log.LogAttrs(req.ctx, level, "request", attrs...)
}
