package script

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

const (
	firstWait = 5 * time.Millisecond
	maxWait   = 200 * time.Millisecond
	// maxTotalWait limits all waits of one call: an abandoned slot migration never ends.
	maxTotalWait = time.Minute
)

// moving reports whether a Cluster did not run a command because its keys are on two servers
// while their slot is being moved.
func moving(r rueidis.RedisResult) bool {
	e, ok := rueidis.IsRedisErr(r.Error())
	return ok && e.IsTryAgain()
}

// retryMoving resends a command until a Cluster no longer refuses it because its keys are moving.
func retryMoving(ctx context.Context, send func() rueidis.RedisResult) rueidis.RedisResult {
	r := send()
	if !moving(r) {
		return r
	}
	for w := newWait(ctx); moving(r) && w.next(); {
		r = send()
	}
	return r
}

// wait is the growing pause between two attempts.
type wait struct {
	ctx   context.Context // of the call
	pause time.Duration
	end   time.Time
}

func newWait(ctx context.Context) *wait {
	return &wait{ctx: ctx, pause: firstWait, end: time.Now().Add(maxTotalWait)}
}

// next waits, and reports whether to try again.
func (w *wait) next() bool {
	timer := time.NewTimer(w.pause)
	defer timer.Stop()
	w.pause = min(2*w.pause, maxWait)
	select {
	case <-w.ctx.Done():
		return false
	case <-timer.C:
		return time.Now().Before(w.end)
	}
}
