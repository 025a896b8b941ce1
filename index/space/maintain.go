package space

import (
	"context"

	"retwis/index"
	"retwis/maintain"
)

// Verify looks, in steps of 200, for entries that do not agree with what is
// beside them, and with the objects of a source if one is given, while others
// read and write.
func (x *Index) Verify(ctx context.Context, src *index.Source[[]any], up maintain.Options) (maintain.Report, error) {
	return x.lex.Verify(ctx, x.source(src), up)
}

// Repair finds what Verify finds and mends it: what the object says is right,
// then what stands in key.content, the reverse index; where that is lost, it is
// made of the entries. Each entry is looked at again in the step that changes it,
// so that what others write meanwhile stays. A source needs its Lookup.
func (x *Index) Repair(ctx context.Context, src *index.Source[[]any], up maintain.Options) (maintain.Report, error) {
	return x.lex.Repair(ctx, x.source(src), up)
}

// Rebuild makes the index anew from a source, beside the old one, which serves
// until the new one takes its place: in one step that has caught up with all that
// others wrote meanwhile.
func (x *Index) Rebuild(ctx context.Context, src index.Source[[]any], up maintain.Options) (maintain.Report, error) {
	return x.lex.Rebuild(ctx, *x.source(&src), up)
}

// Adopt makes an index of a sorted set that has the entries of one, but neither a
// declaration nor a reverse index: see index.Lexical.Adopt.
func (x *Index) Adopt(ctx context.Context, up maintain.Options) (maintain.Report, error) {
	return x.lex.Adopt(ctx, up)
}

// source is a source of points as one of members.
func (x *Index) source(src *index.Source[[]any]) *index.Source[string] {
	if src == nil {
		return nil
	}
	members := index.Convert(*src, func(id string, values []any) (string, error) {
		m, err := x.member(id, values)
		if err != nil {
			err = x.named(err)
		}
		return m.Member, err
	})
	return &members
}
