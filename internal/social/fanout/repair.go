package fanout

import "context"

// Place puts the stub of a deleted reply where it belongs: into its conversation if it
// has replies, else out of it, with the stubs above it. It is for repairs; repeating
// it changes nothing.
func (e *Engine) Place(ctx context.Context, post int64) error {
	s, err := e.writer.readStub(ctx, post)
	if err != nil || !s.isDeleted || s.parent == 0 {
		return err
	}
	has, err := e.writer.hasReplies(ctx, post)
	if err != nil {
		return err
	}
	if has {
		return e.writer.keepStub(ctx, post)
	}
	return e.writer.removeStub(ctx, s)
}
