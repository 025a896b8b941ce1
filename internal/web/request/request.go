package request

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/site"
	"retwis/internal/web/httpserver"
	"retwis/internal/web/view"
)

// Request is an HTTP request with its session.
type Request struct {
	W   http.ResponseWriter
	R   *http.Request
	Ctx context.Context // context of R, with a deadline

	LoggedIn      bool
	User          social.User // the session user, if LoggedIn
	SessionSecret string      // if LoggedIn
	IsFresh       bool        // the user has just changed something
	Draft         string      // the text of a post that came with the request
	Info          site.Info   // the site's settings
	Language      *i18n.Language

	// Stream, if not nil, sends the rest of the response, for as long as it takes, after the
	// request has been logged.
	Stream func()

	site       *Site
	maxForm    int64  // maximum size of the form in bytes
	id         string // identifies the request in the log and on error pages
	status     int
	form       string             // the page with its form; see Site.Handler
	columns    bool               // the page has a sidebar
	sidebar    view.SidebarSource // nil until a read starts
	identified bool               // LoggedIn is valid
	files      int64              // maximum size of a form with files in bytes; 0 for other forms
	upload     *upload            // unread part of a form with files; nil for other forms
	formRead   bool               // the form has arrived completely, or the request has no form
	viewer     *social.Viewer     // of User; see Viewer
	fresh      []int64            // posts that the user has just changed
	told       view.Told          // what has just happened
	look       view.Look          // of pages in this browser
	outdated   *atomic.Bool       // set if the page shows possibly stale data; may be nil
	waited     time.Duration      // time spent receiving and sending files
}

// Address returns the address from which the request comes.
func (req *Request) Address() netip.Addr {
	return httpserver.ClientAddress(req.R, req.site.opt.Proxies)
}

// LimitAddress returns the address to which rate limits apply. The address is invalid for requests
// from an unconfigured proxy: if all clients of the proxy counted as one address, they would be
// locked out together.
func (req *Request) LimitAddress() netip.Addr {
	addr := req.Address()
	if len(req.site.opt.Proxies) > 0 || !addr.IsLoopback() && !addr.IsPrivate() || req.R.Header.Get("X-Forwarded-For") == "" {
		return addr
	}
	req.site.proxyWarned.Do(func() {
		req.site.opt.Logger.Warn("requests come through an untrusted proxy: add it to --trusted-proxies, so that limits count each client", "proxy", addr.String())
	})
	return netip.Addr{}
}

// PublicURL returns the address of the site for use outside the browser: the configured address, or
// the origin of the request if none is configured.
func (req *Request) PublicURL() string { return cmp.Or(req.site.opt.BaseURL, req.Origin()) }

// Origin returns the address of the site in the browser.
func (req *Request) Origin() string {
	if req.site.OverTLS(req.R) {
		return "https://" + req.R.Host
	}
	return "http://" + req.R.Host
}

// Viewer returns the session user as a viewer of posts, or a stranger if nobody is logged in.
func (req *Request) Viewer() (*social.Viewer, error) {
	if req.viewer != nil && req.viewer.User == req.User {
		return req.viewer, nil
	}
	var err error
	req.viewer, err = req.site.app.Viewers.Get(req.Ctx, req.User)
	if err == nil && req.R.Method != http.MethodPost { // a POST usually redirects
		beginSidebar(req, req.viewer)
	}
	return req.viewer, err
}

// ForgetUser treats the rest of the request as a request of a visitor.
func (req *Request) ForgetUser() {
	req.User, req.LoggedIn, req.viewer, req.sidebar, req.identified = social.User{}, false, nil, nil, true
}

// Log returns the site's logger for lines about the request.
func (req *Request) Log() *slog.Logger { return req.site.opt.Logger.With("request", req.id) }

// T returns a text in the language of the request.
func (req *Request) T(id string, args ...any) string { return req.Language.Say(i18n.T(id, args...)) }

// N returns a text that depends on a number.
func (req *Request) N(n int64, one, other string, args ...any) string {
	return req.Language.Say(i18n.N(n, one, other, args...))
}

// VisitorFrame returns the frame of a page that is the same for everyone.
func (req *Request) VisitorFrame(title string) view.Frame {
	f := view.Frame{Site: view.SiteOf(req.Info, req.site.opt.Version), Title: title, Unsure: true, Here: req.R.URL.Path}
	f.Site.Mail = req.site.mail
	return f
}

// Frame returns the frame of a page.
func (req *Request) Frame(title string) view.Frame {
	f := req.VisitorFrame(title)
	f.LoggedIn, f.User, f.Unsure, f.Outdated, f.Look = req.LoggedIn, req.User, !req.identified, req.outdated, req.look
	if req.told.Kind != "" {
		f.Told = req.told
		req.SetCookie(toldCookie, "", expireNow)
	}
	if !req.LoggedIn && !req.columns {
		return f
	}
	// A failed sidebar or count must not make the page fail, and error pages have a frame, too.
	if v, err := req.Viewer(); err == nil {
		beginSidebar(req, v)
		f.Sidebar = req.sidebar
		if req.LoggedIn {
			f.Unread, _ = req.site.app.Notifications.Unread(req.Ctx, v)
		}
	}
	if req.User.Role >= social.Moderator {
		f.OpenReports, _ = req.site.app.Reports.OpenReportCount(req.Ctx)
		f.SignUps, _ = req.site.app.Applications.Count(req.Ctx)
	}
	return f
}
