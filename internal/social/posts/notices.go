package posts

import (
	"context"
	"slices"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/notify"
	"retwis/internal/social/storage"
	"retwis/internal/social/text"
)

// clusterSkew is the maximum clock difference between servers. If the difference is larger, a form
// that is sent twice at once may notify twice.
const clusterSkew = 100 * time.Millisecond

// notify notifies the users to whom a new post replies, whom it mentions, or whose post it reposts.
// The author of the parent is notified once, even if the text also mentions the author. notify is
// part of the fan-out and can be repeated.
func (e *Engine) notify(ctx context.Context, job *Job) {
	if e.notices == nil {
		return
	}
	since := job.written.Add(-clusterSkew)
	if job.written.IsZero() { // an earlier call may have notified the users
		since = storage.ParseTime(job.postTime()).Add(-notify.Skew)
	}
	switch {
	case job.Parent != 0:
		e.notices.Notify(ctx, job.To, notify.Reply, job.Author, job.post, since)
	case job.RepostOf != 0:
		e.notices.Notify(ctx, job.To, notify.Repost, job.Author, job.RepostOf, since)
	}
	if names := text.Mentions(job.searched().Body); len(names) > 0 {
		e.notices.NotifyMentions(ctx, job.Author, job.post, names, since, job.To)
	}
}

// noticeEdit updates notifications after an edit. It notifies users whom no earlier text mentioned,
// and removes the notifications of users who are no longer mentioned.
func (p *Service) noticeEdit(ctx context.Context, before social.Post, body string) {
	oldNames, newNames := text.Mentions(before.Body), text.Mentions(body)
	without := func(names, others []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
	}
	if removed := without(oldNames, newNames); len(removed) > 0 {
		p.opt.Notices.UnnotifyMentions(ctx, before.Author.ID, before.ID, removed, before.Time)
	}
	names := without(newNames, oldNames)
	if len(names) == 0 {
		return
	}
	edits, err := p.Edits(ctx, before.ID)
	if err != nil {
		p.opt.Log.WarnContext(ctx, "cannot notify a mentioned user", "post", before.ID, "error", err)
		return
	}
	for _, edit := range edits {
		names = without(names, text.Mentions(edit.Body))
	}
	if len(names) > 0 {
		p.opt.Notices.NotifyMentions(ctx, before.Author.ID, before.ID, names, time.Time{})
	}
}

// noticeUnrepost removes the notification of a repost that a user has deleted. at is the time of
// the repost.
func (p *Service) noticeUnrepost(ctx context.Context, user social.User, original social.Post, at time.Time) {
	p.opt.Notices.Unnotify(ctx, original.Author.ID, notify.Repost, user.ID, original.ID, at)
}
