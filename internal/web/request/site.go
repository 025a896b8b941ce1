package request

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"retwis/internal/app"
	"retwis/internal/social/auth"
	"retwis/internal/social/limits"
	"retwis/internal/social/moderation"
	"retwis/internal/social/notify"
	"retwis/internal/social/site"
	"retwis/internal/social/timeline"
	"retwis/internal/web/httpserver"
	"retwis/internal/web/metrics"
	"retwis/internal/web/view"
)

// Options are the settings of a site. All are needed but those with a default.
type Options struct {
	Logger        *slog.Logger
	Security      *slog.Logger
	Access        *httpserver.AccessLog
	Proxies       []netip.Prefix // whose X-Forwarded-For is believed; default: none
	SecureCookies bool           // for plain requests too; default: over TLS only
	Timeout       time.Duration
	Metrics       *metrics.Metrics
	Version       string // of the program, at the end of each page; empty for none
}

// Site is what all requests have in common.
type Site struct {
	log         *slog.Logger
	securityLog securityLog
	access      *httpserver.AccessLog
	proxies     []netip.Prefix
	secure      bool
	timeout     time.Duration
	metrics     *metrics.Metrics
	version     string
	mail        bool // it sends mails

	sessions      *auth.Sessions
	sessionMax    time.Duration
	viewers       *timeline.Viewers
	notifications *notify.Service
	reports       *moderation.Reports
	applications  *moderation.Applications
	limits        *limits.Limits
	settings      *site.Settings
	confirm       func(context.Context) (context.Context, *atomic.Bool, error) // app.App.Confirm

	pages       *view.Cache
	sidebars    sidebars
	database    *httpserver.Breaker
	failures    httpserver.Samplers // of the log, by status
	proxyWarned sync.Once
}

// New returns a site for the requests to an application.
func New(service *app.App, opt Options) (*Site, error) {
	pages, err := view.NewCache()
	if err != nil {
		return nil, err
	}
	s := &Site{
		log: opt.Logger, access: opt.Access, proxies: opt.Proxies, secure: opt.SecureCookies, timeout: opt.Timeout, metrics: opt.Metrics, version: opt.Version, mail: service.Email.IsOn(),
		sessions: service.Sessions, sessionMax: service.Sessions.MaxAge(), viewers: service.Viewers, notifications: service.Notifications,
		reports: service.Reports, applications: service.Applications, limits: service.Limits, settings: service.Site, confirm: service.Confirm,
		pages: pages, database: httpserver.NewBreaker(service.Ping),
	}
	s.sidebars.suggestions, s.sidebars.trends = service.Suggestions, service.Trends
	s.securityLog.Logger = opt.Security
	return s, nil
}

// Close waits for what runs in the background.
func (s *Site) Close() { s.sidebars.running.Wait() }

// OverTLS reports whether the browser has sent a request over TLS, as far as is known.
func (s *Site) OverTLS(r *http.Request) bool { return s.secure || r.TLS != nil }
