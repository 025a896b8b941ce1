package web

import (
	"log/slog"
	"net/http"
	"sync/atomic"

	"retwis/internal/app"
	"retwis/internal/social/live"
	"retwis/internal/web/httpserver"
	"retwis/internal/web/metrics"
	"retwis/internal/web/static"
)

// Server is the site. It is safe for concurrent use.
type Server struct {
	app      *app.App
	log      *slog.Logger
	version  string
	access   httpserver.AccessLog
	conns    *httpserver.Connections
	hsts     []string // the header
	stopping atomic.Bool
	metrics  *metrics.Metrics
	live     *live.Hub
	static   *static.Files
	site     *site
	visitors pageCache // the public timeline
	handlers *handlers
	mux      *http.ServeMux
	root     http.Handler
}

// BoundConnections makes a server close new connections of an address that has so many
// open, in all servers together. Trusted proxies and unix sockets have no bound. A network
// of IPv6 counts as one address. Call it before the server serves; 0 is no bound.
func (s *Server) BoundConnections(server *http.Server, most int) {
	if most > 0 {
		s.conns.Bound(server, most)
	}
}
