package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"retwis/internal/social"
)

// statusGone is what the log and the metrics say of a request whose client did
// not wait for the answer.
const statusGone = 499

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

func formError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return &pageError{status: http.StatusRequestEntityTooLarge, detail: "That was more than a form can hold.", cause: err}
	}
	return &pageError{status: http.StatusBadRequest, detail: "The form could not be read.", cause: err}
}

// fail shows an error: the one place that decides how.
func (v *visit) fail(err error) {
	if errors.Is(v.r.Context().Err(), context.Canceled) {
		v.status = statusGone // nobody is there to see a page
		return
	}
	shown := v.shown(err)
	if shown.status == http.StatusServiceUnavailable {
		v.w.Header().Set("Retry-After", "5")
	}
	if err := v.show(shown.status, errorPage(v.page(http.StatusText(shown.status)), shown, v.id)); err != nil {
		v.server.log.Error("the page of an error cannot be shown", "request", v.id, "error", err)
		v.status = http.StatusInternalServerError
		plain(v.w, v.status, "Something went wrong here. The request was "+v.id+".")
	}
}

// shown is what a visitor is told of an error.
func (v *visit) shown(err error) *pageError {
	var (
		shown   *pageError
		invalid *social.InvalidError
		network net.Error
	)
	switch {
	case errors.As(err, &shown):
		return shown
	case errors.Is(err, social.ErrNotFound):
		return errNotFound
	case errors.As(err, &invalid):
		return &pageError{status: http.StatusBadRequest, detail: invalid.Reason, cause: err}
	case errors.Is(err, social.ErrBusy):
		return &pageError{status: http.StatusServiceUnavailable, detail: "There is too much going on right now. Try again in a moment.", cause: err}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network):
		return &pageError{status: http.StatusServiceUnavailable, detail: "What this page is made of cannot be reached right now. Try again in a moment.", cause: err}
	}
	return &pageError{status: http.StatusInternalServerError, detail: "Something went wrong here, and it is written down.", cause: err}
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
		var page *pageError
		if errors.As(err, &page) && page.cause != nil {
			err = page.cause
		}
		attrs = append(attrs, slog.Any("error", err))
	}
	v.server.log.LogAttrs(v.ctx, level, "request", attrs...)
}
