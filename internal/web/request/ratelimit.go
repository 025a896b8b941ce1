package request

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"retwis/internal/i18n"
	"retwis/internal/social/limits"
)

// RequireLogin restricts a page to session users. It redirects visitors to the log-in page, which
// leads back to the page.
func RequireLogin(page Page) Page {
	return func(req *Request) error {
		if !req.LoggedIn {
			return req.toLogin()
		}
		return page(req)
	}
}

// Limited limits how often session users may use a page. Requests that the page rejects do not
// count, such as a text that is too long or a reply to a deleted post.
func Limited(event limits.Event, page Page) Page {
	return func(req *Request) error {
		if !req.LoggedIn {
			return page(req) // the page refuses visitors itself
		}
		if err := req.Allow(event); err != nil {
			return err
		}
		err := page(req)
		if status := statusOf(req, err); status >= http.StatusBadRequest && status < http.StatusInternalServerError {
			req.GiveBack(event)
		}
		return err
	}
}

// LimitedForAll is like Limited, but also limits visitors and counts rejected requests.
func LimitedForAll(event limits.Event, page Page) Page {
	return func(req *Request) error {
		if err := req.Allow(event); err != nil {
			return err
		}
		return page(req)
	}
}

// statusOf returns the status of the response after its page has run.
func statusOf(req *Request, err error) int {
	if err != nil {
		return describe(err).Status
	}
	return req.status
}

// Allow counts an event of the client. It returns *limits.Error if a limit is exceeded.
func (req *Request) Allow(event limits.Event) error {
	return req.site.app.Limits.Take(req.Ctx, event, limitedBy(req))
}

// GiveBack undoes Allow if the event did not happen.
func (req *Request) GiveBack(event limits.Event) {
	req.site.app.Limits.Return(req.Ctx, event, limitedBy(req))
}

func limitedBy(req *Request) limits.By {
	return limits.By{Account: req.User.ID, Address: req.LimitAddress()}
}

// RetryAfter reports whether an error is about a limit. If so, it sets the Retry-After header and
// logs the refusal to the security log.
func (req *Request) RetryAfter(err error) (e *limits.Error, ok bool) {
	if !errors.As(err, &e) {
		return nil, false
	}
	seconds := int64((e.RetryAfter + time.Second - 1) / time.Second)
	req.W.Header().Set("Retry-After", strconv.FormatInt(max(seconds, 1), 10))
	req.LogSecurity("limit reached", req.User, slog.String("event", string(e.Event)))
	return e, true
}

// tooMany returns the page for an exceeded limit.
func tooMany(e *limits.Error) *Error {
	return &Error{Status: http.StatusTooManyRequests, Detail: TooOften(e), draft: i18n.T("Your post hasn't been published."), Cause: e}
}

var tooOftenTexts = map[limits.Event]i18n.Message{
	limits.Login:        i18n.T("Too many attempts to log in."),
	limits.SecondFactor: i18n.T("Too many wrong codes."),
	limits.SignUp:       i18n.T("Too many accounts were created from your network."),
	limits.Post:         i18n.T("You're posting too fast."),
	limits.Reply:        i18n.T("You're replying too fast."),
	limits.Repost:       i18n.T("You're reposting too fast."),
	limits.Edit:         i18n.T("You're editing too fast."),
	limits.Follow:       i18n.T("You're following or unfollowing too fast."),
	limits.Like:         i18n.T("You're liking or bookmarking too fast."),
	limits.Report:       i18n.T("You've sent many reports. Thank you."),
	limits.Delete:       i18n.T("You're deleting too fast."),
	limits.Search:       i18n.T("You're searching too fast."),
	limits.Media:        i18n.T("You're uploading too many pictures."),
	limits.Export:       i18n.T("You've exported your data several times."),
}

// TooOften returns a message that says what was done too often, and when it is allowed again.
func TooOften(e *limits.Error) i18n.Message {
	text, ok := tooOftenTexts[e.Event]
	if !ok {
		text = i18n.T("You're doing this too often.")
	}
	return i18n.Sentences(text, tryAgain(e.RetryAfter))
}

// tryAgain returns a message that says when to try again, rounded up.
func tryAgain(wait time.Duration) i18n.Message {
	in := func(unit time.Duration) int64 { return int64((wait + unit - 1) / unit) }
	switch {
	case in(time.Second) <= 90:
		return i18n.N(in(time.Second), "Please try again in {n} second.", "Please try again in {n} seconds.")
	case in(time.Minute) <= 90:
		return i18n.N(in(time.Minute), "Please try again in {n} minute.", "Please try again in {n} minutes.")
	}
	return i18n.N(in(time.Hour), "Please try again in {n} hour.", "Please try again in {n} hours.")
}
