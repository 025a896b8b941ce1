package app

import (
	"context"
	"time"

	"retwis/internal/social/work"
)

// Backlog describes the unfinished background work.
type Backlog struct {
	Waiting int64 // number of tasks
	// Stalled is how long the start or the lease renewal of the most overdue task is overdue.
	Stalled time.Duration
}

// Backlog returns the unfinished work. It takes one round trip.
func (s *App) Backlog(ctx context.Context) (Backlog, error) {
	states, err := s.fanOut.Tasks().States(ctx)
	var total Backlog
	for _, state := range states {
		total.Waiting += state.Unfinished
		total.Stalled = max(total.Stalled, state.Overdue)
	}
	return total, err
}

// TaskQueue is the queue of a class of tasks: "short", "long" or "mail".
type TaskQueue struct {
	Queue string
	work.State
}

// Jobs returns the queues by class. It takes one round trip.
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

// DeadJobs returns the number of dead jobs. It takes one round trip.
func (s *App) DeadJobs(ctx context.Context) (int64, error) { return work.Letters(ctx, s.db.Client) }
