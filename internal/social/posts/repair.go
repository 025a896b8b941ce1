package posts

import "context"

// Place puts the stub of a deleted reply where it belongs: in its conversation if it has replies,
// otherwise out of it, together with the stubs above it. Repairs use it; repeating it changes
// nothing.
func (d *Deletions) Place(ctx context.Context, post int64) error {
	s, err := d.writer.readStub(ctx, post)
	if err != nil || !s.isDeleted || s.parent == 0 {
		return err
	}
	has, err := d.writer.hasReplies(ctx, post)
	if err != nil {
		return err
	}
	if has {
		return d.writer.keepStub(ctx, post)
	}
	return d.writer.removeStub(ctx, s)
}
