package request

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"retwis/internal/social/limits"
	"retwis/internal/web/view"
)

// RequireLogin makes a page one for session users: it leads others to the log-in, which leads back.
func RequireLogin(page Page) Page {
	return func(req *Request) error {
		if !req.LoggedIn {
			return req.toLogin()
		}
		return page(req)
	}
}

// Limited makes a page one of something that session users may do only so often. What
// was rejected does not count: a text that is too long, a post that is gone.
func Limited(event limits.Event, page Page) Page {
	return func(req *Request) error {
		if !req.LoggedIn {
			return page(req) // it refuses visitors itself
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

// LimitedForAll is Limited for what visitors may do too.
func LimitedForAll(event limits.Event, page Page) Page {
	return func(req *Request) error {
		if err := req.Allow(event); err != nil {
			return err
		}
		return page(req)
	}
}

// statusOf is the status of the response, once its page has run.
func statusOf(req *Request, err error) int {
	if err != nil {
		return describe(err).Status
	}
	return req.status
}

// Allow decides about something that the client is about to do, and counts it:
// *limits.Error where it is too much.
func (req *Request) Allow(event limits.Event) error {
	return req.site.app.Limits.Take(req.Ctx, event, limitedBy(req))
}

// GiveBack undoes Allow for what did not happen after all.
func (req *Request) GiveBack(event limits.Event) {
	req.site.app.Limits.Return(req.Ctx, event, limitedBy(req))
}

func limitedBy(req *Request) limits.By {
	return limits.By{Account: req.User.ID, Address: req.LimitAddress()}
}

// RetryAfter reports whether an error is about a limit, and sets the header with the
// wait. Such a refusal is a line of the security log.
func (req *Request) RetryAfter(err error) (e *limits.Error, ok bool) {
	if !errors.As(err, &e) {
		return nil, false
	}
	seconds := int64((e.RetryAfter + time.Second - 1) / time.Second)
	req.W.Header().Set("Retry-After", strconv.FormatInt(max(seconds, 1), 10))
	req.LogSecurity("limit reached", req.User, slog.String("event", string(e.Event)))
	return e, true
}

// tooMany is the page for something that was done too often.
func tooMany(e *limits.Error) *Error {
	return &Error{Status: http.StatusTooManyRequests, Detail: TooOften(e), draft: "Your post hasn't been published.", Cause: e}
}

var tooOftenTexts = map[limits.Event]string{
	limits.Login:        "There were too many attempts to log in.",
	limits.SecondFactor: "There were too many wrong codes.",
	limits.SignUp:       "Too many accounts were created from your network.",
	limits.Post:         "You're posting too fast.",
	limits.Reply:        "You're replying too fast.",
	limits.Repost:       "You're reposting too fast.",
	limits.Edit:         "You're editing too fast.",
	limits.Follow:       "You're following or unfollowing too fast.",
	limits.Like:         "You're liking or bookmarking too fast.",
	limits.Report:       "You've sent many reports. Thank you.",
	limits.Delete:       "You're deleting too fast.",
	limits.Search:       "You're searching too fast.",
	limits.Media:        "You're uploading too many pictures.",
	limits.Export:       "You've exported your data several times.",
}

// TooOften says what was done too often, and when it is allowed again.
func TooOften(e *limits.Error) string {
	text := tooOftenTexts[e.Event]
	if text == "" {
		text = "You're doing this too often."
	}
	return text + " Please try again in " + waitText(e.RetryAfter) + "."
}

// waitText rounds a wait up.
func waitText(wait time.Duration) string {
	for _, unit := range []struct {
		of          time.Duration
		upTo        int64
		one, others string
	}{{time.Second, 90, "second", "seconds"}, {time.Minute, 90, "minute", "minutes"}, {time.Hour, 1 << 62, "hour", "hours"}} {
		if n := int64((wait + unit.of - 1) / unit.of); n <= unit.upTo {
			return strconv.FormatInt(n, 10) + " " + view.Plural(n, unit.one, unit.others)
		}
	}
	return "a while"
}
