package space

import (
	"context"

	"retwis/index"
	"retwis/maintain"
)

// Verify compares the entries with the reverse index, and with the objects of a source if
// one is given, in steps of 200: see index.Lexical.Verify.
func (x *Index) Verify(ctx context.Context, src *index.Source[[]any], opt maintain.Options) (maintain.Report, error) {
	return x.reader.lex.Verify(ctx, x.source(src), opt)
}

// Repair finds what Verify finds and corrects it. On conflict the object wins, then
// key.content, the reverse index; where that is lost, it is restored from the entries.
// Each entry is compared again in the step that changes it, so that concurrent writes
// stay. A source needs its Lookup.
func (x *Index) Repair(ctx context.Context, src *index.Source[[]any], opt maintain.Options) (maintain.Report, error) {
	return x.reader.lex.Repair(ctx, x.source(src), opt)
}

// Rebuild makes the index anew from a source, next to the old one, which serves until
// the new one replaces it: in one step that has caught up with all that was written
// meanwhile.
func (x *Index) Rebuild(ctx context.Context, src index.Source[[]any], opt maintain.Options) (maintain.Report, error) {
	return x.reader.lex.Rebuild(ctx, *x.source(&src), opt)
}

// Adopt makes an index of a sorted set that has the entries of one, but no declaration
// and no reverse index: see index.Lexical.Adopt.
func (x *Index) Adopt(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	return x.reader.lex.Adopt(ctx, opt)
}

// source returns a source of members.
func (x *Index) source(src *index.Source[[]any]) *index.Source[string] {
	if src == nil {
		return nil
	}
	members := index.Convert(*src, func(id string, values []any) (string, error) {
		m, err := x.reader.points.member(id, values)
		if err != nil {
			err = x.reader.named(err)
		}
		return m.Member, err
	})
	return &members
}
