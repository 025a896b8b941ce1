package fanout

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/sleep"
	"retwis/internal/social/layout"
	"retwis/redlock"
)

const (
	// lockTimeout bounds a request for the lock; a slow server is no reason to
	// give it up.
	lockTimeout = 2 * time.Second
	// lockTTL is how long the lock outlives its holder.
	lockTTL = 5 * time.Second
	// lockPause is the longest pause between two attempts to get the lock, where
	// the message of its release was lost.
	lockPause = 2 * time.Second
)

// Recover calls Sweep every so often, until ctx ends, in one process at a time: the
// holder of the lock layout.TasksLock. The other processes wait for it and take over
// within seven seconds after the holder died.
//
// The lock saves work. Each task is claimed by one process anyway, so a
// process that cannot use the lock at all (without the rights to it, say) goes on
// without it.
func (j *Jobs) Recover(ctx context.Context, every time.Duration) error {
	locks, err := redlock.New([]rueidis.Client{j.client}, redlock.Options{
		TTL: lockTTL, NodeTimeout: lockTimeout, RetryMax: lockPause, Owner: "recovery of tasks",
	})
	if err != nil {
		return err
	}
	defer locks.Close()
	for ctx.Err() == nil {
		err := locks.Do(ctx, layout.TasksLock, func(ctx context.Context, _ *redlock.Lock) error {
			for {
				if !sleep.For(ctx, max(every, j.sweep(ctx))) {
					return ctx.Err()
				}
			}
		})
		if ctx.Err() != nil {
			break
		}
		j.log.DebugContext(ctx, "the recovery of tasks has no lock", "error", err)
		sleep.For(ctx, max(every, j.sweep(ctx)))
	}
	return nil
}

const (
	// sweepShare bounds the share of the time that sweeps take, where very much waits.
	sweepShare = 20
	// maxSweepPause bounds the pause after a sweep that took long.
	maxSweepPause = 30 * time.Second
)

// sweep is Sweep with its error logged. It returns the pause before the next one. One that
// failed has waited for a server: the next one follows soon.
func (j *Jobs) sweep(ctx context.Context) time.Duration {
	began := time.Now()
	if err := j.Sweep(ctx); err != nil {
		if ctx.Err() == nil {
			j.log.WarnContext(ctx, "cannot go on with interrupted work; trying again later", "error", err)
		}
		return 0
	}
	return min(sweepShare*time.Since(began), maxSweepPause)
}
