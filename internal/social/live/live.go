// Package live reports to open pages what happens while they are open: posts that are
// new on them, the counts of the posts they show, and the number of unread
// notifications.
//
// A [Hub] follows the stream `live` (package stream), one read for the whole process,
// and knows which of its connections show which timeline, and who follows an author. It keeps
// the latest entries in memory, so a connection that comes back with the id of the
// last event that it had gets all that it missed, from whichever process; an event
// can come twice, since an interrupted fan-out is repeated.
//
// Counts and notifications need no stream: the server reports the keys that change.
//
// Connections take no goroutine: the hub writes to them without waiting. What a slow
// reader does not take at once is written in the background, for a few seconds; then
// the reader is cut. Events have the format of server-sent events.
package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/sleep"
	"retwis/internal/social/layout"
	"retwis/internal/social/live/stream"
)

// Options are the settings of a Hub. The zero value is a good default.
type Options struct {
	// Logger receives lost connections to the database. Default: slog.Default().
	Logger *slog.Logger
	// MaxConnections bounds the open connections. Default: 20,000.
	MaxConnections int
	// MaxPerUser bounds those of one user. Default: 20.
	MaxPerUser int
	// MaxPerAddress bounds those of visitors without a session from one address.
	// Addresses of private networks have no bound: they are proxies. Default: 100.
	MaxPerAddress int
	// Heartbeat is after how long without an event a connection gets a sign of
	// life. Default: 30 seconds.
	Heartbeat time.Duration
	// SlowReader is how long a connection may take nothing before it is cut.
	// Default: 5 seconds.
	SlowReader time.Duration
	// MaxAge is after about how long a connection is closed, so that its client
	// comes back with a session that is still open. Default: 15 minutes.
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

// ErrFull: the process, the user or the address has as many connections as it may.
var ErrFull = errors.New("live: too many connections")

// ErrClosed: the hub is closed.
var ErrClosed = errors.New("live: closed")

// Hub serves the connections of a process. It is safe for concurrent use.
type Hub struct {
	app *app.App
	opt Options

	mu      sync.Mutex
	closed  bool
	ready   chan struct{} // closed once the stream is followed
	client  rueidis.Client
	history history
	// delivered is the last entry that every connection has got, if it was for it.
	delivered stream.ID
	targets   []*client // see deliver
	clients   []*client
	open      int // clients, and those that are about to be
	people    map[int64]*member
	authors   map[int64][]*member  // who follows an author
	tags      map[string][]*member // who follows a tag
	topics    map[topic][]*client  // who shows a page that is not a home timeline
	watched   map[int64]*watched   // the posts that are shown
	changed   changes
	reports   reports
	writer    rawWriter
	perUser   map[int64]int
	perPlace  map[string]int

	wake        chan struct{}
	stop        context.CancelFunc
	done        sync.WaitGroup // the goroutines of the hub
	slow        sync.WaitGroup // those that write to slow readers
	unsubscribe func()
}

// New returns a hub on the database of a service. Close ends it. It tries to reach
// the database as long as it takes.
func New(service *app.App, opt Options) (*Hub, error) {
	if err := opt.prepare(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	h := &Hub{
		app: service, opt: opt, stop: stop, wake: make(chan struct{}, 1), ready: make(chan struct{}),
		people: map[int64]*member{}, authors: map[int64][]*member{}, tags: map[string][]*member{},
		topics: map[topic][]*client{}, watched: map[int64]*watched{},
		perUser: map[int64]int{}, perPlace: map[string]int{}, changed: newChanges(), reports: newReports(),
	}
	h.unsubscribe = service.Options().Invalidations.Subscribe(h.postChanged)
	h.done.Go(func() { h.follow(ctx) })
	h.done.Go(func() { h.refresh(ctx) })
	h.done.Go(func() { h.sweep(ctx) })
	return h, nil
}

// Close asks all clients to come back in a moment, to whichever process then serves
// them, and ends the hub. Closing it again does nothing.
func (h *Hub) Close() {
	h.unsubscribe()
	h.stop()
	h.mu.Lock()
	h.closed = true
	for len(h.clients) > 0 {
		c := h.clients[len(h.clients)-1]
		if c.pending == nil {
			_, _ = h.write(c, farewell(len(h.clients)))
		}
		h.remove(c)
	}
	h.mu.Unlock()
	h.done.Wait()
	h.slow.Wait()
}

// Connections returns how many connections are open, or about to be.
func (h *Hub) Connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open
}

// settled is how long ago an entry must have arrived to count as on a page that is
// rendered now: what the page is made of is read over another connection.
const settled = 3 * time.Second

// Position returns a position in the stream from which a page that is rendered now
// misses nothing; empty while there is none. A connection from this position can get
// posts that the page has already.
func (h *Hub) Position() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.isReady() {
		return ""
	}
	return h.history.before(time.Now().Add(-settled)).String()
}

const (
	// wait is how long one read of the stream waits for entries.
	wait = 20 * time.Second
	// retryFirst and retryLast bound the pause after an error.
	retryFirst, retryLast = 20 * time.Millisecond, time.Second
)

// follow reads the stream until ctx ends.
func (h *Hub) follow(ctx context.Context) {
	pauseFor, logged := retryFirst, false
	for ctx.Err() == nil {
		began := time.Now()
		err := h.followOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > retryLast {
			pauseFor, logged = retryFirst, false
		}
		if !logged && pauseFor >= retryLast {
			logged = true
			h.opt.Logger.Warn("open pages do not see what is new until the database answers", "error", err)
		}
		sleep.For(ctx, pauseFor)
		pauseFor = min(2*pauseFor, retryLast)
	}
}

// followOnce follows the stream with its own client until something fails.
func (h *Hub) followOnce(ctx context.Context) error {
	client, err := h.connect(ctx)
	if err != nil {
		return err
	}
	if client != h.app.Client() {
		defer client.Close()
	}
	last, err := h.begin(ctx, client)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.client = client
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.client = nil
		h.mu.Unlock()
	}()
	// What changed while nobody listened.
	h.personChanged("")
	for {
		// A read that takes longer than it was asked to is lost. A client that sends a
		// command with a deadline at once does not notice before it that ctx ends.
		reading, cancel := context.WithCancel(ctx)
		lost := time.AfterFunc(wait+5*time.Second, cancel)
		entries, end, err := stream.Next(reading, client, last, wait)
		lost.Stop()
		cancel()
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			h.catchUp(ctx)
		}
		h.publish(entries, end)
		last = end
	}
}

func (h *Hub) isReady() bool {
	select {
	case <-h.ready:
		return true
	default:
		return false
	}
}

// begin returns the id after which the stream has to be read: the last entry that is
// known. A stream that ends before it has lost its end, with a server: it is read
// again, and what is new in it goes to the connections.
func (h *Hub) begin(ctx context.Context, client rueidis.Client) (stream.ID, error) {
	last := h.history.last // only this goroutine writes it
	again := h.isReady()
	if again {
		_, end, err := stream.Newest(ctx, client, 1)
		if err != nil || !end.Less(last) {
			return last, err
		}
	}
	entries, end, err := stream.Newest(ctx, client, stream.MaxLen)
	if err != nil {
		return last, err
	}
	h.deliver(h.restart(entries, end, again))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.delivered = end
	if !again {
		close(h.ready)
	}
	return end, nil
}

// restart begins the history with these entries, and returns those that are new.
func (h *Hub) restart(entries []stream.Entry, end stream.ID, again bool) []stream.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := make(map[int64]bool, len(h.history.entries))
	for _, e := range h.history.entries {
		known[e.Post] = true
	}
	h.history, h.delivered = history{}, stream.ID{}
	h.history.start(entries, end)
	for _, c := range h.clients {
		c.last = stream.ID{}
	}
	if !again {
		return nil
	}
	return slices.DeleteFunc(entries, func(e stream.Entry) bool { return known[e.Post] })
}

// prefixes are the keys of people whose changes the server reports to the hub, by
// name, whether it has read them or not: nobody has to remember ten thousand keys.
var prefixes = []string{
	layout.FollowingPrefix, layout.FollowingTagsPrefix, layout.MutedPrefix, layout.BlockedPrefix, layout.BlockersPrefix,
	layout.InboxPrefix, layout.NotificationsPrefix, layout.UserPrefix,
}

// connect returns a client that follows the stream, and to which the server reports
// changes of people.
func (h *Hub) connect(ctx context.Context) (rueidis.Client, error) {
	server := h.app.Options().Server
	if server == nil {
		return h.app.Client(), nil
	}
	opt := *server
	opt.ClientTrackingOptions = []string{"BCAST"}
	for _, prefix := range prefixes {
		opt.ClientTrackingOptions = append(opt.ClientTrackingOptions, "PREFIX", prefix)
	}
	opt.OnInvalidations = func(messages []rueidis.RedisMessage) {
		if messages == nil {
			h.personChanged("")
		}
		for _, message := range messages {
			if key, err := message.ToString(); err == nil {
				h.personChanged(key)
			}
		}
	}
	opt.ReadBufferEachConn, opt.WriteBufferEachConn, opt.RingScaleEachConn = 64<<10, 16<<10, 8
	type result struct {
		client rueidis.Client
		err    error
	}
	// NewClient takes no context.
	opened := make(chan result, 1)
	h.slow.Go(func() {
		client, err := rueidis.NewClient(opt)
		opened <- result{client, err}
	})
	select {
	case r := <-opened:
		return r.client, r.err
	case <-ctx.Done():
		h.slow.Go(func() {
			if r := <-opened; r.err == nil {
				r.client.Close()
			}
		})
		return nil, ctx.Err()
	}
}
