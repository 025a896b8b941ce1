package space

import (
	"context"

	"retwis/index"
	"retwis/index/internal/entries"
	"retwis/maintain"
)

// Verify compares the entries with the reverse index, and with the objects of a source if
// one is given, in steps of 200, like index.Composite.Verify.
func (x *Index) Verify(ctx context.Context, src *index.Source[[]any], opt maintain.Options) (maintain.Report, error) {
	return x.reader.entries.Verify(ctx, x.source(src), opt)
}

// Repair finds what Verify finds and corrects it. On conflict the object wins, then
// key.content, the reverse index; where that is lost, it is restored from the entries.
// Each entry is compared again in the step that changes it, so that concurrent writes
// stay. A source needs its Lookup.
func (x *Index) Repair(ctx context.Context, src *index.Source[[]any], opt maintain.Options) (maintain.Report, error) {
	return x.reader.entries.Repair(ctx, x.source(src), opt)
}

// Rebuild makes the index anew from a source, next to the old one, which serves until
// the new one replaces it: in one step that has caught up with all that was written
// meanwhile.
func (x *Index) Rebuild(ctx context.Context, src index.Source[[]any], opt maintain.Options) (maintain.Report, error) {
	return x.reader.entries.Rebuild(ctx, x.source(&src), opt)
}

// Adopt makes an index of a sorted set that has the entries of one, but no declaration
// and no reverse index: see index.Composite.Adopt.
func (x *Index) Adopt(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	return x.reader.entries.Adopt(ctx, opt)
}

// source returns a source of members.
func (x *Index) source(src *index.Source[[]any]) *entries.Source {
	if src == nil {
		return nil
	}
	return entries.From(src.All, src.Lookup, func(id string, values []any) (string, error) {
		m, err := x.reader.points.member(id, values)
		return m, x.reader.entries.Wrap(context.Background(), err)
	})
}
