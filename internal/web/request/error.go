package request

import (
	"errors"
	"fmt"
	"net/http"
	"os"

	"retwis/internal/i18n"
	"retwis/internal/redis/rediserr"
	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/limits"
	"retwis/internal/social/moderation"
	"retwis/internal/social/people"
	"retwis/internal/web/httpserver"
	"retwis/internal/web/view"
)

// statusGone is the status for a client that has disconnected. The status appears only in logs and
// metrics, and to a client that has closed only its side of the connection.
const statusGone = 499

// Error is an error with a message for the user and a cause for the log.
type Error struct {
	Status int
	Detail i18n.Message // sentences for the user
	draft  i18n.Message // a sentence about the unpublished post
	Cause  error        // for the log
}

// Error returns the status and the message for the user.
func (e *Error) Error() string {
	return fmt.Sprintf("%d %s: %s", e.Status, http.StatusText(e.Status), e.Detail)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// ErrNotFound means that the address has no page.
var ErrNotFound = &Error{Status: http.StatusNotFound, Detail: i18n.T("This page doesn't exist.")}

// ErrNotModerator means that a user who is not a moderator has opened a page for moderators.
var ErrNotModerator = errors.New("web: not a moderator")

func formError(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return &Error{Status: http.StatusRequestEntityTooLarge, Detail: i18n.T("The form is too large."), Cause: err}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Error{Status: http.StatusRequestTimeout, Detail: i18n.T("The form took too long to arrive. Please try again."), Cause: err}
	}
	return &Error{Status: http.StatusBadRequest, Detail: i18n.T("The form couldn't be read. Please try again."), Cause: err}
}

// mayBeSaved tells the author of a post that the post may have been published although the request
// failed.
var mayBeSaved = i18n.T("Your post may already have been published. Check your profile before you post it again.")

// describe returns the error page for an error.
func describe(err error) *Error {
	var (
		page    *Error
		invalid *social.InvalidError
		limit   *limits.Error

		suspended *social.SuspendedError
		forbidden *social.ForbiddenError
	)
	if page := PictureProblem(err); page != nil {
		return page
	}
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
		return &Error{Status: http.StatusForbidden, Detail: view.SuspensionText(suspended.StandingInfo)}
	case errors.As(err, &forbidden):
		return &Error{Status: http.StatusForbidden, Detail: forbidden.Reason}
	case errors.Is(err, moderation.ErrReportHeld):
		return &Error{Status: http.StatusConflict, Detail: i18n.T("Another moderator has this report.")}
	case errors.Is(err, moderation.ErrReportNotHeld):
		return &Error{Status: http.StatusConflict, Detail: i18n.T("This report is no longer assigned to you. Take it again from the queue.")}
	case errors.Is(err, social.ErrNotFound), errors.Is(err, moderation.ErrNoReport):
		return ErrNotFound
	case errors.Is(err, people.ErrBlocked):
		return &Error{Status: http.StatusForbidden, Detail: i18n.T("You can't follow this person."), Cause: err}
	case errors.Is(err, social.ErrNotAuthor):
		return &Error{Status: http.StatusForbidden, Detail: i18n.T("You can only edit and delete your own posts.")}
	case errors.As(err, &invalid):
		return &Error{Status: http.StatusBadRequest, Detail: invalid.Reason, Cause: err}
	case errors.Is(err, auth.ErrBusy):
		return &Error{
			Status: http.StatusServiceUnavailable, Detail: i18n.T("This site is busy right now. Please try again in a moment."),
			draft: i18n.T("Your post hasn't been published."), Cause: err,
		}
	case errors.Is(err, social.ErrOverloaded):
		return &Error{
			Status: http.StatusServiceUnavailable,
			Detail: i18n.T("This site is busy delivering posts right now. Please try again in a minute."),
			draft:  i18n.T("Your post hasn't been published."), Cause: err,
		}
	case errors.Is(err, social.ErrUncertain):
		return &Error{
			Status: http.StatusServiceUnavailable,
			Detail: i18n.T("One of this site's servers has just been replaced, and we can't be sure that this was saved. Please check, and try again if it wasn't."),
			draft:  mayBeSaved, Cause: err,
		}
	case class == rediserr.WritesRefused:
		return &Error{
			Status: http.StatusServiceUnavailable, Detail: i18n.T("This site can't save anything right now. Please try again in a moment."),
			draft: i18n.T("Your post hasn't been published."), Cause: err,
		}
	case class == rediserr.Unavailable:
		return &Error{
			Status: http.StatusServiceUnavailable, Detail: i18n.T("This site can't reach its database right now. Please try again in a moment."),
			draft: mayBeSaved, Cause: err,
		}
	}
	return &Error{
		Status: http.StatusInternalServerError, Detail: i18n.T("Something went wrong. Please try again later."),
		draft: mayBeSaved, Cause: err,
	}
}
