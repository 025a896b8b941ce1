package redlock

import (
	"context"
	"fmt"
	"time"

	"retwis/redlock/internal/server"
)

// ask starts a round and sends it to a set of servers.
func (v *voters) ask(o server.Op, to nodeSet) *round {
	r := newRound(v.nodes, v.quorum, o, time.Now())
	r.send(to)
	return r
}

// attempt asks all servers for a name once. It also returns the round, which a caller that gives up
// after a failed attempt must withdraw.
func (m *Manager) attempt(ctx context.Context, o server.Op, now time.Time) (*hold, *round, error) {
	o.Kind = server.Acquire
	if m.opt.Fencing {
		o.Tokens = min(1+m.localQueues.waiting(o.Name), maxTokens)
		if m.hints.wanted(o.Name, now) { // waiting goroutines will ask again
			o.Tokens = maxTokens
		}
	}
	o.Grant, o.Line, o.Within = m.opt.grantTime(), m.opt.lineTime(), m.opt.askTime()
	r := newRound(m.voters.nodes, m.voters.quorum, o, now)
	r.untilMajority = o.Queue || o.Quick
	r.send(m.voters.all)
	won, cause := r.await(ctx, m.opt.NodeTimeout)
	switch {
	case cause != nil:
		return nil, r, waitError(o.Name, cause, r.err(m.opt.NodeTimeout))
	case !won:
		return nil, r, r.err(m.opt.NodeTimeout)
	}
	var token uint64
	if o.Tokens > 0 {
		var err error
		if token, err = m.voters.resolveToken(ctx, r); err != nil {
			return nil, r, err
		}
		token -= uint64(o.Tokens - 1) // the first token of the batch
	}
	until := m.voters.validUntil(r)
	if !time.Now().Before(until) {
		return nil, r, fmt.Errorf("redlock: %q: %w: the replies took %v, longer than the lock is valid",
			o.Name, ErrNoQuorum, time.Since(r.start).Round(time.Millisecond))
	}
	m.voters.stats.acquired.Add(1)
	acquiredAt := time.Now()
	return &hold{
		m: m, name: o.Name, value: o.Value, ttl: o.TTL, queued: o.Queue, servers: r.sentTo(),
		share: acquiredAt.Add(min(minShare+shareRounds*acquiredAt.Sub(now), o.TTL/8)),
		token: token, tokens: o.Tokens, until: until, answered: acquiredAt,
	}, r, nil
}

// validUntil returns the end of a lock that a round acquired or extended.
func (v *voters) validUntil(r *round) time.Time {
	return r.start.Add(r.TTL - v.drift(r.TTL))
}

// drift returns the safety margin for clock drift: Options.Drift scaled to the TTL.
func (v *voters) drift(ttl time.Duration) time.Duration {
	if ttl >= v.opt.TTL {
		return time.Duration(float64(v.opt.Drift) * (float64(ttl) / float64(v.opt.TTL)))
	}
	return min(v.opt.Drift, time.Duration(float64(v.opt.Drift)*(float64(ttl)/float64(v.opt.TTL)))+2*time.Millisecond)
}

// tokenMargin is how far a token advances beyond the known tokens after a counter was lost. It is
// more than a counter advances in its first second.
const tokenMargin = 1_000_000

// resolveToken returns the token of a lock once the counters of a majority have reached it: any
// later majority includes one of these servers, and so counts a greater token. The counters of all
// other servers, including servers that refused the lock, are raised in the background, so that a
// minority may lose its counters later.
func (v *voters) resolveToken(ctx context.Context, r *round) (uint64, error) {
	token, agreed, mixed := r.maxToken()
	switch {
	case mixed:
		// The last token may have been known only to the servers that lost their counters.
		token += tokenMargin
	case agreed >= v.quorum:
		r.raiseBelow(token, func(i int) { v.ask(server.Op{Kind: server.Raise, Name: r.Name, Token: token}, 1<<i) })
		return token, nil
	}
	raise := v.ask(server.Op{Kind: server.Raise, Name: r.Name, Token: token}, v.all)
	won, cause := raise.await(ctx, v.opt.NodeTimeout)
	switch {
	case cause != nil:
		return 0, waitError(r.Name, cause, nil)
	case !won:
		return 0, fmt.Errorf("fencing token not resolved: %w", raise.err(v.opt.NodeTimeout))
	}
	return token, nil
}

// withdraw releases the locks that the servers may have granted, and leaves the queue. The value of
// the round must not be used again, because the release may arrive late.
func (v *voters) withdraw(r *round) {
	v.release(r.Op, r.sentTo())
}

// release releases the name that an op acquired on a set of servers.
func (v *voters) release(acquired server.Op, from nodeSet) *round {
	now := time.Now()
	r := newRound(v.nodes, v.quorum, server.Op{
		Kind: server.Release, Name: acquired.Name, Value: acquired.Value,
		Queue: acquired.Queue, Free: acquired.Free, Every: acquired.Every, Grant: v.opt.grantTime(), Until: now.Add(acquired.TTL),
	}, now)
	r.send(from)
	return r
}
