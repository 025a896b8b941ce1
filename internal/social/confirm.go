package social

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// A fan-out is finished when it can no longer be lost, not when it is written:
// a master that dies takes with it what its replicas did not have. So the id of
// a post stays in `fanouts` until two things are certain.
//
//   - The masters are still the processes that they were before the first
//     write. After a failover, or a restart, a part may be gone: the fan-out is
//     repeated from its beginning.
//   - A replica of each master has acknowledged an offset that the master
//     reached after the last write. This is what WAIT tells; but WAIT counts
//     only what its own connection wrote, and holds up what is behind it on
//     that connection. INFO tells the same of every connection, and of all
//     fan-outs at once.
//
// Without replicas the second is nothing to wait for.

const (
	// confirmEvery is how often replicas are asked for, while fan-outs wait for
	// them; they acknowledge once a second.
	confirmEvery = 100 * time.Millisecond
	// renewEvery is how often `fanouts` learns that this process is alive, for
	// each fan-out that waits here, and staleAfter how long one shows no sign
	// of that before it counts as left behind.
	renewEvery = 10 * time.Second
	staleAfter = 30 * time.Second
	// replicaPatience is how long a replica that acknowledges nothing is waited
	// for, by each fan-out, and how long one that went away counts as there.
	replicaPatience = 5 * time.Minute
	// maxUnconfirmed bounds the fan-outs that wait for replicas. Past it they
	// are left to the database.
	maxUnconfirmed = 1 << 13
)

// claims are the fan-outs that this process works on.
type claims struct {
	mu    sync.Mutex
	posts map[int64]int // how many times each was added
}

func (c *claims) add(post int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.posts == nil {
		c.posts = map[int64]int{}
	}
	c.posts[post]++
}

func (c *claims) remove(post int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.posts[post]--; c.posts[post] <= 0 {
		delete(c.posts, post)
	}
}

func (c *claims) all() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]int64, 0, len(c.posts))
	for post := range c.posts {
		all = append(all, post)
	}
	return all
}

// renew tells other processes that the fan-outs which wait here are not left
// behind.
func (s *Service) renew(ctx context.Context) {
	now := float64(s.now().Unix())
	for posts := range slices.Chunk(s.claims.all(), 500) {
		add := s.client.B().Zadd().Key(keyFanOuts).Xx().ScoreMember().ScoreMember(now, itoa(posts[0]))
		for _, post := range posts[1:] {
			add = add.ScoreMember(now, itoa(post))
		}
		if err := s.client.Do(ctx, add.Build().ToRetryable()).Error(); err != nil && ctx.Err() == nil {
			s.log.Warn("cannot renew the claim on unfinished fan-outs", "error", err)
			return
		}
	}
}

// written is a fan-out that is written and not confirmed.
type written struct {
	job     fanOut
	since   time.Time
	offsets map[string]int64 // of each master, after the last write
	once    sync.Once
	looked  chan struct{} // closed when it was looked at: those who post wait no longer
	dropped chan struct{} // closed when it is confirmed, or left to others
}

func (w *written) release() { w.once.Do(func() { close(w.looked) }) }

// finalize removes a fan-out that is written from `fanouts` as soon as that is
// safe: before it returns where there are no replicas, and else in the
// background, together with others. An error is ctx's.
func (s *Service) finalize(ctx context.Context, job fanOut) error {
	w, err := s.submit(ctx, job)
	if err != nil {
		return err
	}
	if seen := s.observed.Load(); seen != nil && seen.replicated {
		return nil
	}
	select {
	case <-w.looked:
		return nil
	case <-s.background.Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("social: post: %w", ctx.Err())
	}
}

// submit leaves a fan-out that is written to the goroutine that confirms.
func (s *Service) submit(ctx context.Context, job fanOut) (*written, error) {
	w := &written{job: job, since: time.Now(), looked: make(chan struct{}), dropped: make(chan struct{})}
	s.claims.add(job.post)
	select {
	case s.unconfirmed <- w:
		return w, nil
	case <-s.background.Done(): // known to the database
		s.claims.remove(job.post)
		return w, nil
	case <-ctx.Done():
		s.claims.remove(job.post)
		return nil, fmt.Errorf("social: post: %w", ctx.Err())
	}
}

// confirm finalizes the fan-outs that are written, until the service is closed.
func (s *Service) confirm() {
	c := &confirmer{s: s, replicaSeen: map[string]time.Time{}}
	defer c.hangUp()
	tick := time.NewTicker(confirmEvery)
	defer tick.Stop()
	renewal := time.NewTicker(renewEvery)
	defer renewal.Stop()
	for {
		select {
		case <-s.background.Done():
			return // what is not confirmed is known to the database
		case w := <-s.unconfirmed:
			c.take(w)
			if seen := s.observed.Load(); seen != nil && seen.replicated {
				continue // a tick looks
			}
		case <-tick.C:
			if len(c.waiting) == 0 {
				continue
			}
		case <-renewal.C:
			s.renew(s.background)
		}
		c.round(s.background)
	}
}

// confirmer is what the goroutine that confirms keeps.
type confirmer struct {
	s           *Service
	waiting     []*written
	replicaSeen map[string]time.Time // by master
	failing     bool
	line        *line // to the only master; nil on a Cluster
}

// take adds a fan-out and whatever else has come.
func (c *confirmer) take(w *written) {
	for {
		if len(c.waiting) < maxUnconfirmed {
			c.waiting = append(c.waiting, w)
		} else {
			c.s.log.Warn("too many fan-outs wait for replicas, one to be repeated later", "post", w.job.post)
			c.drop(w)
		}
		select {
		case w = <-c.s.unconfirmed:
		default:
			return
		}
	}
}

func (c *confirmer) drop(w *written) {
	c.s.claims.remove(w.job.post)
	w.release()
	close(w.dropped)
}

// look asks the masters of themselves, and returns the connection on which
// `fanouts` is to be changed. Where there is one master it is the same: a
// master that takes over in between does not get the change.
func (c *confirmer) look(ctx context.Context) (mastersOf, rueidis.CoreClient, error) {
	if c.s.cluster {
		now, err := c.s.observe(ctx)
		return now, c.s.client, err
	}
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	if c.line != nil && c.line.address != c.address() {
		c.hangUp()
	}
	if c.line == nil {
		conn, release := c.s.client.Dedicate()
		c.line = &line{address: c.address(), conn: conn, release: release}
	}
	var err error
	if c.line.run == "" {
		c.line.run, err = runID(ctx, c.line.conn)
	}
	var m master
	if err == nil {
		m, err = observeMaster(ctx, c.line.conn, c.line.run)
	}
	if err == nil && m.id == "" {
		err = errors.New("the server is a replica")
	}
	now, err := c.s.observedAs([]master{m}, err)
	if err != nil {
		c.hangUp()
		return now, nil, err
	}
	return now, c.line.conn, nil
}

// line is a connection to a master, kept because a connection that lives leads
// to the process to which it always led.
type line struct {
	address, run string
	conn         rueidis.DedicatedClient
	release      func()
}

// address is that of the master to which the client leads at present.
func (c *confirmer) address() string {
	for address := range c.s.client.Nodes() {
		return address
	}
	return ""
}

func (c *confirmer) hangUp() {
	if c.line != nil {
		c.line.release()
		c.line = nil
	}
}

// round looks at the masters once and finalizes what is safe.
func (c *confirmer) round(ctx context.Context) {
	now, conn, err := c.look(ctx)
	if err != nil {
		if ctx.Err() == nil && !c.failing {
			c.s.log.Warn("cannot confirm fan-outs, trying again", "waiting", len(c.waiting), "error", err)
		}
		c.failing = true
		for _, w := range c.waiting {
			w.release() // whoever waits shall not wait for a server that is away
		}
		return
	}
	c.failing = false
	c.note(now)
	var confirmed []*written
	rest := c.waiting[:0]
	for _, w := range c.waiting {
		switch {
		case w.job.masters != now.identity:
			c.repeat(w)
		case c.isConfirmed(w, now):
			confirmed = append(confirmed, w)
		default:
			w.release()
			rest = append(rest, w)
		}
	}
	clear(c.waiting[len(rest):])
	c.waiting = rest
	for some := range slices.Chunk(confirmed, 500) {
		posts := make([]int64, len(some))
		for i, w := range some {
			posts[i] = w.job.post
		}
		if err := c.s.forgetFanOuts(ctx, conn, posts...); err != nil {
			c.hangUp()
			c.waiting = append(c.waiting, some...)
			for _, w := range some {
				w.release()
			}
			continue
		}
		for _, w := range some {
			c.drop(w)
		}
	}
}

// note remembers which masters have replicas.
func (c *confirmer) note(now mastersOf) {
	seen := map[string]time.Time{}
	for _, m := range now.masters {
		if m.replicas > 0 {
			seen[m.id] = time.Now()
		} else if at, ok := c.replicaSeen[m.id]; ok {
			seen[m.id] = at
		}
	}
	c.replicaSeen = seen
}

// isConfirmed tells whether a replica of each master that has one has all of a
// fan-out. The first look notes how far that is.
func (c *confirmer) isConfirmed(w *written, now mastersOf) bool {
	if w.offsets == nil {
		w.offsets = make(map[string]int64, len(now.masters))
		for _, m := range now.masters {
			w.offsets[m.id] = m.offset
		}
	}
	for _, m := range now.masters {
		at, ok := c.replicaSeen[m.id]
		if !ok || time.Since(at) > replicaPatience || m.replicas > 0 && m.acked >= w.offsets[m.id] {
			continue
		}
		if time.Since(w.since) < replicaPatience {
			return false
		}
		c.s.log.Warn("a replica does not confirm a fan-out, which counts as done without it",
			"post", w.job.post, "waited", replicaPatience.String())
	}
	return true
}

// repeat begins a fan-out again from its beginning, as the masters are not what
// they were.
func (c *confirmer) repeat(w *written) {
	c.s.log.Warn("a fan-out is repeated, as a server has restarted or failed over", "post", w.job.post)
	w.job.masters, w.job.after = "", everybody
	c.s.queue(w.job)
	c.drop(w)
}

// forgetFanOuts removes finished fan-outs.
func (s *Service) forgetFanOuts(ctx context.Context, conn rueidis.CoreClient, posts ...int64) error {
	members := make([]string, len(posts))
	for i, post := range posts {
		members[i] = itoa(post)
	}
	err := conn.Do(ctx, conn.B().Zrem().Key(keyFanOuts).Member(members...).Build().ToRetryable()).Error()
	if err != nil {
		return fmt.Errorf("social: post: %w", err)
	}
	return nil
}
