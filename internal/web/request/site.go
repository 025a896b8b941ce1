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
	"retwis/internal/web/httpserver"
	"retwis/internal/web/metrics"
	"retwis/internal/web/view"
)

// Options are the settings of a site. All fields are required except those with a default.
type Options struct {
	Logger        *slog.Logger
	Security      *slog.Logger
	Access        *httpserver.AccessLog
	Proxies       []netip.Prefix // trusted to set X-Forwarded-For; default: none
	SecureCookies bool           // also for plain requests; default: only over TLS
	Timeout       time.Duration
	Metrics       *metrics.Metrics
	Version       string // of the program, shown at the end of each page; empty for none
	BaseURL       string // of the site; empty to use that of each request
}

// Site holds what all requests share.
type Site struct {
	opt     Options
	app     *app.App
	mail    bool                                                         // the site sends emails
	confirm func(context.Context) (context.Context, *atomic.Bool, error) // app.App.Confirm

	pages       view.Caches
	sidebars    sidebars
	database    *httpserver.Breaker
	failures    httpserver.Samplers // of failed requests, by status
	events      httpserver.Samplers // of the security log, by event
	uploads     inFlight
	proxyWarned sync.Once
}

// New returns a site for the requests to an application.
func New(service *app.App, opt Options) (*Site, error) {
	pages, err := view.NewCaches()
	if err != nil {
		return nil, err
	}
	return &Site{
		opt: opt, app: service, mail: service.Email.IsOn(), confirm: service.Confirm,
		pages: pages, database: httpserver.NewBreaker(service.Ping),
		sidebars: sidebars{suggestions: service.Suggestions, trends: service.Trends},
	}, nil
}

// Close waits until the sidebars being read are finished.
func (s *Site) Close() { s.sidebars.running.Wait() }

// OverTLS reports whether the browser has sent a request over TLS, to this server or, with
// SecureCookies, to a proxy.
func (s *Site) OverTLS(r *http.Request) bool { return s.opt.SecureCookies || r.TLS != nil }
