package app

import (
	"context"

	"retwis/internal/jobs"
	"retwis/internal/social/users"
)

// Layout returns which layout of its keys the database has.
func (s *App) Layout(ctx context.Context) (users.DirectoryState, error) {
	return s.directory.State(ctx)
}

// ChangeLayout gives a Cluster the latest layout, while the site is in use. progress may be
// nil. See users.Directory.Move.
func (s *App) ChangeLayout(ctx context.Context, progress func(done, total int64)) error {
	return s.directory.Move(ctx, progress)
}

// ListDeadJobs returns the jobs that were given up.
func (s *App) ListDeadJobs(ctx context.Context) ([]jobs.Dead, error) {
	return s.fanOut.Jobs.Dead().All(ctx)
}

// RetryDeadJobs queues each job again that was given up, and removes what names no job.
func (s *App) RetryDeadJobs(ctx context.Context) (queued, removed int, err error) {
	return s.fanOut.Jobs.RetryDead(ctx)
}
