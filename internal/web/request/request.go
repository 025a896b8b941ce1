package request

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"

	"retwis/internal/social"
	"retwis/internal/web/httpserver"
	"retwis/internal/web/view"
)

// Request is one HTTP request, with its session.
type Request struct {
	W   http.ResponseWriter
	R   *http.Request
	Ctx context.Context // that of R, with a deadline

	LoggedIn      bool
	User          social.User // the session user, if LoggedIn
	SessionSecret string      // if LoggedIn
	IsFresh       bool        // the user has just changed something
	Draft         string      // the text of a post that came with the request

	// Stream sends the rest of the response, for as long as it takes, once the request is
	// logged; nil for none.
	Stream func()

	site       *Site
	maxForm    int64  // bounds the form, in bytes
	id         string // identifies the request in the log and on error pages
	status     int
	identified bool           // LoggedIn is known
	formRead   bool           // the form has arrived completely, or the request has no form
	viewer     *social.Viewer // of User; see Viewer
	fresh      []int64        // the posts that the user has just changed
	outdated   *atomic.Bool   // whether the page has something that others may have changed; nil for no
}

// Address is where the request comes from.
func (req *Request) Address() netip.Addr { return httpserver.ClientAddress(req.R, req.site.proxies) }

// LimitAddress is the address that limits count by. It is unknown (not valid) for requests of a
// proxy that nobody has configured: as one address, all its clients would be locked out
// together.
func (req *Request) LimitAddress() netip.Addr {
	addr := req.Address()
	if len(req.site.proxies) > 0 || !addr.IsLoopback() && !addr.IsPrivate() || req.R.Header.Get("X-Forwarded-For") == "" {
		return addr
	}
	req.site.proxyWarned.Do(func() {
		req.site.log.Warn("requests come through a proxy that is not trusted: name it with --trusted-proxies, so that limits count each client", "proxy", addr.String())
	})
	return netip.Addr{}
}

// Origin is the address of the site, as the browser knows it.
func (req *Request) Origin() string {
	if req.site.OverTLS(req.R) {
		return "https://" + req.R.Host
	}
	return "http://" + req.R.Host
}

// Viewer returns the session user as a viewer of posts, or a stranger.
func (req *Request) Viewer() (*social.Viewer, error) {
	if req.viewer != nil && req.viewer.User == req.User {
		return req.viewer, nil
	}
	var err error
	req.viewer, err = req.site.viewers.Get(req.Ctx, req.User)
	return req.viewer, err
}

// ForgetUser makes the rest of a request one of a visitor.
func (req *Request) ForgetUser() {
	req.User, req.LoggedIn, req.viewer, req.identified = social.User{}, false, nil, true
}

// Log is the log of the site, for lines about the request.
func (req *Request) Log() *slog.Logger { return req.site.log.With("request", req.id) }

// Frame returns what a page has around it.
func (req *Request) Frame(title string) view.Frame {
	f := view.Frame{Title: title, LoggedIn: req.LoggedIn, User: req.User, Unsure: !req.identified, Here: req.R.URL.Path, Outdated: req.outdated}
	if !req.LoggedIn {
		return f
	}
	// A page without the number is better than none, and error pages have it too.
	if v, err := req.Viewer(); err == nil {
		f.Unread, _ = req.site.notifications.Unread(req.Ctx, v)
	}
	if req.User.Role >= social.Moderator {
		f.Open, _ = req.site.reports.OpenReportCount(req.Ctx)
	}
	return f
}
