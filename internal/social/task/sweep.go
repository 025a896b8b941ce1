package task

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

const (
	// maxSwept bounds how many stale members one sweep reads.
	maxSwept = 20_000
	// maxWaiting bounds how many entries of each stream one sweep reads.
	maxWaiting = 5000
	// clockSkew is by how much the clocks of processes and servers may differ.
	clockSkew = time.Minute
)

// Queued are the jobs that wait in queues; see jobs.Queue.Waiting.
type Queued struct {
	Jobs  map[string]bool
	Until time.Time // later ones may be missing; zero: none is
}

// knows reports whether it is certain if a member that was last renewed at a time (unix
// seconds) is queued. It was queued before that, or shortly after.
func (q Queued) knows(renewed float64) bool {
	return q.Until.IsZero() || renewed < float64(q.Until.Add(-clockSkew).Unix())
}

// Sweep looks for work that no process and no queue has: its process has died, or a queue
// has lost it. It calls again with each member, after it has claimed it. What a queue has
// is renewed, so that nothing else takes it for abandoned. Without stale work it is one
// round trip.
func (l *Ledger) Sweep(ctx context.Context, queued func(ctx context.Context) (Queued, error), again func(ctx context.Context, member string) error) error {
	stale := l.Stale()
	members, err := l.client.Do(ctx, l.client.B().Zrange().Key(l.key).Min("-inf").Max(strconv.FormatInt(stale, 10)).
		Byscore().Limit(0, maxSwept).Withscores().Build()).AsZScores()
	if err != nil {
		return fmt.Errorf("social: key %s: %w", l.key, err)
	}
	if len(members) == 0 {
		return nil
	}
	waiting, err := queued(ctx)
	if err != nil {
		return err
	}
	var renewed []string
	var first error
	for _, m := range members {
		switch {
		case waiting.Jobs[m.Member]:
			renewed = append(renewed, m.Member)
			continue
		case !waiting.knows(m.Score):
			continue
		}
		claimed, err := l.Claim(ctx, m.Member, stale)
		if err == nil && claimed {
			err = again(ctx, m.Member)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("social: key %s: %w", l.key, ctx.Err())
		}
		if err != nil && first == nil {
			first = err
		}
	}
	if err := l.renew(ctx, renewed); err != nil {
		return err
	}
	return first
}
