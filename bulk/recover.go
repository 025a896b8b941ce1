package bulk

import (
	"context"
	"fmt"
	"time"

	"retwis/bulk/resp"
	"retwis/internal/sleep"
)

// run resends commands until none is left and slot has an owner; no is the number of the command
// that needs the slot. It first waits until all pipes are idle, so that no command overtakes a
// resent command. The wait takes milliseconds; while the slots of a Cluster move, run is called a
// few times per second.
func (r *recovery) run(ctx context.Context, slot int, no int64) error {
	s := r.sender
	began, before := time.Now(), s.answered
	for wait := time.Duration(0); ; wait = min(max(2*wait, 5*time.Millisecond), time.Second) {
		if err := s.quiesce(ctx); err != nil {
			return err
		}
		cause := r.dropFailedPipes()
		r.takeBack()
		if err := r.keepOrder(); err != nil {
			return err
		}
		r.releaseDone()
		s.trouble = false
		if len(s.held) == 0 && r.router.connected(slot) {
			return nil
		}
		if err := r.checkResendable(cause); err != nil {
			return err
		}
		if s.answered > before {
			began, before, wait = time.Now(), s.answered, 0
		}
		if time.Since(began) > max(r.retryFor, 0) && wait > 0 {
			return lost(r.stuck(cause, slot, no))
		}
		if cause != nil && r.retryFor < 0 {
			return lost(cause)
		}
		if wait > 0 && !sleep.For(ctx, wait) {
			return ctx.Err()
		}
		if cause == nil {
			cause = r.refusalError()
		}
		if err := r.router.reconnect(ctx, began, cause); err != nil {
			return err
		}
		if err := r.dispatch(ctx); err != nil {
			return err
		}
	}
}

// ifTrouble calls run if the sender reports trouble.
func (r *recovery) ifTrouble(ctx context.Context) error {
	if !r.sender.trouble {
		return nil
	}
	return r.run(ctx, anySlot, 0)
}

// stuck returns the error that ends the retries.
func (r *recovery) stuck(cause error, slot int, no int64) error {
	if cause == nil {
		cause = r.refusalError()
	}
	if cause != nil {
		return cause
	}
	if waiting := r.units(resend); len(waiting) > 0 {
		u := waiting[0]
		return fmt.Errorf("the Cluster did not accept command %d (%s) in %v", u.no(), resp.Text(u.c.raw(u.from)), r.retryFor)
	}
	return fmt.Errorf("no server of the Cluster serves slot %d, to which command %d belongs", slot, no)
}

// refusalError returns the error with which a server refused the first waiting command, or nil.
func (r *recovery) refusalError() error {
	for _, u := range r.units(resend) {
		if text := u.refusal(); text != "" {
			return fmt.Errorf("the server did not accept command %d (%s): %s", u.no(), resp.Text(u.c.raw(u.from)), text)
		}
	}
	return nil
}

// dropFailedPipes removes broken connections, holds their chunks for resending, and returns the
// cause of the first failure.
func (r *recovery) dropFailedPipes() error { return r.router.dropFailedPipes(r.discard) }

// discard holds the chunks of a stopped pipe. It marks their unanswered items for resending, and
// marks the items that may have been executed as unsure.
func (r *recovery) discard(p *pipe) {
	for k, c := range p.pending {
		sent := 0
		switch ordinal := p.returned + k + 1; { // the chunk's position among all chunks of the pipe
		case ordinal < p.begun, ordinal == p.begun && p.cut < 0:
			sent = len(c.buf)
		case ordinal == p.begun:
			sent = p.cut
		}
		for i := c.done; i < len(c.items); i++ {
			it := &c.items[i]
			it.flags |= resend
			// A transaction is executed at its end.
			last := i
			for last+1 < len(c.items) && c.items[last+1].flags&inUnit != 0 {
				last++
			}
			if int(c.items[last].end) <= sent {
				it.flags |= unsure
			}
		}
		r.sender.held = append(r.sender.held, c)
	}
	p.pending = nil
	r.takeBackFrom(p)
}

// takeBack holds the buffered commands of all pipes, so that resent commands come first.
func (r *recovery) takeBack() {
	for _, p := range r.router.pipes {
		if p != nil {
			r.takeBackFrom(p)
		}
	}
}

func (r *recovery) takeBackFrom(p *pipe) {
	p.flushSETs()
	if p.cur == nil {
		return
	}
	for i := range p.cur.items {
		p.cur.items[i].flags |= resend | fresh
	}
	p.cur.done = len(p.cur.items)
	if len(p.cur.items) > 0 {
		r.sender.held = append(r.sender.held, p.cur)
	} else {
		r.sender.pool.put(p.cur)
	}
	p.cur = nil
}

// releaseAll returns all held chunks to the pool and removes broken connections.
func (r *recovery) releaseAll() {
	_ = r.dropFailedPipes()
	for _, c := range r.sender.held {
		r.sender.pool.put(c)
	}
	r.sender.held, r.sender.trouble = nil, false
}
