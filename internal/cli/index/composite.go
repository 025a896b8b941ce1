package index

import (
	"context"
	"iter"

	"retwis/index"
	"retwis/internal/cli/shell"
)

// composite is an index on several columns.
type composite struct{ *index.Composite }

// Columns implements shell.Entries.
func (c composite) Columns() []shell.Column { return c.columns().Columns() }

// Format implements shell.Entries.
func (c composite) Format(column int, v any) (text string, json any) {
	return c.columns().Format(column, v)
}

func (c composite) columns() columns { return c.Composite.Columns() }

// Parse implements shell.Entries.
func (c composite) Parse(id string, texts []string) ([]any, error) {
	values, err := c.columns().parse(texts)
	if err == nil {
		err = c.Check(id, values...)
	}
	return values, err
}

// PutMany implements shell.Entries.
func (c composite) PutMany(ctx context.Context, entries iter.Seq[shell.Entry]) (int, error) {
	return c.Composite.PutMany(ctx, func(yield func(index.Entry) bool) {
		for e := range entries {
			if !yield(index.Entry{ID: e.ID, Values: e.Values}) {
				return
			}
		}
	})
}

// Get implements shell.Entries.
func (c composite) Get(ctx context.Context, id string) (shell.Entry, error) {
	e, err := c.Composite.Get(ctx, id)
	return shell.Entry{ID: e.ID, Values: e.Values}, err
}

// Select implements shell.Entries.
func (c composite) Select(ctx context.Context, texts []string, page index.Page) iter.Seq2[shell.Entry, error] {
	conditions, err := shell.ParseConditions(texts, c.columns())
	if err != nil {
		return failing(err)
	}
	return func(yield func(shell.Entry, error) bool) {
		for e, err := range c.Composite.Select(ctx, page, wheres(conditions)...) {
			if !yield(shell.Entry{ID: e.ID, Values: e.Values, Cursor: e.Cursor()}, err) {
				return
			}
		}
	}
}

// Count implements shell.Entries.
func (c composite) Count(ctx context.Context, texts []string) (int64, error) {
	conditions, err := shell.ParseConditions(texts, c.columns())
	if err != nil {
		return 0, err
	}
	return c.Composite.Count(ctx, wheres(conditions)...)
}

// Fetch implements shell.Entries.
func (c composite) Fetch(ctx context.Context, entries []shell.Entry, opt index.FetchOptions) ([]index.Fetched, shell.Report, error) {
	all := make([]index.Entry, len(entries))
	for i, e := range entries {
		all[i] = index.Entry{ID: e.ID, Values: e.Values}
	}
	return c.Composite.Fetch(ctx, all, opt)
}

// Verify implements shell.Entries.
func (c composite) Verify(ctx context.Context, src shell.Source, opt shell.Options) (shell.Report, error) {
	return c.compare(ctx, src, opt, c.Composite.Verify)
}

// Repair implements shell.Entries.
func (c composite) Repair(ctx context.Context, src shell.Source, opt shell.Options) (shell.Report, error) {
	return c.compare(ctx, src, opt, c.Composite.Repair)
}

func (c composite) compare(ctx context.Context, src shell.Source, opt shell.Options,
	run func(context.Context, *index.Source[[]any], shell.Options) (shell.Report, error),
) (shell.Report, error) {
	if src.Pattern == "" {
		return run(ctx, nil, opt)
	}
	objects, err := hashes(c.Hashes(src.Pattern))
	if err != nil {
		return shell.Report{}, err
	}
	return run(ctx, &objects, opt)
}

// Rebuild implements shell.Entries.
func (c composite) Rebuild(ctx context.Context, src shell.Source, opt shell.Options) (shell.Report, error) {
	if src.Inputs == nil {
		objects, err := hashes(c.Hashes(src.Pattern))
		if err != nil {
			return shell.Report{}, err
		}
		return c.Composite.Rebuild(ctx, objects, opt)
	}
	return c.Composite.Rebuild(ctx, index.Objects(func(yield func(index.Object[[]any], error) bool) {
		for e, err := range src.Inputs.Entries(c) {
			if !yield(index.Object[[]any]{ID: e.ID, Value: e.Values}, err) {
				return
			}
		}
	}), opt)
}
