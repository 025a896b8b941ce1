package bulk

import (
	"context"
	"time"
)

// room returns the pipe of a slot with a chunk that has room for a command.
func (l *loader) room(ctx context.Context, slot, size int) (*pipe, error) {
	for {
		p := l.pipeFor(slot)
		switch {
		case p == nil || l.trouble:
			if err := l.recoverFor(ctx, slot); err != nil {
				return nil, err
			}
		case p.cur == nil:
			c, err := l.take(ctx)
			if err != nil {
				return nil, err
			}
			// Waiting for a chunk can change which pipe it is.
			if p = l.pipeFor(slot); p == nil || p.cur != nil || l.trouble {
				l.give(c)
				continue
			}
			p.cur = c
		case len(p.cur.buf)+len(p.set.buf) > 0 && len(p.cur.buf)+len(p.set.buf)+size > l.chunkBytes() || len(p.cur.items) >= l.chunkItems():
			if err := l.flush(ctx, p); err != nil {
				return nil, err
			}
		default:
			return p, nil
		}
	}
}

func (l *loader) chunkBytes() int { return min(chunkSize, l.opt.MaxInflight/2) }

// chunkItems keeps the commands of a rate evenly spread.
func (l *loader) chunkItems() int {
	if l.opt.Rate == 0 {
		return chunkSize
	}
	return max(1, l.opt.Rate/50)
}

// take returns an empty chunk, when one has come back.
func (l *loader) take(ctx context.Context) (*chunk, error) {
	for {
		if n := len(l.free); n > 0 {
			c := l.free[n-1]
			l.free = l.free[:n-1]
			return c, nil
		}
		// Where every chunk is being filled, none comes back.
		if l.made < max(2, l.opt.MaxInflight/l.chunkBytes()) || !l.busy() {
			l.made++
			return &chunk{}, nil
		}
		if err := l.next(ctx); err != nil {
			return nil, err
		}
		if err := l.mend(ctx); err != nil {
			return nil, err
		}
	}
}

// give puts a chunk back.
func (l *loader) give(c *chunk) {
	if c.extra {
		return
	}
	c.reset()
	l.free = append(l.free, c)
}

// newExtra returns a chunk that does not come from the pool, for when all of that are in
// use.
func (l *loader) newExtra() *chunk { return &chunk{extra: true} }

// busy tells whether a pipe has something to answer.
func (l *loader) busy() bool {
	for _, p := range l.pipes {
		if p != nil && p.failed == nil && len(p.pending) > 0 {
			return true
		}
	}
	return false
}

// quiesce waits until all that was sent is answered, but for what is lost.
func (l *loader) quiesce(ctx context.Context) error {
	for l.busy() {
		if err := l.next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// next waits for one event.
func (l *loader) next(ctx context.Context) error {
	select {
	case ev := <-l.events:
		l.handle(ev)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// handle notes what a pipe tells.
func (l *loader) handle(ev event) {
	p := ev.pipe
	if p.stopped {
		return
	}
	if ev.err != nil {
		p.failed, l.trouble = ev.err, true
		return
	}
	c := ev.chunk
	p.pending = p.pending[1:]
	p.back++
	for i := range c.items {
		if c.items[i].flags&(resend|internal) == 0 {
			l.answered++
		}
	}
	if c.trouble || p.troubled {
		// Those behind it too: they may have to be sent again behind it.
		l.trouble, p.troubled = true, true
		l.held = append(l.held, c)
		return
	}
	l.give(c)
	if l.saves != nil {
		l.pass()
	}
}

// pass tells the checkpoint how far all is answered. An error comes to light when the
// next promise is to be written.
func (l *loader) pass() { l.saveErr = l.saves.passed(l.low()) }

// low is the number up to which all commands are answered.
func (l *loader) low() int64 {
	low := l.last
	for _, p := range l.pipes {
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
	for _, c := range l.held {
		low = min(low, c.items[0].no-1)
	}
	return low
}

// flushAll sends all that is gathered.
func (l *loader) flushAll(ctx context.Context) error {
	for i := 0; i < len(l.pipes); i++ { // recovering changes them
		if p := l.pipes[i]; p != nil && p.cur != nil {
			if err := l.flush(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush sends what is gathered for a pipe.
func (l *loader) flush(ctx context.Context, p *pipe) error {
	p.closeSet()
	c := p.cur
	if len(c.items) == 0 {
		return nil
	}
	if err := l.hurried(); err != nil {
		return err
	}
	if err := l.pace(ctx, len(c.items)); err != nil {
		return err
	}
	if l.trouble || p.cur != c || ctx.Err() != nil { // meanwhile
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return l.recover(ctx)
	}
	if l.saves != nil {
		if err := l.reach(); err != nil {
			return err
		}
	}
	p.cur = nil
	n := int64(0)
	for i := range c.items {
		n += int64(c.items[i].many)
	}
	l.count.commands.Add(n)
	return l.send(ctx, p, c)
}

// reach tells the checkpoint what is about to be sent.
func (l *loader) reach() error {
	l.sent = l.at.Offset + 1
	if l.saveErr != nil {
		return l.saveErr
	}
	return l.saves.reach(l.sent)
}

// send hands a chunk to a pipe.
func (l *loader) send(ctx context.Context, p *pipe, c *chunk) error {
	for i := range c.items {
		if c.items[i].flags&internal == 0 {
			p.node.commands.Add(int64(c.items[i].many))
		}
	}
	c.pipe = p
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
		case ev := <-l.events: // else both sides could wait for each other
			l.handle(ev)
		case <-ctx.Done(): // it was not sent
			p.pending = p.pending[:len(p.pending)-1]
			l.held = append(l.held, c)
			return ctx.Err()
		}
	}
}

// pace waits until n commands may be sent.
func (l *loader) pace(ctx context.Context, n int) error {
	if l.opt.Rate == 0 {
		return nil
	}
	now := time.Now()
	if l.due.Before(now.Add(-100 * time.Millisecond)) { // time that was lost is not made up for
		l.due = now
	}
	wait := l.due.Sub(now)
	l.due = l.due.Add(time.Duration(n) * time.Second / time.Duration(l.opt.Rate))
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case ev := <-l.events:
			l.handle(ev)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drop forgets what is gathered and not sent.
func (l *loader) drop() {
	for _, p := range l.pipes {
		if p == nil {
			continue
		}
		p.closeSet()
		if p.cur != nil && len(p.cur.items) > 0 {
			l.last = min(l.last, p.cur.items[0].no-1)
			p.cur.reset()
		}
	}
}
