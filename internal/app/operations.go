package app

import (
	"context"

	"retwis/internal/social/work"
)

// ListDeadJobs returns the dead jobs.
func (s *App) ListDeadJobs(ctx context.Context) ([]work.Letter, error) {
	return s.fanOut.Tasks().Letters(ctx)
}

// RetryDeadJobs queues each dead job again and removes entries that name no job.
func (s *App) RetryDeadJobs(ctx context.Context) (queued, removed int, err error) {
	return s.fanOut.Tasks().RetryLetters(ctx)
}
