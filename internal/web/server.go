package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"retwis/internal/app"
	"retwis/internal/social/live"
	"retwis/internal/web/httpserver"
	"retwis/internal/web/metrics"
	"retwis/internal/web/static"
	"retwis/internal/web/view"
)

// Server is the site. It is safe for concurrent use.
type Server struct {
	app         *app.App
	log         *slog.Logger
	secure      bool
	version     string
	proxies     []netip.Prefix
	securityLog securityLog
	access      httpserver.AccessLog
	conns       *httpserver.Connections
	hsts        []string // the header
	stopping    atomic.Bool
	timeout     time.Duration
	confirm     func(context.Context) (context.Context, *atomic.Bool, error) // app.App.Confirm
	proxyWarned sync.Once
	database    *httpserver.Breaker
	failures    httpserver.Samplers // of the log, by status
	metrics     *metrics.Metrics
	live        *live.Hub
	static      *static.Files
	rendered    *view.Cache
	site        http.Handler
	mux         *http.ServeMux
	visitors    sharedPage // the public timeline
	public      atomic.Pointer[publicPage]
	members     *memberLists
}

// BoundConnections makes a server close new connections of an address that has so many
// open, in all servers together. Trusted proxies and unix sockets have no bound. A network
// of IPv6 counts as one address. Call it before the server serves; 0 is no bound.
func (s *Server) BoundConnections(server *http.Server, most int) {
	if most > 0 {
		s.conns.Bound(server, most)
	}
}
