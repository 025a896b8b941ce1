package posts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"retwis/internal/redis/reply"
	"retwis/internal/social"

	"retwis/internal/social/storage"
)

// Edit replaces the text of a post and keeps the earlier text; see Edits. It returns ErrNotFound,
// ErrNotAuthor for another user's post, or *InvalidError if the text is not allowed or the post was
// edited too often.
func (p *Service) Edit(ctx context.Context, author social.User, id int64, body string) error {
	body, err := p.clean(ctx, Draft{Body: body})
	if err != nil {
		return err
	}
	before, err := p.own(ctx, author, id)
	if err == nil && before.RepostOf != 0 {
		before, err = p.own(ctx, author, before.RepostOf)
	}
	if err != nil {
		return err
	}
	err = p.opt.FanOut.Edit(ctx, before.ID, body)
	p.opt.Views.Touch(before.ID)
	switch {
	case errors.Is(err, ErrNoPost):
		return social.ErrNotFound
	case errors.Is(err, ErrEdits):
		return social.Invalid("status", "You can edit a post up to {n} times. Write a new one instead.", MaxEdits)
	case err != nil:
		return err
	}
	after := before
	after.Body = body
	p.opt.Trends.Posted(author, after)
	p.noticeEdit(ctx, before, body)
	return nil
}

// Edit is an earlier text of a post.
type Edit struct {
	Until time.Time // when the text was replaced
	Body  string
}

// Edits returns the earlier texts of a post, latest first, or none if the post does not exist. One
// round trip.
func (p *Service) Edits(ctx context.Context, id int64) ([]Edit, error) {
	texts, err := reply.OrEmpty(p.opt.DB.Client.Do(ctx, p.opt.DB.Client.B().Lrange().Key(storage.EditsKey(id)).Start(0).Stop(MaxEdits).Build()).AsStrSlice())
	if err != nil {
		return nil, fmt.Errorf("social: read the earlier texts of a post: %w", err)
	}
	edits := make([]Edit, len(texts))
	for i, entry := range texts {
		until, body, _ := strings.Cut(entry, " ")
		edits[i] = Edit{Until: storage.ParseTime(until), Body: body}
	}
	return edits, nil
}

// Delete deletes a post of the author, and its reposts. If the post has replies, its conversation
// shows a stub from now on. Repeating the deletion changes nothing. Delete returns ErrNotFound, or
// ErrNotAuthor for another user's post.
func (p *Service) Delete(ctx context.Context, author social.User, id int64) error {
	s, err := p.opt.FanOut.Deletions.read(ctx, id)
	switch {
	case err != nil:
		return err
	case !s.exists:
		return social.ErrNotFound
	case s.author != author.ID:
		_, err := p.own(ctx, author, id)
		return err
	case s.isDeleted:
		return nil
	}
	err = p.opt.FanOut.Deletions.delete(ctx, s)
	p.opt.Timelines.Removed(id)
	p.opt.Views.Touch(id)
	for _, other := range []int64{s.parent, s.repostOf} {
		if other != 0 {
			p.opt.Views.Touch(other)
		}
	}
	if err == nil && s.repostOf != 0 {
		if original, err := p.stored(ctx, s.repostOf); err == nil {
			p.noticeUnrepost(ctx, author, original, storage.ParseTime(s.time))
		}
	}
	return err
}
