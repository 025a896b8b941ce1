package social

import (
	"context"
	"time"
)

// Notify is what an action calls after it.
func (s *Service) Notify(ctx context.Context, to int64, kind NotificationKind, actor User, post int64) {
	s.notify(ctx, to, kind, actor, post)
}

// Unnotify is what an action calls that undoes another.
func (s *Service) Unnotify(ctx context.Context, to int64, kind NotificationKind, actor User, post int64, at time.Time) {
	s.unnotify(ctx, to, kind, actor, post, at)
}

// NotifyMentions is what a post calls that mentions these names.
func (s *Service) NotifyMentions(ctx context.Context, actor User, post int64, names []string, except ...int64) {
	s.notifyMentions(ctx, actor, post, names, except...)
}
