package index

import (
	"context"
	"errors"
	"iter"

	"retwis/index"
	"retwis/internal/cli/shell"
)

// numeric is an index on one number.
type numeric[N index.Number] struct{ *index.Numeric[N] }

func (n numeric[N]) columns() columns { return columns{n.Column()} }

// Columns implements shell.Entries.
func (n numeric[N]) Columns() []shell.Column { return n.columns().Columns() }

// Format implements shell.Entries.
func (n numeric[N]) Format(column int, v any) (text string, json any) {
	return n.columns().Format(column, v)
}

// number returns the value of a column as the index has it.
func (n numeric[N]) number(v any) N {
	switch v := v.(type) {
	case int64:
		return N(v)
	case float64:
		return N(v)
	}
	return N(0)
}

// entry returns an entry as the commands have it.
func (n numeric[N]) entry(e index.NumericEntry[N]) shell.Entry {
	if n.Column().Type == index.Int {
		return shell.Entry{ID: e.ID, Values: []any{int64(e.Number)}}
	}
	return shell.Entry{ID: e.ID, Values: []any{float64(e.Number)}}
}

// Parse implements shell.Entries.
func (n numeric[N]) Parse(id string, texts []string) ([]any, error) {
	values, err := n.columns().parse(texts)
	if err == nil {
		err = n.Check(id, n.number(values[0]))
	}
	return values, err
}

// PutMany implements shell.Entries.
func (n numeric[N]) PutMany(ctx context.Context, entries iter.Seq[shell.Entry]) (int, error) {
	return n.Numeric.PutMany(ctx, func(yield func(index.NumericEntry[N]) bool) {
		for e := range entries {
			if !yield(index.NumericEntry[N]{ID: e.ID, Number: n.number(e.Values[0])}) {
				return
			}
		}
	})
}

// Get implements shell.Entries.
func (n numeric[N]) Get(ctx context.Context, id string) (shell.Entry, error) {
	e, err := n.Numeric.Get(ctx, id)
	return n.entry(e), err
}

// Select implements shell.Entries.
func (n numeric[N]) Select(ctx context.Context, texts []string, page index.Page) iter.Seq2[shell.Entry, error] {
	conditions, err := shell.ParseConditions(texts, n.columns())
	if err != nil {
		return failing(err)
	}
	return func(yield func(shell.Entry, error) bool) {
		for e, err := range n.Numeric.Select(ctx, page, wheres(conditions)...) {
			entry := n.entry(e)
			entry.Cursor = e.Cursor()
			if !yield(entry, err) {
				return
			}
		}
	}
}

// Count implements shell.Entries.
func (n numeric[N]) Count(ctx context.Context, texts []string) (int64, error) {
	conditions, err := shell.ParseConditions(texts, n.columns())
	if err != nil {
		return 0, err
	}
	return n.Numeric.Count(ctx, wheres(conditions)...)
}

// Fetch implements shell.Entries.
func (n numeric[N]) Fetch(ctx context.Context, entries []shell.Entry, opt index.FetchOptions) ([]index.Fetched, shell.Report, error) {
	all := make([]index.NumericEntry[N], len(entries))
	for i, e := range entries {
		all[i] = index.NumericEntry[N]{ID: e.ID, Number: n.number(e.Values[0])}
	}
	return n.Numeric.Fetch(ctx, all, opt)
}

// Verify implements shell.Entries.
func (n numeric[N]) Verify(ctx context.Context, src shell.Source, opt shell.Options) (shell.Report, error) {
	return n.compare(ctx, src, opt, n.Numeric.Verify)
}

// Repair implements shell.Entries.
func (n numeric[N]) Repair(ctx context.Context, src shell.Source, opt shell.Options) (shell.Report, error) {
	return n.compare(ctx, src, opt, n.Numeric.Repair)
}

func (n numeric[N]) compare(ctx context.Context, src shell.Source, opt shell.Options,
	run func(context.Context, *index.Source[N], shell.Options) (shell.Report, error),
) (shell.Report, error) {
	if src.Pattern == "" {
		return shell.Report{}, shell.Usage(errors.New("a numeric index stores nothing to compare its entries with: name its objects with --from, as in --from 'user:*'"))
	}
	objects, err := hashes(n.Hashes(src.Pattern))
	if err != nil {
		return shell.Report{}, err
	}
	return run(ctx, &objects, opt)
}

// Rebuild implements shell.Entries.
func (n numeric[N]) Rebuild(ctx context.Context, src shell.Source, opt shell.Options) (shell.Report, error) {
	if src.Inputs == nil {
		objects, err := hashes(n.Hashes(src.Pattern))
		if err != nil {
			return shell.Report{}, err
		}
		return n.Numeric.Rebuild(ctx, objects, opt)
	}
	return n.Numeric.Rebuild(ctx, index.Objects(func(yield func(index.Object[N], error) bool) {
		for e, err := range src.Inputs.Entries(n) {
			o := index.Object[N]{ID: e.ID}
			if err == nil {
				o.Value = n.number(e.Values[0])
			}
			if !yield(o, err) {
				return
			}
		}
	}), opt)
}
