package app

import (
	"context"
	"time"

	"retwis/internal/social/work"
)

// Backlog is the background work that is not finished.
type Backlog struct {
	Waiting int64 // tasks
	// Stalled is how long ago a process should have begun the task that is most late, or renewed
	// its lease.
	Stalled time.Duration
}

// Backlog returns the work that is not finished. One round trip.
func (s *App) Backlog(ctx context.Context) (Backlog, error) {
	states, err := s.fanOut.Tasks().States(ctx)
	var all Backlog
	for _, state := range states {
		all.Waiting += state.Unfinished
		all.Stalled = max(all.Stalled, state.Overdue)
	}
	return all, err
}

// TaskQueue is what waits of a class of tasks: "short", "long" or "mail".
type TaskQueue struct {
	Queue string
	work.State
}

// Jobs returns what waits, by class. One round trip.
func (s *App) Jobs(ctx context.Context) ([]TaskQueue, error) {
	states, err := s.fanOut.Tasks().States(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]TaskQueue, len(states))
	for class, state := range states {
		all[class] = TaskQueue{work.Class(class).String(), state}
	}
	return all, nil
}

// DeadJobs returns how many jobs were given up. One round trip.
func (s *App) DeadJobs(ctx context.Context) (int64, error) { return work.Letters(ctx, s.db.Client) }
