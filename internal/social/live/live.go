// Package live sends updates to open pages: new posts on the page, the counts of the posts that the
// page shows, and the number of unread notifications.
//
// A [Hub] follows the stream `live` (package stream) with one read for the whole process
// (follower). It indexes which connections show which timeline, and who follows an author
// (connections, audience). It keeps the latest entries in memory, so a client that reconnects with
// the ID of its last event gets all missed events, even if it was connected to another process. An
// event can be sent twice, because interrupted fan-outs are repeated.
//
// Counts and notifications need no stream: the server reports changed keys, and the hub rereads
// their data (refresher).
//
// Connections need no goroutine, because the hub writes to them without blocking. Data that a slow
// reader does not accept is written in the background for a few seconds; then the hub disconnects
// the reader. Events have the format of server-sent events.
package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"retwis/internal/app"
	"retwis/internal/sleep"
	"retwis/internal/social"
	"retwis/internal/social/timeline"
)

// Options configure a Hub. The zero value is a good default.
type Options struct {
	// Logger logs lost connections to the database. Default: slog.Default().
	Logger *slog.Logger
	// MaxConnections limits the number of open connections. Default: 20,000.
	MaxConnections int
	// MaxPerUser limits the connections of one user. Default: 20.
	MaxPerUser int
	// MaxPerAddress limits the connections of visitors without a session from one address.
	// Addresses of private networks have no limit, because they belong to proxies. Default: 100.
	MaxPerAddress int
	// Heartbeat is the time without events after which a connection gets a heartbeat. Default:
	// 30 seconds.
	Heartbeat time.Duration
	// SlowReader is the time after which a connection that accepts no data is closed. Default: 5
	// seconds.
	SlowReader time.Duration
	// MaxAge is the approximate age at which a connection is closed, so that its client reconnects
	// and its session is checked. Default: 15 minutes.
	MaxAge time.Duration
}

func (o *Options) prepare() error {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	for _, n := range []struct {
		name     string
		value    *int
		fallback int
	}{{"MaxConnections", &o.MaxConnections, 20_000}, {"MaxPerUser", &o.MaxPerUser, 20}, {"MaxPerAddress", &o.MaxPerAddress, 100}} {
		if *n.value < 0 {
			return fmt.Errorf("live: Options.%s: %d is negative", n.name, *n.value)
		}
		if *n.value == 0 {
			*n.value = n.fallback
		}
	}
	for _, d := range []struct {
		name     string
		value    *time.Duration
		fallback time.Duration
	}{{"Heartbeat", &o.Heartbeat, 30 * time.Second}, {"SlowReader", &o.SlowReader, 5 * time.Second}, {"MaxAge", &o.MaxAge, 15 * time.Minute}} {
		if *d.value < 0 {
			return fmt.Errorf("live: Options.%s: %v is negative", d.name, *d.value)
		}
		if *d.value == 0 {
			*d.value = d.fallback
		}
	}
	return nil
}

var (
	// ErrFull means that the process has reached its limit of connections.
	ErrFull = errors.New("live: too many connections")
	// ErrTooMany means that the user or the address has reached its limit of connections.
	ErrTooMany = errors.New("live: too many connections of one client")
)

// ErrClosed means that the hub is closed.
var ErrClosed = errors.New("live: closed")

// Hub serves the connections of a process. It is safe for concurrent use.
type Hub struct {
	app       *app.App
	conns     *connections
	refresher *refresher
	follower  *follower

	stop        context.CancelFunc
	done        sync.WaitGroup // the goroutines of the hub
	unsubscribe func()
}

// New returns a hub on the database of a service. The hub retries until it can reach the database.
// Close stops the hub.
func New(service *app.App, opt Options) (*Hub, error) {
	if err := opt.prepare(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	in, conns := service.Internals(), newConnections(opt)
	changes := newRefresher(service, conns)
	h := &Hub{app: service, conns: conns, refresher: changes, follower: newFollower(service, conns, changes), stop: stop}
	h.unsubscribe = in.Invalidations.Subscribe(changes.postChanged)
	h.done.Go(func() { h.follower.run(ctx) })
	h.done.Go(func() { changes.run(ctx) })
	h.done.Go(func() { h.sweep(ctx) })
	return h, nil
}

// Close asks all clients to reconnect after a short pause, and stops the hub. Closing a hub again
// does nothing.
func (h *Hub) Close() {
	h.unsubscribe()
	h.stop()
	h.conns.close()
	h.done.Wait()
	h.follower.opening.Wait()
	h.conns.slow.Wait()
}

// Connections returns the number of connections that are open or being opened.
func (h *Hub) Connections() int {
	h.conns.mu.Lock()
	defer h.conns.mu.Unlock()
	return h.conns.open
}

// settleTime is the age from which an entry is assumed to be on a page rendered now. Younger
// entries may be missing, because the contents of the page are read over a different connection.
const settleTime = 3 * time.Second

// Position returns a stream position from which a page rendered now misses nothing, or an empty
// string if there is none. A connection that starts at this position can get posts that are already
// on the page.
func (h *Hub) Position() string {
	h.conns.mu.Lock()
	defer h.conns.mu.Unlock()
	if !h.follower.isReady() {
		return ""
	}
	return h.conns.history.before(time.Now().Add(-settleTime)).String()
}

// Attach adds the connection that open returns, and sends the events that the connection has
// missed. It calls open after all reads have succeeded. The hub owns the connection and closes it;
// detach closes the connection early.
//
// ErrFull, ErrTooMany and ErrClosed mean that the client should reconnect later.
func (h *Hub) Attach(ctx context.Context, sub Subscription, open func() (Conn, error)) (detach func(), err error) {
	c := &client{topic: topic{sub.Page, sub.ID, sub.Tag}, session: sub.Session}
	if err := h.conns.reserve(c, sub); err != nil {
		return nil, err
	}
	posts, unread, err := h.prepare(ctx, c, sub)
	if err == nil {
		c.conn, err = open()
	}
	h.conns.mu.Lock()
	defer h.conns.mu.Unlock()
	if err == nil && h.conns.closed {
		c.conn.Close()
		err = ErrClosed
	}
	if err != nil {
		h.conns.release(c)
		return nil, err
	}
	h.refresher.added(c, h.conns.insert(c, posts))
	message := h.conns.missed([]byte("retry: 2000\n\n"), c, sub.Since)
	message = appendCounts(message, c.viewer(), c.shown(posts))
	if c.member != nil {
		c.member.unread = unread
		message = appendUnread(message, unread)
	}
	h.conns.send(c, message)
	return func() {
		h.conns.mu.Lock()
		defer h.conns.mu.Unlock()
		h.conns.remove(c)
	}, nil
}

// prepare reads the initial data of a connection.
func (h *Hub) prepare(ctx context.Context, c *client, sub Subscription) (posts []*timeline.View, unread int, err error) {
	select {
	case <-h.follower.ready:
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	if c.member != nil {
		if err := h.refresher.load(ctx, c.member); err != nil {
			return nil, 0, err
		}
		if unread, err = h.refresher.countUnread(ctx, c.member); err != nil {
			return nil, 0, err
		}
	}
	if c.visitor, err = h.app.Viewers.Get(ctx, social.User{}); err != nil {
		return nil, 0, err
	}
	ids := slices.Clone(sub.Posts[:min(len(sub.Posts), MaxPosts)])
	slices.Sort(ids)
	posts, err = h.app.Views.Get(ctx, slices.Compact(ids)...)
	return posts, unread, err
}

// sweep sends heartbeats, closes connections that are old or whose clients have disconnected, and
// forgets members without connections, until ctx ends.
func (h *Hub) sweep(ctx context.Context) {
	for round := 0; sleep.For(ctx, time.Second); round++ {
		now := time.Now()
		h.conns.tendAll(now, round)
		h.refresher.forget(now)
		if !h.follower.notified() && round%5 == 0 {
			h.refresher.personChanged("") // the server does not report changes
		}
	}
}
