package serve

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"retwis/internal/sleep"
)

// arrivalTime is how long a new connection may take to send its request while the server stops.
// Browsers open connections that they never use.
const arrivalTime = 2 * time.Second

// arrivals tracks connections whose first request has not reached its handler yet: http.Server
// drops a request that has been read if Shutdown begins before the handler does.
type arrivals struct {
	mu   sync.Mutex
	open map[net.Conn]bool
}

// arrivalKey is the context key of a request's connection.
type arrivalKey struct{}

// follow tracks the connections of a server. Call it before the server serves.
func (a *arrivals) follow(server *http.Server) {
	a.open = map[net.Conn]bool{}
	previous, handler := server.ConnState, server.Handler
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		if previous != nil {
			previous(conn, state)
		}
		switch state {
		case http.StateNew:
			a.mu.Lock()
			a.open[conn] = true
			a.mu.Unlock()
		case http.StateClosed:
			a.arrived(conn)
		}
	}
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, arrivalKey{}, conn)
	}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(arrivalKey{}).(net.Conn); ok {
			a.arrived(conn)
		}
		handler.ServeHTTP(w, r)
	})
}

func (a *arrivals) arrived(conn net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, conn)
}

func (a *arrivals) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.open)
}

// wait waits until each connection has sent its request. The listener must be closed.
func (a *arrivals) wait(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, arrivalTime)
	defer cancel()
	for a.count() > 0 && sleep.For(ctx, time.Millisecond) {
	}
}
