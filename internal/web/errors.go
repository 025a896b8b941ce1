package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"retwis/internal/rediserr"
	"retwis/internal/social"
)

// statusGone is the answer to a client that did not wait for one. Only logs and
// metrics see it, and a client that has closed its side of the connection.
const statusGone = 499

// pageError is what a visitor is told, and what the log is.
type pageError struct {
	status int
	detail string // a sentence for the visitor
	draft  string // a sentence about the text that they had written
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
	switch {
	case errors.As(err, &tooLarge):
		return &pageError{status: http.StatusRequestEntityTooLarge, detail: "That was more than a form can hold.", cause: err}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &pageError{status: http.StatusRequestTimeout, detail: "The form took too long to arrive. Please send it again.", cause: err}
	}
	return &pageError{status: http.StatusBadRequest, detail: "The form could not be read.", cause: err}
}

// fail shows an error: the one place that decides how.
func (v *visit) fail(err error) {
	if v.formRead && errors.Is(v.r.Context().Err(), context.Canceled) {
		// Nobody is there to see a page. Without a status the server would write
		// 200, which is wrong for a client that still reads.
		v.status = statusGone
		v.w.Header().Set("Connection", "close")
		v.w.WriteHeader(v.status)
		return
	}
	shown := v.shown(err)
	switch shown.status {
	case http.StatusServiceUnavailable:
		v.w.Header().Set("Retry-After", "5")
	case http.StatusRequestTimeout:
		v.w.Header().Set("Connection", "close")
	}
	draft := ""
	if shown.status >= http.StatusInternalServerError {
		draft = v.draft
	}
	if err := v.show(shown.status, errorPage(v.page(http.StatusText(shown.status)), shown, v.id, draft)); err != nil {
		v.server.log.Error("the page of an error cannot be shown", "request", v.id, "error", err)
		v.status = http.StatusInternalServerError
		plain(v.w, v.status, "Something went wrong here. The request was "+v.id+".")
	}
}

// mayBeSaved is said of a text where the answer of the database was lost.
const mayBeSaved = "Here is what you wrote. It may have been posted already, so look at your profile before you post it again."

// shown is what a visitor is told of an error.
func (v *visit) shown(err error) *pageError {
	var (
		shown   *pageError
		invalid *social.InvalidError
	)
	class := rediserr.Of(err)
	if errors.Is(err, errSilent) {
		class = rediserr.Unavailable
	}
	switch {
	case errors.As(err, &shown):
		return shown
	case errors.Is(err, social.ErrNotFound):
		return errNotFound
	case errors.As(err, &invalid):
		return &pageError{status: http.StatusBadRequest, detail: invalid.Reason, cause: err}
	case errors.Is(err, social.ErrBusy):
		return &pageError{
			status: http.StatusServiceUnavailable, detail: "Retwis is busy right now. Please try again in a moment.",
			draft: "Here is what you wrote.", cause: err,
		}
	case class == rediserr.WritesRefused:
		return &pageError{
			status: http.StatusServiceUnavailable, detail: "Retwis can't save anything right now. Please try again in a moment.",
			draft: "Here is what you wrote. It was not posted.", cause: err,
		}
	case class == rediserr.Unavailable:
		return &pageError{
			status: http.StatusServiceUnavailable, detail: "Retwis can't reach its database right now. Please try again in a moment.",
			draft: mayBeSaved, cause: err,
		}
	}
	return &pageError{
		status: http.StatusInternalServerError, detail: "Something went wrong here. It has been logged.",
		draft: mayBeSaved, cause: err,
	}
}

// log writes one line: of failures always, of others when somebody debugs. Of
// refusals, which come by the thousand while a database is down, it writes some.
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
	if v.status == http.StatusServiceUnavailable {
		ok, omitted := v.server.refusals.allow(time.Now())
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
	v.server.log.LogAttrs(v.ctx, level, "request", attrs...)
}
