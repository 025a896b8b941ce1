package social

import "context"

// The functions of this file are called when a write has succeeded. They are the
// place where notifications begin.

// noticePost: a new post, which may mention people.
func (p *posts) noticePost(ctx context.Context, post Post) {}

// noticeReply: a new reply to a post.
func (p *posts) noticeReply(ctx context.Context, post, parent Post) {}

// noticeEdit: a text was replaced, and may mention other people than before.
func (p *posts) noticeEdit(ctx context.Context, before, after Post) {}

// noticeRepost: a new repost of a post.
func (p *posts) noticeRepost(ctx context.Context, repost, original Post) {}

// noticeUnrepost: a user has ended the repost of a post.
func (p *posts) noticeUnrepost(ctx context.Context, user User, post int64) {}

// noticeFollow: a user follows another one, and did not before.
func (f *follows) noticeFollow(ctx context.Context, from, to User) {}
