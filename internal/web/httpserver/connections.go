package httpserver

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"retwis/internal/social/limits"
)

// Connections limits the number of open connections per address. Slow connections are closed when
// they time out; until then each takes memory and a file descriptor.
type Connections struct {
	log     *slog.Logger
	proxies []netip.Prefix
	refused atomic.Uint64
	warned  sync.Once

	mu     sync.Mutex
	open   map[net.Conn]string // address of each open connection
	counts map[string]int      // open connections per address
}

func NewConnections(log *slog.Logger, proxies []netip.Prefix) *Connections {
	return &Connections{log: log, proxies: proxies, open: map[net.Conn]string{}, counts: map[string]int{}}
}

// Bound makes a server close new connections from an address that already has limit open
// connections. Call Bound before the server serves.
func (c *Connections) Bound(server *http.Server, limit int) {
	server.ConnState = func(conn net.Conn, state http.ConnState) { c.note(conn, state, limit) }
}

// note tracks the state of a connection. Hijacked connections, such as those of open pages, have a
// separate limit.
func (c *Connections) note(conn net.Conn, state http.ConnState, limit int) {
	switch state {
	case http.StateNew:
		peer, err := netip.ParseAddrPort(conn.RemoteAddr().String())
		if err != nil || trusted(peer.Addr().Unmap(), c.proxies) {
			return
		}
		if c.add(conn, limits.Place(peer.Addr()), limit) {
			return
		}
		c.refused.Add(1)
		c.warned.Do(func() {
			c.log.Warn("an address has too many connections; further connections are closed. If the address is a proxy, add it to --trusted-proxies", "address", peer.Addr().String(), "connections", limit)
		})
		conn.Close()
	case http.StateClosed, http.StateHijacked:
		c.remove(conn)
	}
}

func (c *Connections) add(conn net.Conn, place string, limit int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[place] >= limit {
		return false
	}
	c.counts[place]++
	c.open[conn] = place
	return true
}

func (c *Connections) remove(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	place, ok := c.open[conn]
	if !ok {
		return
	}
	delete(c.open, conn)
	if c.counts[place]--; c.counts[place] == 0 {
		delete(c.counts, place)
	}
}

func (c *Connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

func (c *Connections) Metrics() []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "retwis_connections", Help: "Open client connections, except those of trusted proxies and of open pages.",
		}, func() float64 { return float64(c.count()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "retwis_connections_refused_total", Help: "Connections closed at once because their address had too many open connections.",
		}, func() float64 { return float64(c.refused.Load()) }),
	}
}
