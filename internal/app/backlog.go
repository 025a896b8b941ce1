package app

import (
	"context"
	"fmt"
	"time"

	"retwis/internal/jobs"
	"retwis/internal/social/layout"
)

// Backlog is the background work that is not finished.
type Backlog struct {
	Waiting int64 // tasks
	// Stalled is how long ago a process last worked on the task that waits longest, or
	// made sure that a queue has it. Processes that are alive do so every few seconds.
	Stalled time.Duration
}

// Backlog returns the work that is not finished. One round trip.
func (s *App) Backlog(ctx context.Context) (Backlog, error) {
	b := s.db.Client.B()
	res := s.db.Client.DoMulti(ctx, b.Zcard().Key(layout.Tasks).Build(), b.Zrange().Key(layout.Tasks).Min("0").Max("0").Withscores().Build())
	waiting, err := res[0].AsInt64()
	if err != nil {
		return Backlog{}, fmt.Errorf("social: backlog: %w", err)
	}
	oldest, err := res[1].AsZScores()
	if err != nil {
		return Backlog{}, fmt.Errorf("social: backlog: %w", err)
	}
	all := Backlog{Waiting: waiting}
	if len(oldest) > 0 {
		all.Stalled = s.opt.Now().Sub(time.Unix(int64(oldest[0].Score), 0))
	}
	return all, nil
}

// JobQueue is the state of a queue of jobs.
type JobQueue struct {
	Queue   string        // "short", "long" or "mail"
	Waiting int64         // jobs that are not finished
	Oldest  time.Duration // how long ago the oldest of them was added
	Stats   jobs.Stats    // what this process has done
}

// Jobs returns the state of the queues of jobs. Six round trips.
func (s *App) Jobs(ctx context.Context) ([]JobQueue, error) {
	queues := s.fanOut.Jobs.Queues()
	all := []JobQueue{{Queue: "short", Stats: queues.Short.Stats()}, {Queue: "long", Stats: queues.Long.Stats()}, {Queue: "mail", Stats: queues.Mail.Stats()}}
	for i, queue := range []*jobs.Queue{queues.Short, queues.Long, queues.Mail} {
		var err error
		if all[i].Waiting, err = queue.LenNow(ctx); err != nil {
			return nil, fmt.Errorf("social: %w", err)
		}
		oldest, err := queue.Oldest(ctx)
		if err != nil {
			return nil, fmt.Errorf("social: %w", err)
		}
		if !oldest.IsZero() {
			all[i].Oldest = max(0, time.Since(oldest))
		}
	}
	return all, nil
}

// DeadJobs returns how many jobs were given up. One round trip.
func (s *App) DeadJobs(ctx context.Context) (int64, error) { return s.fanOut.Jobs.Dead().Len(ctx) }
