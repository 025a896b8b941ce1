package web

import (
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"retwis/internal/social/limits"
	"retwis/internal/web/view"
)

// requireLogin makes a page one for session users: it leads others to the log-in, which leads back.
func requireLogin(page page) page {
	return func(req *request) error {
		if !req.signed {
			return req.toLogin()
		}
		return page(req)
	}
}

// limited makes a page one of something that session users may do only so often. What
// was rejected does not count: a text that is too long, a post that is gone.
func limited(event limits.Event, page page) page {
	return func(req *request) error {
		if !req.signed {
			return page(req) // it refuses visitors itself
		}
		if err := req.allow(event); err != nil {
			return err
		}
		err := page(req)
		if status := statusOf(req, err); status >= http.StatusBadRequest && status < http.StatusInternalServerError {
			req.giveBack(event)
		}
		return err
	}
}

// statusOf is the status of the answer, once its page has run.
func statusOf(req *request, err error) int {
	if err != nil {
		return describe(err).status
	}
	return req.status
}

// allow decides about something that the client is about to do, and counts it:
// *limits.Error where it is too much.
func (req *request) allow(event limits.Event) error {
	return req.site.limits.Take(req.ctx, event, limitedBy(req))
}

// giveBack undoes allow for what did not happen after all.
func (req *request) giveBack(event limits.Event) {
	req.site.limits.Return(req.ctx, event, limitedBy(req))
}

func limitedBy(req *request) limits.By {
	return limits.By{Account: req.viewer.ID, Address: req.limitAddress()}
}

// limitAddress is the address that limits count by. It is unknown (not valid) for requests of a
// proxy that nobody has configured: as one address, all its clients would be locked out
// together.
func (req *request) limitAddress() netip.Addr {
	addr := req.address()
	if len(req.site.proxies) > 0 || !addr.IsLoopback() && !addr.IsPrivate() || req.r.Header.Get("X-Forwarded-For") == "" {
		return addr
	}
	req.site.proxyWarned.Do(func() {
		req.site.log.Warn("requests come through a proxy that is not trusted: name it with --trusted-proxies, so that limits count each client", "proxy", addr.String())
	})
	return netip.Addr{}
}

// tooMany is the page for something that was done too often.
func tooMany(e *limits.Error) *pageError {
	return &pageError{status: http.StatusTooManyRequests, detail: tooOften(e), draft: "Your post hasn't been published.", cause: e}
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
	limits.Export:       "You've exported your data several times.",
}

// tooOften says what was done too often, and when it is allowed again.
func tooOften(e *limits.Error) string {
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

// retryAfter reports whether an error is about a limit, and sets the header with the
// wait. Such a refusal is a line of the security log.
func (req *request) retryAfter(err error) (e *limits.Error, ok bool) {
	if !errors.As(err, &e) {
		return nil, false
	}
	seconds := int64((e.RetryAfter + time.Second - 1) / time.Second)
	req.w.Header().Set("Retry-After", strconv.FormatInt(max(seconds, 1), 10))
	req.security("limit reached", req.viewer, slog.String("event", string(e.Event)))
	return e, true
}
