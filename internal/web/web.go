// Package web shows Retwis to browsers: pages from the server, complete
// without JavaScript.
//
// It only translates: from requests to calls of package social, and from what
// these return to pages. routes.go has every route on one screen, each page is
// a file with its template beside it, and errors.go is the one place that
// decides what an error looks like.
//
// # Speed
//
// A post never changes, so it is fetched and rendered once and the bytes are
// kept (posts.go), up to a bound. What a page lists, and for whom, is read each
// time; package social answers that from memory for as long as it is true.
package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"retwis/internal/social"
)

// Options are the settings of a Server. The zero value is a good default.
type Options struct {
	// Logger is told of requests: failures as errors, the others as debug.
	// Default: slog.Default().
	Logger *slog.Logger
	// SecureCookies marks cookies Secure although requests come in plain: a
	// proxy before this server speaks TLS. Default: as each request came.
	SecureCookies bool
	// Registry takes the metrics, and AdminHandler shows all it has. Default: a
	// new one with those of Go and of the process.
	Registry *prometheus.Registry
	// Patience bounds how long a page may take while the database answers. A
	// page that takes longer says so, with status 503; without its database it
	// does within a second. Default: 10 seconds.
	Patience time.Duration
	// RenderCacheBytes bounds the rendered posts that are kept. Default:
	// 64 MiB.
	RenderCacheBytes int64
}

// Server is the site. It is safe for concurrent use.
type Server struct {
	social   *social.Service
	log      *slog.Logger
	secure   bool
	patience time.Duration
	database *database
	refusals sampler
	metrics  *metrics
	posts    *postCache
	static   *static
	site     http.Handler
	mux      *http.ServeMux
}

// New returns the site of a service.
func New(service *social.Service, opt Options) (*Server, error) {
	if service == nil {
		return nil, errors.New("web: no service")
	}
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	if opt.Registry == nil {
		var err error
		if opt.Registry, err = newRegistry(); err != nil {
			return nil, err
		}
	}
	if opt.Patience == 0 {
		opt.Patience = 10 * time.Second
	}
	if opt.Patience < 0 {
		return nil, fmt.Errorf("web: Options.Patience: %v is negative", opt.Patience)
	}
	if opt.RenderCacheBytes == 0 {
		opt.RenderCacheBytes = 64 << 20
	}
	if opt.RenderCacheBytes < 0 {
		return nil, fmt.Errorf("web: Options.RenderCacheBytes: %d is negative", opt.RenderCacheBytes)
	}
	s := &Server{social: service, log: opt.Logger, secure: opt.SecureCookies, patience: opt.Patience, database: newDatabase(service.Ping)}
	var err error
	if s.metrics, err = newMetrics(opt.Registry); err != nil {
		return nil, err
	}
	if err = register(opt.Registry, newDatabaseMetrics(service.Ping, service.PingWrite)); err != nil {
		return nil, err
	}
	if s.posts, err = newPostCache(service, s.metrics, opt.RenderCacheBytes); err != nil {
		return nil, err
	}
	if s.static, err = newStatic(); err != nil {
		return nil, err
	}
	s.mux = s.routes()
	s.site = s.protect(s.mux)
	return s, nil
}

// Handler is the site.
func (s *Server) Handler() http.Handler { return s.site }

// protect refuses state changes that another site's page asks for.
func (s *Server) protect(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(s.handler("cross-origin", func(*visit) error {
		return &pageError{status: http.StatusForbidden, detail: "This came from a page of another site."}
	}))
	return protection.Handler(next)
}

// HTTPServer returns a server for a handler that waits for nobody for ever.
// Without a logger it uses slog.Default().
func HTTPServer(handler http.Handler, logger *slog.Logger) *http.Server {
	if logger == nil {
		logger = slog.Default()
	}
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}
