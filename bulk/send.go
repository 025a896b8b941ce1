package bulk

import (
	"context"
	"time"
)

// sender sends chunks, and returns them to the pool once they are answered.
type sender struct {
	router *router
	pool   pool
	pacer  pacer
	saves  *checkpoint

	held     []*chunk // chunks with items that must be resent
	trouble  bool     // a connection broke, or held is not empty
	answered int      // number of answered items, to detect progress
	last     int64    // all commands up to this number are in chunks
}

// pool limits the memory of the chunks in flight.
type pool struct {
	free  []*chunk
	made  int
	limit int
}

// get returns an empty chunk. If all are in use, it allocates another chunk if force is set, and
// returns nil otherwise.
func (p *pool) get(force bool) *chunk {
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		return c
	}
	if p.made < p.limit || force {
		p.made++
		return &chunk{}
	}
	return nil
}

// put returns a chunk to the pool.
func (p *pool) put(c *chunk) {
	if c.extra {
		return
	}
	c.reset()
	p.free = append(p.free, c)
}

// newExtra returns a chunk outside the pool, for use when the pool is empty.
func newExtra() *chunk { return &chunk{extra: true} }

// pacer spreads commands evenly over time.
type pacer struct {
	rate int // commands per second; 0: unlimited
	due  time.Time
}

// delay returns how long to wait before sending n commands.
func (p *pacer) delay(n int) time.Duration {
	if p.rate == 0 {
		return 0
	}
	now := time.Now()
	if p.due.Before(now.Add(-100 * time.Millisecond)) { // do not catch up after a pause
		p.due = now
	}
	wait := p.due.Sub(now)
	p.due = p.due.Add(time.Duration(n) * time.Second / time.Duration(p.rate))
	return wait
}

// send hands a chunk to a pipe.
func (s *sender) send(ctx context.Context, p *pipe, c *chunk) error {
	for i := range c.items {
		if c.items[i].flags&internal == 0 {
			p.node.commands.Add(int64(c.items[i].commands))
		}
	}
	c.node = p.node
	p.pending = append(p.pending, c)
	for {
		select {
		case p.out <- c:
			return nil
		default:
		}
		select {
		case p.out <- c:
			return nil
		case ev := <-s.router.events: // otherwise both sides could wait for each other
			s.handle(ev)
		case <-ctx.Done(): // the chunk was not sent
			p.pending = p.pending[:len(p.pending)-1]
			s.held = append(s.held, c)
			return ctx.Err()
		}
	}
}

// busy reports whether any working pipe waits for replies.
func (s *sender) busy() bool {
	for _, p := range s.router.pipes {
		if p != nil && p.failed == nil && len(p.pending) > 0 {
			return true
		}
	}
	return false
}

// quiesce waits until all chunks in flight are answered, except chunks on broken connections.
func (s *sender) quiesce(ctx context.Context) error {
	for s.busy() {
		if err := s.next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// next waits for one event and handles it.
func (s *sender) next(ctx context.Context) error {
	select {
	case ev := <-s.router.events:
		s.handle(ev)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sleep handles events for a duration.
func (s *sender) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case ev := <-s.router.events:
			s.handle(ev)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// handle processes an event of a pipe.
func (s *sender) handle(ev event) {
	p := ev.pipe
	if p.stopped {
		return
	}
	if ev.err != nil {
		p.failed, s.trouble = ev.err, true
		return
	}
	c := ev.chunk
	p.pending = p.pending[1:]
	p.returned++
	for i := range c.items {
		if c.items[i].flags&(resend|internal) == 0 {
			s.answered++
		}
	}
	if c.trouble || p.troubled {
		// Hold the following chunks of the pipe, too: they may have to be resent after this chunk.
		s.trouble, p.troubled = true, true
		s.held = append(s.held, c)
		return
	}
	s.pool.put(c)
	s.passed()
}

// passed records in the checkpoint the number up to which all commands are answered.
func (s *sender) passed() {
	if s.saves != nil {
		s.saves.passed(s.low())
	}
}

// low returns the number up to which all commands are answered.
func (s *sender) low() int64 {
	low := s.last
	for _, p := range s.router.pipes {
		if p == nil {
			continue
		}
		if len(p.pending) > 0 {
			low = min(low, p.pending[0].items[0].no-1)
		}
		if p.cur != nil && len(p.cur.items) > 0 {
			low = min(low, p.cur.items[0].no-1)
		} else if len(p.set.sets) > 0 {
			low = min(low, p.set.sets[0].no-1)
		}
	}
	for _, c := range s.held {
		low = min(low, c.items[0].no-1)
	}
	return low
}
