package web

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"retwis/internal/app"
	"retwis/internal/social/live"
	"retwis/internal/web/metrics"
	"retwis/internal/web/request"
)

// handlers holds the state of the request handlers. Each file has the handlers of one subject.
type handlers struct {
	app     *app.App
	live    *live.Hub
	metrics *metrics.Metrics
	version string // of the program

	visitors  request.PageCache          // first page of the public timeline, for visitors
	public    atomic.Pointer[publicPage] // first page of the public timeline, for logged-in users
	eventTime time.Duration              // timeout of a write to an event stream

	sitemaps    *otter.Cache[int64, sitemapPage] // recently read pages of the sitemap
	sitemapBusy chan struct{}                    // holds an element while a page of the sitemap is being read
}

func newHandlers(app *app.App, hub *live.Hub, m *metrics.Metrics, version string) (*handlers, error) {
	sitemaps, err := otter.New(&otter.Options[int64, sitemapPage]{MaximumSize: sitemapCached})
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return &handlers{
		app: app, live: hub, metrics: m, version: version,
		visitors:  request.NewPageCache("/timeline", m.Route("GET /timeline")),
		eventTime: 5 * time.Second,
		sitemaps:  sitemaps, sitemapBusy: make(chan struct{}, 1),
	}, nil
}
