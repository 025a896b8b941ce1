package index

import (
	"context"
	"iter"

	"retwis/index"
	"retwis/internal/cli/shell"
)

// composite is an index on several columns.
type composite struct {
	shell.Adapted[index.Entry, []any]
	index *index.Composite
}

func newComposite(x *index.Composite) composite {
	c := composite{index: x}
	c.Adapted = shell.Adapted[index.Entry, []any]{
		Index: x, Reader: c,
		Entry: func(e index.Entry) shell.Entry {
			return shell.Entry{ID: e.ID, Values: e.Values, Cursor: e.Cursor()}
		},
		Own:   func(e shell.Entry) index.Entry { return index.Entry{ID: e.ID, Values: e.Values} },
		Value: func(e shell.Entry) []any { return e.Values },
	}
	return c
}

// Columns implements shell.Entries.
func (c composite) Columns() []shell.Column { return c.columns().Columns() }

// Format implements shell.Entries.
func (c composite) Format(column int, v any) (text string, json any) {
	return c.columns().Format(column, v)
}

func (c composite) columns() columns { return c.index.Columns() }

// Parse implements shell.Entries.
func (c composite) Parse(id string, texts []string) ([]any, error) {
	values, err := c.columns().parse(texts)
	if err == nil {
		err = c.index.Check(id, values...)
	}
	return values, err
}

// Select implements shell.Entries.
func (c composite) Select(ctx context.Context, texts []string, page index.Page) iter.Seq2[shell.Entry, error] {
	conditions, err := shell.ParseConditions(texts, c.columns())
	if err != nil {
		return shell.Failing(err)
	}
	return c.Entries(c.index.Select(ctx, page, conditionsOf(conditions)...))
}

// Count implements shell.Entries.
func (c composite) Count(ctx context.Context, texts []string) (int64, error) {
	conditions, err := shell.ParseConditions(texts, c.columns())
	if err != nil {
		return 0, err
	}
	return c.index.Count(ctx, conditionsOf(conditions)...)
}
