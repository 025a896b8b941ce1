package posts

import (
	"context"
	"slices"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/notify"
	"retwis/internal/social/text"
)

// The functions of this file are called when a write has succeeded, with what was
// new. They begin the notifications.

// noticePost: a new post, which may mention people.
func (p *Service) noticePost(ctx context.Context, post social.Post) {
	if names := text.Mentions(post.Body); len(names) > 0 {
		p.opt.Notices.NotifyMentions(ctx, post.Author, post.ID, names)
	}
}

// noticeReply: a new reply to a post. Its author is notified once, also if the reply
// mentions them.
func (p *Service) noticeReply(ctx context.Context, post, parent social.Post) {
	p.opt.Notices.Notify(ctx, parent.Author.ID, notify.Reply, post.Author, post.ID)
	if names := text.Mentions(post.Body); len(names) > 0 {
		p.opt.Notices.NotifyMentions(ctx, post.Author, post.ID, names, parent.Author.ID)
	}
}

// noticeEdit: a text was replaced. People that no earlier text of the post mentions are notified, and
// those that it mentions no more lose their notification.
func (p *Service) noticeEdit(ctx context.Context, before, after social.Post) {
	old, now := text.Mentions(before.Body), text.Mentions(after.Body)
	without := func(names, others []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
	}
	if gone := without(old, now); len(gone) > 0 {
		p.opt.Notices.UnnotifyMentions(ctx, after.Author, after.ID, gone, after.Time)
	}
	names := without(now, old)
	if len(names) == 0 {
		return
	}
	edits, err := p.Edits(ctx, after.ID)
	if err != nil {
		p.opt.Log.WarnContext(ctx, "a mention could not be notified", "post", after.ID, "error", err)
		return
	}
	for _, edit := range edits {
		names = without(names, text.Mentions(edit.Body))
	}
	if len(names) > 0 {
		p.opt.Notices.NotifyMentions(ctx, after.Author, after.ID, names)
	}
}

// noticeRepost: a new repost of a post.
func (p *Service) noticeRepost(ctx context.Context, repost, original social.Post) {
	p.opt.Notices.Notify(ctx, original.Author.ID, notify.Repost, repost.Author, original.ID)
}

// noticeUnrepost: a user has ended the repost of a post that began at a time.
func (p *Service) noticeUnrepost(ctx context.Context, user social.User, original social.Post, at time.Time) {
	p.opt.Notices.Unnotify(ctx, original.Author.ID, notify.Repost, user, original.ID, at)
}
