package task

import (
	"context"

	"retwis/internal/redis/rediserr"
	"retwis/internal/sleep"
)

const (
	// keptWorkers is how many kept tasks a process retries at once.
	keptWorkers = 2
	// maxKeptFailures is how often in a row a kept task may fail before it is left to
	// Sweep.
	maxKeptFailures = 60
)

// Kept is a task of which this process has more than its member says, such as the text
// of a post: what a failover can lose. So this process retries it, and not a queue.
type Kept struct {
	Member  string
	Masters string                          // before its first write; see Engine.Masters
	Run     func(ctx context.Context) error // from its beginning
}

// RunKept runs a kept task that was noted, and ends it.
func (e *Engine) RunKept(ctx context.Context, k Kept) error {
	e.ledger.Hold(k.Member)
	defer e.ledger.Release(k.Member)
	var err error
	if k.Masters, err = e.Masters(ctx); err != nil {
		return err
	}
	if err := k.Run(ctx); err != nil {
		return err
	}
	return e.FinishKept(ctx, k)
}

// FinishKept ends a kept task that is written, as Ledger.Finish does. Should a failover lose
// a part of it, this process retries it.
func (e *Engine) FinishKept(ctx context.Context, k Kept) error {
	return e.ledger.Finish(ctx, e.keptWork(k))
}

// QueueKept leaves a kept task that was interrupted to the background, as Queue does. This
// process keeps it until no failover can lose it.
func (e *Engine) QueueKept(k Kept) {
	e.ledger.Watch(e.ctx, e.keptWork(k))
	e.Queue(k.Member)
}

func (e *Engine) keptWork(k Kept) Work {
	return Work{Member: k.Member, Masters: k.Masters, Repeat: func() { e.worker.Go(func() { e.retryKept(k) }) }}
}

// retryKept retries a task of this process after a failover until it succeeds.
func (e *Engine) retryKept(k Kept) {
	e.ledger.Hold(k.Member)
	defer e.ledger.Release(k.Member)
	for failures := 1; ; failures++ {
		err := e.tryKept(k)
		switch {
		case err == nil || e.ctx.Err() != nil:
			return
		case rediserr.IsWrongType(err) || failures > maxKeptFailures:
			e.log.Warn("a task was interrupted, to be finished later", "task", k.Member, "error", err)
			return
		}
		e.log.Warn("a task was interrupted, trying again", "task", k.Member, "error", err, "in", retryAfter.String())
		if !sleep.For(e.ctx, retryAfter) {
			return
		}
	}
}

// tryKept runs a kept task once, and ends it.
func (e *Engine) tryKept(k Kept) error {
	select {
	case e.keptSlots <- struct{}{}:
		defer func() { <-e.keptSlots }()
	case <-e.ctx.Done():
		return e.ctx.Err()
	}
	return e.RunKept(e.ctx, k)
}
