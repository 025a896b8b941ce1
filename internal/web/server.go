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
)

// Server is the site. It is safe for concurrent use.
type Server struct {
	app         *app.App
	log         *slog.Logger
	secure      bool
	version     string
	proxies     []netip.Prefix
	securityLog securityLog
	access      accessLog
	conns       *connections
	hsts        []string // the header
	stopping    atomic.Bool
	timeout     time.Duration
	confirm     func(context.Context) (context.Context, *atomic.Bool, error) // app.App.Confirm
	proxyWarned sync.Once
	database    *database
	failures    samplers // of the log, by status
	metrics     *metrics
	live        *live.Hub
	static      *static
	site        http.Handler
	mux         *http.ServeMux
	visitors    sharedPage // the public timeline
	public      atomic.Pointer[publicPage]
	members     *memberLists
}
