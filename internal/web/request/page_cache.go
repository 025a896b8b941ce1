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
	// SharedFor is how long a page for all visitors is reused, and sharedAtMost how long while a
	// request is making the next one. Together with the time for which package watched considers
	// cached data current, this is less than a second.
	SharedFor    = 80 * time.Millisecond
	sharedAtMost = 140 * time.Millisecond
)

// PageCache caches a page for visitors who are not logged in for SharedFor, in each language.
type PageCache struct {
	path  string
	route *metrics.Route
	kept  []keptPage // by language
}

type keptPage struct {
	latest atomic.Pointer[cachedPage]
	busy   atomic.Bool // a request is making the next one
}

// NewPageCache returns a cache of the page at a path. Its hits count for a route.
func NewPageCache(path string, route *metrics.Route) PageCache {
	return PageCache{path, route, make([]keptPage, i18n.Count())}
}

// WithFallback sends the page if it is recent enough; otherwise next makes a new one with Keep.
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

// Keep caches a page whose creation began at a time, if the request can share it.
func (p *PageCache) Keep(req *Request, at time.Time, body []byte) {
	if !isShared(req.R) {
		return
	}
	p.kept[req.Language.Index()].latest.Store(&cachedPage{
		at: at, body: append([]byte(nil), body...), length: []string{strconv.Itoa(len(body))},
		robots: req.W.Header()[headerRobots],
	})
}

// isShared reports whether a request gets a shared page: nobody is logged in, and nobody has just
// changed something.
func isShared(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.RawQuery == "" && len(r.Header["Cookie"]) == 0
}

type cachedPage struct {
	at     time.Time
	body   []byte
	length []string
	robots []string // the header of that name, if any

	once  sync.Once // computes small
	small []byte    // the compressed body
}

// compressed returns the compressed body. It is computed for the first client that accepts it.
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
