package index

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"retwis/index"
	"retwis/internal/cli/shell"
	"retwis/maintain"
)

// ordered is an index over columns, be it a Composite or a Numeric.
type ordered interface {
	Columns() []index.Column
	Len(ctx context.Context) (int64, error)
	Adopt(ctx context.Context, up maintain.Options) (maintain.Report, error)
	check(id string, values []any) error
	putMany(ctx context.Context, entries iter.Seq[index.Entry]) (int, error)
	Remove(ctx context.Context, ids ...string) (int, error)
	get(ctx context.Context, id string) (index.Entry, error)
	query(ctx context.Context, page index.Page, conditions []condition) iter.Seq2[found, error]
	count(ctx context.Context, conditions []condition) (int64, error)
	upkeep(ctx context.Context, pattern string, up maintain.Options, repair bool) (maintain.Report, error)
	rebuild(ctx context.Context, entries iter.Seq2[index.Entry, error], up maintain.Options) error
	rebuildFrom(ctx context.Context, pattern string, up maintain.Options) (maintain.Report, error)
}

// found is an entry that a query found.
type found struct {
	index.Entry
	cursor string
}

type composite struct{ *index.Composite }

func (c composite) check(id string, values []any) error { return c.Check(id, values...) }

func (c composite) putMany(ctx context.Context, entries iter.Seq[index.Entry]) (int, error) {
	return c.PutMany(ctx, entries)
}

func (c composite) get(ctx context.Context, id string) (index.Entry, error) { return c.Get(ctx, id) }

func (c composite) query(ctx context.Context, page index.Page, conditions []condition) iter.Seq2[found, error] {
	return func(yield func(found, error) bool) {
		for e, err := range c.Select(ctx, page, wheres(conditions)...) {
			if !yield(found{e, e.Cursor()}, err) {
				return
			}
		}
	}
}

func (c composite) count(ctx context.Context, conditions []condition) (int64, error) {
	return c.Count(ctx, wheres(conditions)...)
}

// wheres are conditions as a Composite takes them.
func wheres(conditions []condition) []index.Condition {
	var all []index.Condition
	for _, c := range conditions {
		all = append(all, c.where())
	}
	return all
}

func (c composite) upkeep(ctx context.Context, pattern string, up maintain.Options, repair bool) (maintain.Report, error) {
	var src *index.Source[[]any]
	if pattern != "" {
		hashes, err := c.Hashes(pattern)
		if err != nil {
			return maintain.Report{}, shell.Usage(errors.New(shell.OneLine(err)))
		}
		src = &hashes
	}
	if repair {
		return c.Repair(ctx, src, up)
	}
	return c.Verify(ctx, src, up)
}

func (c composite) rebuild(ctx context.Context, entries iter.Seq2[index.Entry, error], up maintain.Options) error {
	_, err := c.Rebuild(ctx, index.Objects(func(yield func(index.Object[[]any], error) bool) {
		for e, err := range entries {
			if !yield(index.Object[[]any]{ID: e.ID, Value: e.Values}, err) {
				return
			}
		}
	}), up)
	return err
}

func (c composite) rebuildFrom(ctx context.Context, pattern string, up maintain.Options) (maintain.Report, error) {
	src, err := c.Hashes(pattern)
	if err != nil {
		return maintain.Report{}, shell.Usage(errors.New(shell.OneLine(err)))
	}
	return c.Rebuild(ctx, src, up)
}

type numeric[N index.Number] struct{ *index.Numeric[N] }

func (n numeric[N]) Columns() []index.Column { return []index.Column{n.Column()} }

// number is the value of an entry.
func (n numeric[N]) number(v any) N {
	switch v := v.(type) {
	case int64:
		return N(v)
	case float64:
		return N(v)
	}
	return N(0)
}

func (n numeric[N]) check(id string, values []any) error { return n.Check(id, n.number(values[0])) }

func (n numeric[N]) putMany(ctx context.Context, entries iter.Seq[index.Entry]) (int, error) {
	return n.PutMany(ctx, func(yield func(index.NumericEntry[N]) bool) {
		for e := range entries {
			if !yield(index.NumericEntry[N]{ID: e.ID, Number: n.number(e.Values[0])}) {
				return
			}
		}
	})
}

// entry is what others have as an entry.
func (n numeric[N]) entry(e index.NumericEntry[N]) index.Entry {
	if n.Column().Type == index.Int {
		return index.Entry{ID: e.ID, Values: []any{int64(e.Number)}}
	}
	return index.Entry{ID: e.ID, Values: []any{float64(e.Number)}}
}

func (n numeric[N]) get(ctx context.Context, id string) (index.Entry, error) {
	e, err := n.Get(ctx, id)
	return n.entry(e), err
}

func (n numeric[N]) query(ctx context.Context, page index.Page, conditions []condition) iter.Seq2[found, error] {
	return func(yield func(found, error) bool) {
		for e, err := range n.Select(ctx, page, wheres(conditions)...) {
			if !yield(found{n.entry(e), e.Cursor()}, err) {
				return
			}
		}
	}
}

func (n numeric[N]) count(ctx context.Context, conditions []condition) (int64, error) {
	return n.Count(ctx, wheres(conditions)...)
}

// source returns the hashes of a pattern as a source.
func (n numeric[N]) source(pattern string) (index.Source[N], error) {
	src, err := n.Hashes(pattern)
	if err != nil {
		err = shell.Usage(errors.New(shell.OneLine(err)))
	}
	return src, err
}

func (n numeric[N]) upkeep(ctx context.Context, pattern string, up maintain.Options, repair bool) (maintain.Report, error) {
	if pattern == "" {
		return maintain.Report{}, shell.Usage(fmt.Errorf("a numeric index has nothing beside it to compare with: name its objects with --from, as in --from 'user:*'"))
	}
	src, err := n.source(pattern)
	if err != nil {
		return maintain.Report{}, err
	}
	if repair {
		return n.Repair(ctx, &src, up)
	}
	return n.Verify(ctx, &src, up)
}

func (n numeric[N]) rebuild(ctx context.Context, entries iter.Seq2[index.Entry, error], up maintain.Options) error {
	_, err := n.Rebuild(ctx, index.Objects(func(yield func(index.Object[N], error) bool) {
		for e, err := range entries {
			o := index.Object[N]{ID: e.ID}
			if err == nil {
				o.Value = n.number(e.Values[0])
			}
			if !yield(o, err) {
				return
			}
		}
	}), up)
	return err
}

func (n numeric[N]) rebuildFrom(ctx context.Context, pattern string, up maintain.Options) (maintain.Report, error) {
	src, err := n.source(pattern)
	if err != nil {
		return maintain.Report{}, err
	}
	return n.Rebuild(ctx, src, up)
}
