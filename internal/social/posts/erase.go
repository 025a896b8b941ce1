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

// Erase deletes a post completely: first as Delete does, then its stub. If the post has replies,
// the stub remains, without an author. Erase can be repeated. It is no error if the post belongs to
// another author or does not exist.
//
// A post that is still being fanned out keeps its stub, and done is false, because the process that
// fans the post out must see that the post is deleted. Call Erase again when the fan-out has
// finished.
func (d *Deletions) Erase(ctx context.Context, post, author int64) (done bool, err error) {
	s, err := d.read(ctx, post)
	if err != nil || !s.exists || s.author != author {
		return err == nil, err
	}
	// Check before the deletion: if the fan-out has finished by now, it cannot undo the deletion.
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

// eraseFrom removes the text of a post and its entry in every list. The author's lists come last,
// because an interrupted deletion is repeated as long as they contain the post.
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
