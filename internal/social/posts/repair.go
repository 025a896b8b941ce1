package posts

import "context"

// Place adds the stub of a deleted reply to its conversation if the stub has replies, and otherwise
// removes the stub from the conversation, together with the stubs above it. Repairs call Place,
// which can be repeated.
func (d *Deletions) Place(ctx context.Context, post int64) error {
	s, err := d.writer.readStub(ctx, post)
	if err != nil || !s.isDeleted || s.parent == 0 {
		return err
	}
	hasReplies, err := d.writer.hasReplies(ctx, post)
	if err != nil {
		return err
	}
	if hasReplies {
		return d.writer.keepStub(ctx, post)
	}
	return d.writer.removeStub(ctx, s)
}
