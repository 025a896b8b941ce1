package posts

import (
	"context"
	_ "embed"
	"fmt"

	"retwis/internal/redis/script"
	"retwis/internal/social/storage"
)

var (
	//go:embed erase_post.lua
	erasePostSource string
	erasePostScript = script.New(erasePostSource).Retryable()
)

// Erase deletes a post to its end, as Delete does, and then its stub: what stays where
// replies need it has no author. It can be repeated. A post of another author, or one
// that does not exist, is no error.
//
// A post that is on its way to timelines keeps its stub, and done is false: the process
// that puts it there must see that it is deleted. Call it again when the fan-out is finished.
func (d *Deletions) Erase(ctx context.Context, post, author int64) (done bool, err error) {
	s, err := d.read(ctx, post)
	if err != nil || !s.exists || s.author != author {
		return err == nil, err
	}
	// Before the deletion: a fan-out that is finished by then is followed by it.
	writing, err := isClaimed(ctx, d.client, s)
	if err != nil {
		return false, fmt.Errorf("social: erase post %d: %w", post, err)
	}
	if err := d.eraseFrom(ctx, s); err != nil {
		return false, fmt.Errorf("social: erase post %d: %w", post, err)
	}
	if writing {
		return false, nil
	}
	err = erasePostScript.RunFenced(ctx, d.client,
		[]string{storage.PostKey(post), storage.RepliesKey(post), storage.StubsKey(post)}, []string{storage.Itoa(author)}).Error()
	if err != nil {
		return false, fmt.Errorf("social: erase post %d: %w", post, err)
	}
	return true, nil
}

// eraseFrom removes the text of a post, and its place on every list. It leaves those of
// its author last: as long as they have the post, a deletion that was cut short is
// repeated.
func (d *Deletions) eraseFrom(ctx context.Context, s stub) error {
	s, err := d.makeStub(ctx, s)
	if err == nil {
		err = d.clear(ctx, s)
	}
	if err == nil {
		err = d.detach(ctx, s)
	}
	if err == nil {
		err = d.removeOwn(ctx, s)
	}
	return err
}
