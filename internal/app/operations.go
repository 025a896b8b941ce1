package app

import (
	"context"

	"retwis/internal/social/work"
)

// ListDeadJobs returns the jobs that were given up.
func (s *App) ListDeadJobs(ctx context.Context) ([]work.Letter, error) {
	return s.fanOut.Tasks().Letters(ctx)
}

// RetryDeadJobs queues each job again that was given up, and removes what names no job.
func (s *App) RetryDeadJobs(ctx context.Context) (queued, removed int, err error) {
	return s.fanOut.Tasks().RetryLetters(ctx)
}
