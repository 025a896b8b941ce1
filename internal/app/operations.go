package app

import (
	"context"

	"retwis/internal/jobs"
)

// ListDeadJobs returns the jobs that were given up.
func (s *App) ListDeadJobs(ctx context.Context) ([]jobs.Dead, error) {
	return s.fanOut.Jobs.Dead().All(ctx)
}

// RetryDeadJobs queues each job again that was given up, and removes what names no job.
func (s *App) RetryDeadJobs(ctx context.Context) (queued, removed int, err error) {
	return s.fanOut.Jobs.RetryDead(ctx)
}
