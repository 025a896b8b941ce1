package live

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/sleep"
	"retwis/internal/social/live/stream"
	"retwis/internal/social/storage"
)

// follower reads the stream and delivers its entries to the connections.
type follower struct {
	shared    rueidis.Client        // the client of the application
	server    *rueidis.ClientOption // nil if the server does not report changes
	published func(post int64)      // called with new posts on the public timeline
	log       *slog.Logger
	conns     *connections
	refresher *refresher

	ready   chan struct{} // closed once the stream is followed
	targets []*client     // used by deliver
	opening sync.WaitGroup
}

func newFollower(service *app.App, conns *connections, changes *refresher) *follower {
	in := service.Internals()
	return &follower{
		shared: in.Client, server: in.Server, published: service.Timelines.Published,
		log: conns.opt.Logger, conns: conns, refresher: changes, ready: make(chan struct{}),
	}
}

// notified reports whether the server reports changes of people.
func (f *follower) notified() bool { return f.server != nil }

const (
	// wait is the time for which one read of the stream blocks.
	wait = 20 * time.Second
	// retryFirst and retryLast are the minimum and the maximum pause after an error.
	retryFirst, retryLast = 20 * time.Millisecond, time.Second
)

// run reads the stream until ctx ends.
func (f *follower) run(ctx context.Context) {
	pauseFor, logged := retryFirst, false
	for ctx.Err() == nil {
		began := time.Now()
		err := f.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > retryLast {
			pauseFor, logged = retryFirst, false
		}
		if !logged && pauseFor >= retryLast {
			logged = true
			f.log.Warn("open pages get no updates until the database answers", "error", err)
		}
		sleep.For(ctx, pauseFor)
		pauseFor = min(2*pauseFor, retryLast)
	}
}

// follow reads the stream with its own client until something fails.
func (f *follower) follow(ctx context.Context) error {
	client, err := f.connect(ctx)
	if err != nil {
		return err
	}
	if client != f.shared {
		defer client.Close()
	}
	last, err := f.begin(ctx, client)
	if err != nil {
		return err
	}
	f.refresher.use(client)
	defer f.refresher.use(nil)
	// Anything may have changed before the client was listening.
	f.refresher.personChanged("")
	for {
		// A timer cancels a read that outlasts its timeout. A context with a deadline would not
		// work, because the client would then not notice that ctx ends earlier.
		reading, cancel := context.WithCancel(ctx)
		timer := time.AfterFunc(wait+5*time.Second, cancel)
		entries, end, err := stream.Next(reading, client, last, wait)
		timer.Stop()
		cancel()
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			f.refresher.catchUp(ctx)
		}
		f.publish(entries, end)
		last = end
	}
}

func (f *follower) isReady() bool {
	select {
	case <-f.ready:
		return true
	default:
		return false
	}
}

// begin returns the ID after which to read the stream, which is the ID of the last known entry. If
// the stream ends before that entry, a server has lost its last entries. begin then reads the whole
// stream again and sends new entries to the connections.
func (f *follower) begin(ctx context.Context, client rueidis.Client) (stream.ID, error) {
	last := f.conns.history.last // written only by this goroutine
	wasReady := f.isReady()
	if wasReady {
		_, end, err := stream.Newest(ctx, client, 1)
		if err != nil || !end.Less(last) {
			return last, err
		}
	}
	entries, end, err := stream.Newest(ctx, client, stream.MaxLen)
	if err != nil {
		return last, err
	}
	f.deliver(f.restart(entries, end, wasReady))
	f.conns.mu.Lock()
	defer f.conns.mu.Unlock()
	f.conns.delivered = end
	if !wasReady {
		close(f.ready)
	}
	return end, nil
}

// restart replaces the history with entries, and returns the entries that are new.
func (f *follower) restart(entries []stream.Entry, end stream.ID, wasReady bool) []stream.Entry {
	f.conns.mu.Lock()
	defer f.conns.mu.Unlock()
	known := make(map[int64]bool, len(f.conns.history.entries))
	for _, e := range f.conns.history.entries {
		known[e.Post] = true
	}
	f.conns.history, f.conns.delivered = history{}, stream.ID{}
	f.conns.history.start(entries, end)
	for _, c := range f.conns.clients {
		c.last = stream.ID{}
	}
	if !wasReady {
		return nil
	}
	return slices.DeleteFunc(entries, func(e stream.Entry) bool { return known[e.Post] })
}

// prefixes are the prefixes of the keys of people. The hub tracks these keys in broadcast mode, so
// that the server need not remember which keys the hub has read.
var prefixes = []string{
	storage.FollowingPrefix, storage.FollowingTagsPrefix, storage.MutedPrefix, storage.BlockedPrefix, storage.BlockersPrefix,
	storage.NotificationsPrefix, storage.UserPrefix, storage.ListsBegin,
}

// connect returns a client to follow the stream with, to which the server reports changes of
// people.
func (f *follower) connect(ctx context.Context) (rueidis.Client, error) {
	if !f.notified() {
		return f.shared, nil
	}
	opt := *f.server
	opt.ClientTrackingOptions = []string{"BCAST"}
	for _, prefix := range prefixes {
		opt.ClientTrackingOptions = append(opt.ClientTrackingOptions, "PREFIX", prefix)
	}
	opt.OnInvalidations = func(messages []rueidis.RedisMessage) {
		if messages == nil {
			f.refresher.personChanged("")
		}
		for _, message := range messages {
			if key, err := message.ToString(); err == nil {
				f.refresher.personChanged(key)
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
	f.opening.Go(func() {
		client, err := rueidis.NewClient(opt)
		opened <- result{client, err}
	})
	select {
	case r := <-opened:
		return r.client, r.err
	case <-ctx.Done():
		f.opening.Go(func() {
			if r := <-opened; r.err == nil {
				r.client.Close()
			}
		})
		return nil, ctx.Err()
	}
}

// publish adds entries to the history and sends them to the connections that show them. end is the
// ID of the last entry of the stream.
func (f *follower) publish(entries []stream.Entry, end stream.ID) {
	f.conns.mu.Lock()
	now := time.Now()
	for i := range entries {
		f.conns.history.add(entries[i], now)
		if e := &entries[i]; e.Root == 0 && e.RepostOf == 0 {
			f.published(e.Post)
		}
	}
	f.conns.history.last = end
	f.conns.mu.Unlock()
	f.deliver(entries)
	f.conns.mu.Lock()
	f.conns.delivered = end
	f.conns.mu.Unlock()
}

// deliver sends entries to connections, in steps. Only the goroutine that follows the stream calls
// deliver.
func (f *follower) deliver(entries []stream.Entry) {
	for i := range entries {
		e := &entries[i]
		message := appendPosts(make([]byte, 0, 96), e.ID, e.Post)
		f.conns.mu.Lock()
		f.targets = f.conns.audience.show(f.targets[:0], e)
		for n, c := range f.targets {
			if n > 0 && n%sendsAtOnce == 0 {
				f.conns.mu.Unlock()
				time.Sleep(sendPause)
				f.conns.mu.Lock()
			}
			f.conns.deliverTo(c, e, message)
		}
		clear(f.targets)
		f.conns.mu.Unlock()
	}
}
