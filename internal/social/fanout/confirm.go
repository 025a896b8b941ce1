package fanout

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social/layout"
)

// A fan-out is finished when it can no longer be lost, not when it is written:
// a master that dies takes with it what its replicas did not have. So the id of
// a post stays in `fanouts` until two things are certain.
//
//   - The masters are still the processes that they were before the first
//     write. After a failover, or a restart, a part may be gone: the fan-out is
//     repeated from its beginning.
//   - A replica of each master has acknowledged an offset that the master
//     reached after the last write. WAIT reports this too, but only for the
//     writes of one connection, and it blocks the commands that follow on that
//     connection. INFO reports it for every connection, and for all
//     fan-outs at once.
//
// Without replicas the second condition always holds.

const (
	// confirmEvery is how often replicas are asked for, while fan-outs wait for
	// them; they acknowledge once a second.
	confirmEvery = 100 * time.Millisecond
	// renewEvery is how often the time of each fan-out of this process is
	// renewed in `fanouts`.
	renewEvery = 10 * time.Second
	// StaleAfter is how long a fan-out stays claimed after its last renewal.
	// Then its process counts as dead.
	StaleAfter = 30 * time.Second
	// replicaTimeout bounds the wait of each fan-out for a replica that
	// acknowledges nothing, and how long a replica that disconnected still
	// counts.
	replicaTimeout = 5 * time.Minute
	// maxUnconfirmed bounds the fan-outs that wait for replicas. Past it they
	// are left to a later ResumeAll.
	maxUnconfirmed = 1 << 13
	// maxBatch bounds the members of `fanouts` that one command changes.
	maxBatch = 500
)

// written is a fan-out that is written and not confirmed.
type written struct {
	job     Job
	since   time.Time
	offsets map[string]int64 // of each master, after the last write
	once    sync.Once
	looked  chan struct{} // closed after the first look at the replicas: callers of Publish wait no longer
	dropped chan struct{} // closed when it is confirmed, or left to ResumeAll
}

func (w *written) release() { w.once.Do(func() { close(w.looked) }) }

// confirmer removes fan-outs from `fanouts` as soon as they cannot be lost any
// more. One goroutine, run, does it for all fan-outs of the process.
type confirmer struct {
	client   rueidis.Client
	log      *slog.Logger
	now      func() time.Time
	observer *observer
	claims   *claims
	repeat   func(Job) // begins a fan-out again from its beginning
	done     <-chan struct{}

	unconfirmed chan *written
	// For run alone:
	waiting     []*written
	replicaSeen map[string]time.Time // by master
	failing     bool
	conn        *pinned // to the only master; nil on a Cluster
}

// finalize confirms a fan-out that is written: before it returns where there
// are no replicas, else in the background, together with other fan-outs. An
// error is ctx's.
func (c *confirmer) finalize(ctx context.Context, job Job) error {
	w, err := c.submit(ctx, job)
	if err != nil || c.observer.replicated() {
		return err
	}
	select {
	case <-w.looked:
		return nil
	case <-c.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("social: post: %w", ctx.Err())
	}
}

// submit hands a fan-out that is written to the goroutine that confirms.
func (c *confirmer) submit(ctx context.Context, job Job) (*written, error) {
	w := &written{job: job, since: time.Now(), looked: make(chan struct{}), dropped: make(chan struct{})}
	c.claims.add(job.post)
	select {
	case c.unconfirmed <- w:
		return w, nil
	case <-c.done: // it stays in `fanouts`
		c.claims.remove(job.post)
		return w, nil
	case <-ctx.Done():
		c.claims.remove(job.post)
		return nil, fmt.Errorf("social: post: %w", ctx.Err())
	}
}

// run confirms fan-outs until ctx ends. Those that are not confirmed by then
// stay in `fanouts`.
func (c *confirmer) run(ctx context.Context) {
	defer c.hangUp()
	tick := time.NewTicker(confirmEvery)
	defer tick.Stop()
	renewal := time.NewTicker(renewEvery)
	defer renewal.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case w := <-c.unconfirmed:
			c.take(w)
			if c.observer.replicated() {
				continue // the next tick looks
			}
		case <-tick.C:
			if len(c.waiting) == 0 {
				continue
			}
		case <-renewal.C:
			c.renew(ctx)
		}
		c.round(ctx)
	}
}

// renew tells other processes that the fan-outs of this one are not abandoned.
func (c *confirmer) renew(ctx context.Context) {
	now := float64(c.now().Unix())
	for posts := range slices.Chunk(c.claims.all(), maxBatch) {
		add := c.client.B().Zadd().Key(layout.FanOuts).Xx().ScoreMember().ScoreMember(now, layout.Itoa(posts[0]))
		for _, post := range posts[1:] {
			add = add.ScoreMember(now, layout.Itoa(post))
		}
		if err := c.client.Do(ctx, add.Build().ToRetryable()).Error(); err != nil && ctx.Err() == nil {
			c.log.Warn("cannot renew the claim on unfinished fan-outs", "error", err)
			return
		}
	}
}

// take adds a fan-out and all that were submitted meanwhile.
func (c *confirmer) take(w *written) {
	for {
		if len(c.waiting) < maxUnconfirmed {
			c.waiting = append(c.waiting, w)
		} else {
			c.log.Warn("too many fan-outs wait for replicas, one to be repeated later", "post", w.job.post)
			c.drop(w)
		}
		select {
		case w = <-c.unconfirmed:
		default:
			return
		}
	}
}

func (c *confirmer) drop(w *written) {
	c.claims.remove(w.job.post)
	w.release()
	close(w.dropped)
}

// look asks the masters for their state and returns the connection on which to
// change `fanouts`. Where there is one master it is the same connection: a
// master that takes over in between does not get the change.
func (c *confirmer) look(ctx context.Context) (masters, rueidis.CoreClient, error) {
	if c.observer.cluster {
		now, err := c.observer.observe(ctx)
		return now, c.client, err
	}
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	if c.conn != nil && c.conn.address != c.address() {
		c.hangUp()
	}
	if c.conn == nil {
		client, release := c.client.Dedicate()
		c.conn = &pinned{address: c.address(), client: client, release: release}
	}
	var err error
	if c.conn.run == "" {
		c.conn.run, err = runID(ctx, c.conn.client)
	}
	var m master
	if err == nil {
		m, err = observeMaster(ctx, c.conn.client, c.conn.run)
	}
	if err == nil && m.id == "" {
		err = errors.New("the server is a replica")
	}
	now, err := c.observer.record([]master{m}, err)
	if err != nil {
		c.hangUp()
		return now, nil, err
	}
	return now, c.conn.client, nil
}

// pinned is a connection to a master that is kept, because as long as it lives
// it leads to the same server process.
type pinned struct {
	address, run string
	client       rueidis.DedicatedClient
	release      func()
}

// address is that of the master to which the client leads at present.
func (c *confirmer) address() string {
	for address := range c.client.Nodes() {
		return address
	}
	return ""
}

func (c *confirmer) hangUp() {
	if c.conn != nil {
		c.conn.release()
		c.conn = nil
	}
}

// round looks at the masters once and finishes every fan-out that is safe.
func (c *confirmer) round(ctx context.Context) {
	now, conn, err := c.look(ctx)
	if err != nil {
		if ctx.Err() == nil && !c.failing {
			c.log.Warn("cannot confirm fan-outs, trying again", "waiting", len(c.waiting), "error", err)
		}
		c.failing = true
		for _, w := range c.waiting {
			w.release() // no caller waits for a server that is down
		}
		return
	}
	c.failing = false
	c.noteReplicas(now)
	var confirmed []*written
	rest := c.waiting[:0]
	for _, w := range c.waiting {
		switch {
		case w.job.masters != now.identity:
			c.again(w)
		case c.isConfirmed(w, now):
			confirmed = append(confirmed, w)
		default:
			w.release()
			rest = append(rest, w)
		}
	}
	clear(c.waiting[len(rest):])
	c.waiting = rest
	for some := range slices.Chunk(confirmed, maxBatch) {
		c.finish(ctx, conn, some)
	}
}

// finish removes confirmed fan-outs from `fanouts`; on an error they wait for
// the next round.
func (c *confirmer) finish(ctx context.Context, conn rueidis.CoreClient, some []*written) {
	posts := make([]int64, len(some))
	for i, w := range some {
		posts[i] = w.job.post
	}
	if err := forget(ctx, conn, posts...); err != nil {
		c.hangUp()
		c.waiting = append(c.waiting, some...)
		for _, w := range some {
			w.release()
		}
		return
	}
	for _, w := range some {
		c.drop(w)
	}
}

// noteReplicas remembers which masters have replicas.
func (c *confirmer) noteReplicas(now masters) {
	seen := map[string]time.Time{}
	for _, m := range now.all {
		if m.replicas > 0 {
			seen[m.id] = time.Now()
		} else if at, ok := c.replicaSeen[m.id]; ok {
			seen[m.id] = at
		}
	}
	c.replicaSeen = seen
}

// isConfirmed reports whether a replica of each master that has one has all of
// a fan-out. The first look records the offset to be reached.
func (c *confirmer) isConfirmed(w *written, now masters) bool {
	if w.offsets == nil {
		w.offsets = make(map[string]int64, len(now.all))
		for _, m := range now.all {
			w.offsets[m.id] = m.offset
		}
	}
	for _, m := range now.all {
		at, ok := c.replicaSeen[m.id]
		if !ok || time.Since(at) > replicaTimeout || m.replicas > 0 && m.acked >= w.offsets[m.id] {
			continue
		}
		if time.Since(w.since) < replicaTimeout {
			return false
		}
		c.log.Warn("a replica does not confirm a fan-out, which counts as done without it",
			"post", w.job.post, "waited", replicaTimeout.String())
	}
	return true
}

// again repeats a fan-out from its beginning, because a master has restarted or
// failed over.
func (c *confirmer) again(w *written) {
	c.log.Warn("a fan-out is repeated, as a server has restarted or failed over", "post", w.job.post)
	c.repeat(w.job)
	c.drop(w)
}

// forget removes finished fan-outs from `fanouts`.
func forget(ctx context.Context, conn rueidis.CoreClient, posts ...int64) error {
	members := make([]string, len(posts))
	for i, post := range posts {
		members[i] = layout.Itoa(post)
	}
	err := conn.Do(ctx, conn.B().Zrem().Key(layout.FanOuts).Member(members...).Build().ToRetryable()).Error()
	if err != nil {
		return fmt.Errorf("social: post: %w", err)
	}
	return nil
}
