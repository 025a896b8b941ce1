package redlock

import (
	"context"
	"errors"
	"hash/maphash"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"retwis/internal/elapsed"
	"retwis/redlock/internal/server"
)

// queue waits for a lock in the queue of its name, after a pause. begun is the time of arrival.
func (m *Manager) queue(ctx context.Context, name string, ttl time.Duration, begun time.Time, pause time.Duration) (*hold, error) {
	var t waiter
	m.voters.waiters.renew(&t)
	defer m.voters.waiters.remove(&t)
	backoff := m.firstPause()
	if pause > 0 {
		if cause := t.wait(ctx, m, pause); cause != nil {
			return nil, waitError(name, cause, nil)
		}
	}
	var last error // error of the last attempt that was not interrupted
	for {
		now := time.Now()
		m.voters.waiters.next(&t)
		h, r, err := m.attempt(ctx, server.Op{
			Name: name, Value: t.value, TTL: ttl, Queue: true, Since: begun.UnixMicro(), Waited: now.Sub(begun),
		}, now)
		t.asked |= r.sentTo()
		if err == nil {
			h.servers = t.asked
			return h, nil
		}
		if ctx.Err() != nil || errors.Is(err, ErrNotLock) || errors.Is(err, ErrRefused) {
			m.voters.release(r.Op, t.asked)
			if ctx.Err() != nil && last != nil {
				err = last
			}
			return nil, addCause(ctx, name, err)
		}
		last = err
		m.listen()
		m.localQueues.noteError(name, err)
		m.hints.note(name, time.Now())
		if r.foreign() {
			m.gaps.noteForeign(name, time.Now())
		}
		// Split brain: several clients asked at the same time and no client has a majority, so no
		// client may keep its votes. Otherwise the servers that granted the lock, or may have
		// granted it, keep it for this waiter.
		agreed, _, _ := r.tally()
		split := agreed > 0 && !r.hasLeader()
		if split {
			m.voters.release(r.Op, t.asked)
			m.voters.waiters.renew(&t)
		} else {
			m.voters.waiters.note(&t, r)
		}
		pause, backoff = m.pause(r, split, backoff), min(2*backoff, m.opt.RetryMax)
		if cause := t.wait(ctx, m, pause); cause != nil {
			m.voters.release(r.Op, t.asked)
			return nil, waitError(name, cause, err)
		}
	}
}

// firstPause returns the first pause between attempts. It is short until grant messages arrive
// from a majority.
func (m *Manager) firstPause() time.Duration {
	subscribed := 0
	for _, n := range m.voters.nodes {
		if n.subscribed.Load() {
			subscribed++
		}
	}
	if subscribed < m.voters.quorum {
		return m.opt.RetryMin
	}
	return max(m.opt.RetryMin, m.opt.RetryMax/2)
}

// pause returns how long to wait for a grant before the next attempt.
func (m *Manager) pause(r *round, split bool, backoff time.Duration) time.Duration {
	if split {
		return m.splitPause(r)
	}
	pause := backoff/2 + rand.N(backoff)
	if free := r.freeIn(); free >= 0 && free < pause {
		// The lock expires before the end of the pause: the holder may have died.
		pause = free + time.Millisecond + rand.N(m.opt.RetryMin/2+1)
	}
	return pause
}

// splitPause returns a random pause after several clients asked at the same time and
// none got a majority, so that they do not collide again.
func (m *Manager) splitPause(r *round) time.Duration {
	return rand.N(min(m.opt.RetryMin, time.Millisecond+8*r.duration()))
}

// wait returns nil when the waiter should ask again.
func (t *waiter) wait(ctx context.Context, m *Manager, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-t.ready:
			return nil
		case <-t.soon:
			// Wait a little longer for the grants of the other servers.
			timer.Reset(min(pause, m.opt.NodeTimeout))
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-m.closing:
			return ErrClosed
		}
	}
}

// listen starts listening for grants when the first caller has to wait. The caller holds m.calls, so
// Close waits for listeners only after listen has returned.
func (m *Manager) listen() {
	m.listening.Do(func() {
		if m.isClosing() {
			return
		}
		for _, n := range m.voters.nodes {
			m.listeners.Add(1)
			go func() {
				defer m.listeners.Done()
				n.listen(m.ctx)
			}()
		}
	})
}

// hints records which names had waiters recently. For such a name, the quick attempt is pointless,
// and one fencing token is not enough. hints is approximate, because several names share a slot.
type hints struct {
	seed  maphash.Seed
	slots [256]atomic.Int64
}

// hintTime is how long a hint lasts.
const hintTime = time.Second

func (h *hints) slot(name string) *atomic.Int64 {
	return &h.slots[maphash.String(h.seed, name)%uint64(len(h.slots))]
}

// note records that a name has waiters.
func (h *hints) note(name string, now time.Time) { h.slot(name).Store(elapsed.At(now)) }

// wanted reports whether a name had waiters recently.
func (h *hints) wanted(name string, now time.Time) bool {
	return elapsed.At(now)-h.slot(name).Load() < int64(hintTime)
}
