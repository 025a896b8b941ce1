package space

import (
	"context"

	"retwis/index"
	"retwis/index/internal/entries"
	"retwis/maintain"
)

// Verify compares the entries with the reverse index and, unless src is nil, with the
// objects of src, in steps of 200, like index.Composite.Verify.
func (x *Index) Verify(ctx context.Context, src *index.Source[[]any], opt maintain.Options) (maintain.Report, error) {
	return x.reader.entries.Verify(ctx, x.source(src), opt)
}

// Repair corrects what Verify reports. Objects win over the reverse index key.content, which
// wins over the entries. A lost reverse index is restored from the entries. Each entry is
// compared again in the step that changes it, so that concurrent writes are kept. src needs a
// Lookup.
func (x *Index) Repair(ctx context.Context, src *index.Source[[]any], opt maintain.Options) (maintain.Report, error) {
	return x.reader.entries.Repair(ctx, x.source(src), opt)
}

// Rebuild builds a new index from a source while the old index serves queries. Once the new
// index has caught up with all concurrent writes, it replaces the old index: see
// index.Composite.Rebuild.
func (x *Index) Rebuild(ctx context.Context, src index.Source[[]any], opt maintain.Options) (maintain.Report, error) {
	return x.reader.entries.Rebuild(ctx, x.source(&src), opt)
}

// Adopt turns a sorted set with entries in this encoding, but without a declaration and reverse
// index, into an index: see index.Composite.Adopt.
func (x *Index) Adopt(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	return x.reader.entries.Adopt(ctx, opt)
}

// source converts a source of values to a source of members.
func (x *Index) source(src *index.Source[[]any]) *entries.Source {
	if src == nil {
		return nil
	}
	return entries.From(src.All, src.Lookup, func(id string, values []any) (string, error) {
		m, err := x.reader.points.member(id, values)
		return m, x.reader.entries.Wrap(context.Background(), err)
	})
}
