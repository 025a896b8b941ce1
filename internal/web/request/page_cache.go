package request

import (
	"bytes"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"retwis/internal/i18n"
	"retwis/internal/web/httpserver"
	"retwis/internal/web/metrics"
)

const (
	// SharedFor is how long a page for all visitors is reused. sharedAtMost is how long it is
	// reused while a request is rendering the next version. sharedAtMost plus the time for which
	// package watched considers cached data current is less than a second.
	SharedFor    = 80 * time.Millisecond
	sharedAtMost = 140 * time.Millisecond
)

// PageCache caches a page for visitors, in each language. A page is reused for SharedFor.
type PageCache struct {
	path  string
	route *metrics.Route
	kept  []keptPage // by language
}

type keptPage struct {
	latest atomic.Pointer[cachedPage]
	busy   atomic.Bool // a request is rendering the next version
}

// NewPageCache returns a cache of the page at path. Cache hits count as requests of route.
func NewPageCache(path string, route *metrics.Route) PageCache {
	return PageCache{path, route, make([]keptPage, i18n.Count())}
}

// WithFallback returns a handler that sends the cached page if it is recent enough. Otherwise it
// calls next, which caches a new page with Keep.
func (p *PageCache) WithFallback(s *Site, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != p.path || !isShared(r) {
			next.ServeHTTP(w, r)
			return
		}
		began, kept := time.Now(), &p.kept[language(r).Index()]
		if page := kept.current(began); page != nil {
			s.sendShared(w, r, page)
			p.route.Observe(http.StatusOK, time.Since(began))
			return
		}
		if kept.busy.CompareAndSwap(false, true) {
			defer kept.busy.Store(false)
		}
		next.ServeHTTP(w, r)
	})
}

func (p *keptPage) current(now time.Time) *cachedPage {
	page := p.latest.Load()
	if page == nil {
		return nil
	}
	age := now.Sub(page.at)
	if age < SharedFor || age < sharedAtMost && p.busy.Load() {
		return page
	}
	return nil
}

// Keep caches a page whose rendering began at a time, if visitors can share the page.
func (p *PageCache) Keep(req *Request, at time.Time, body []byte) {
	if !isShared(req.R) {
		return
	}
	p.kept[req.Language.Index()].latest.Store(&cachedPage{
		at: at, body: append([]byte(nil), body...), length: []string{strconv.Itoa(len(body))},
		robots: req.W.Header()[headerRobots],
	})
}

// isShared reports whether a request gets a shared page: the client is not logged in and has not
// just changed something.
func isShared(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.RawQuery == "" && len(r.Header["Cookie"]) == 0
}

type cachedPage struct {
	at     time.Time
	body   []byte
	length []string
	robots []string // X-Robots-Tag header, if any

	once  sync.Once // computes small
	small []byte    // the compressed body
}

// compressed returns the compressed body. The body is compressed when the first client accepts
// gzip.
func (p *cachedPage) compressed() []byte {
	p.once.Do(func() {
		var to bytes.Buffer
		httpserver.Compress(&to, p.body)
		p.small = to.Bytes()
	})
	return p.small
}

func (s *Site) sendShared(w http.ResponseWriter, r *http.Request, page *cachedPage) {
	id := newID()
	setHeaders(w, id)
	httpserver.Note(w, id, 0)
	h := w.Header()
	body, length := page.body, page.length
	if httpserver.AcceptsGzip(r) {
		body = page.compressed()
		length = []string{strconv.Itoa(len(body))}
		h["Content-Encoding"] = headerGzip
	}
	h["Content-Type"], h["Content-Length"] = headerHTML, length
	if page.robots != nil {
		h[headerRobots] = page.robots
	}
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // the client may have disconnected
	if s.opt.Logger.Enabled(r.Context(), slog.LevelDebug) {
		s.opt.Logger.DebugContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path, "status", http.StatusOK,
			"request", id, "shared", true)
	}
}
