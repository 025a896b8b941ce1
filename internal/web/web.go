// Package web serves Retwis to browsers: pages rendered on the server, which work without
// JavaScript.
//
// The package only translates requests to calls of package app, and the results to pages of package
// view. routes.go lists every route on one screen; the handlers of each subject have a file of
// their own. Package request handles what all requests have in common, including error pages.
//
// # Speed
//
// A post is rendered once for each of its versions (view.RenderPost). Package timeline caches the
// HTML with the post, up to a limit, until the post changes. The rest of a page is read each time;
// package app answers from its caches if nothing has changed.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"retwis/internal/app"
	"retwis/internal/i18n"
	"retwis/internal/redis/store"
	"retwis/internal/social/live"
	"retwis/internal/web/httpserver"
	"retwis/internal/web/metrics"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// Options are the settings of a Server. The zero value is usable.
type Options struct {
	// Logger receives a line for each request: failures as errors, others as debug. Default:
	// slog.Default().
	Logger *slog.Logger
	// Security receives a line for each security event: log-ins, sign-ups, password changes,
	// decisions of moderators. It contains addresses and usernames, but no secrets. Default:
	// Logger.
	Security *slog.Logger
	// Access receives a line for each request. Default: no access log.
	Access *slog.Logger
	// AccessRate limits the lines per second in the access log. Further requests are omitted and
	// counted. Default: 1,000; negative for no limit.
	AccessRate int
	// TrustedProxies are the networks whose X-Forwarded-For is trusted. Default: none; the address
	// of a client is that of its connection.
	TrustedProxies []netip.Prefix
	// SecureCookies marks cookies Secure for plain requests, too, for a server behind a proxy that
	// terminates TLS. Default: cookies are Secure for requests over TLS.
	SecureCookies bool
	// HSTSSubdomains extends HSTS, which is sent over TLS, to all subdomains of the site.
	HSTSSubdomains bool
	// Registry receives the metrics; AdminHandler exports everything it contains. Default: a new
	// registry with the metrics of Go and of the process.
	Registry *prometheus.Registry
	// Timeout limits the time of a request while the database answers. A request that takes longer
	// fails with status 503; without a database it fails within a second. Default: 10 seconds.
	Timeout time.Duration
	// BaseURL is the public address of the site, such as https://retwis.example.com, for feeds,
	// invitations and search engines. Default: the address in each request.
	BaseURL string
	// Version is the version of the program, for the admins' overview.
	Version string
	// Live configures pages with live updates. Its Logger defaults to Logger.
	Live live.Options
}

// Server is the site. It is safe for concurrent use.
type Server struct {
	app      *app.App
	log      *slog.Logger
	access   httpserver.AccessLog
	conns    *httpserver.Connections
	hsts     []string // value of the header
	stopping atomic.Bool
	metrics  *metrics.Metrics
	live     *live.Hub
	site     *request.Site
	handlers *handlers
	mux      *http.ServeMux
	root     http.Handler
}

// New returns the site of a service. Close ends its background work.
func New(service *app.App, opt Options) (*Server, error) {
	if service == nil {
		return nil, errors.New("web: no service")
	}
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	if opt.Security == nil {
		opt.Security = opt.Logger
	}
	if opt.Live.Logger == nil {
		opt.Live.Logger = opt.Logger
	}
	if opt.Registry == nil {
		var err error
		if opt.Registry, err = metrics.NewRegistry(); err != nil {
			return nil, err
		}
	}
	if opt.Timeout == 0 {
		opt.Timeout = 10 * time.Second
	}
	if opt.Timeout < 0 {
		return nil, fmt.Errorf("web: Options.Timeout: %v is negative", opt.Timeout)
	}
	s := &Server{app: service, log: opt.Logger}
	s.conns = httpserver.NewConnections(opt.Logger, opt.TrustedProxies)
	s.access.Log, s.access.Proxies = opt.Access, opt.TrustedProxies
	s.access.Limit = httpserver.Sampler{Most: cmp.Or(opt.AccessRate, 1000) * int(httpserver.SampleTime/time.Second)}
	s.hsts = headerHSTS
	if opt.HSTSSubdomains {
		s.hsts = headerHSTSSubdomains
	}
	var err error
	if s.metrics, err = metrics.New(opt.Registry); err != nil {
		return nil, err
	}
	if err = metrics.Register(opt.Registry, s.conns.Metrics()...); err != nil {
		return nil, err
	}
	if s.site, err = request.New(service, request.Options{
		Logger: opt.Logger, Security: opt.Security, Access: &s.access, Proxies: opt.TrustedProxies,
		SecureCookies: opt.SecureCookies, Timeout: opt.Timeout, Metrics: s.metrics, Version: opt.Version, BaseURL: opt.BaseURL,
	}); err != nil {
		return nil, err
	}
	service.Views.RenderWith(view.RenderPost)
	if s.live, err = live.New(service, opt.Live); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	if err = metrics.Register(opt.Registry, metrics.OfApp(service, s.live)...); err != nil {
		s.live.Close()
		return nil, err
	}
	if s.handlers, err = newHandlers(service, s.live, s.metrics, opt.Version); err != nil {
		s.live.Close()
		return nil, err
	}
	s.mux = s.newMux()
	s.root = s.access.Wrap(s.withHeaders(s.handlers.visitors.WithFallback(s.site, s.protect(s.mux))))
	return s, nil
}

// Handler returns the handler of the site.
func (s *Server) Handler() http.Handler { return s.root }

// Header values that all responses share and must not modify.
var (
	headerNosniff        = []string{"nosniff"}
	headerClose          = []string{"close"}
	headerHSTS           = []string{"max-age=31536000"}
	headerHSTSSubdomains = []string{"max-age=31536000; includeSubDomains"}
)

// withHeaders sets the headers of every response: pages, files, redirects and errors.
func (s *Server) withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["X-Content-Type-Options"] = headerNosniff
		if s.site.OverTLS(r) {
			h["Strict-Transport-Security"] = s.hsts
		}
		// While the site is stopping, the next request must go to another process. After a body
		// without a length, nothing on the connection may be treated as another request: browsers
		// do not send such bodies, and a proxy may disagree about where they end.
		if s.stopping.Load() || len(r.TransferEncoding) > 0 {
			h["Connection"] = headerClose
		}
		next.ServeHTTP(w, r)
	})
}

// protect rejects cross-origin requests that change state (CSRF).
func (s *Server) protect(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(s.site.Handler("cross-origin", "/home", func(*request.Request) error {
		return &request.Error{Status: http.StatusForbidden, Detail: i18n.T("This request came from another site. Please open this site and try again.")}
	}))
	return protection.Handler(next)
}

// BoundConnections makes a server close new connections from an address that already has limit open
// connections, counted over all servers. Trusted proxies and Unix sockets are not limited. An IPv6
// network counts as one address. Call BoundConnections before the server serves; 0 means no limit.
func (s *Server) BoundConnections(server *http.Server, limit int) {
	if limit > 0 {
		s.conns.Bound(server, limit)
	}
}

// CloseEvents asks all pages that follow events to reconnect in a moment, and refuses further
// requests for events. Call it when the server begins to shut down, which does not wait for
// hijacked connections.
func (s *Server) CloseEvents() { s.live.Close() }

// Drain makes the site report that it is stopping: /readyz returns 503, and each connection is
// closed after its response. The site continues to serve.
func (s *Server) Drain() { s.stopping.Store(true) }

// Close ends the background work.
func (s *Server) Close() {
	s.CloseEvents()
	s.site.Close()
}

// healthTimeout is the timeout of a health check.
const healthTimeout = 2 * time.Second

// healthz reports that the process is alive.
func healthz(w http.ResponseWriter, _ *http.Request) { request.Plain(w, http.StatusOK, "ok") }

// readyz reports whether pages can be served, that is, whether the database can be read. If the
// database refuses writes, for example because it is full, the site can still be read: readyz then
// returns status 200 and a text that says so.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	if s.stopping.Load() {
		request.Plain(w, http.StatusServiceUnavailable, "this process is stopping")
		return
	}
	if err := s.app.Ping(ctx); err != nil {
		s.log.WarnContext(ctx, "not ready", "error", err)
		text := "the database does not answer"
		if errors.Is(err, store.ErrPartly) {
			text = "a part of the database does not answer: pages may be up to a minute old"
		}
		request.Plain(w, http.StatusServiceUnavailable, text)
		return
	}
	if err := s.app.PingWrite(ctx); err != nil {
		s.log.WarnContext(ctx, "ready to read only", "error", err)
		request.Plain(w, http.StatusOK, "ok, but read-only: the database rejects writes")
		return
	}
	request.Plain(w, http.StatusOK, "ok")
}
