package index

import (
	"context"
	"errors"
	"iter"

	"retwis/index"
	"retwis/internal/cli/shell"
)

// numeric is an index on one number.
type numeric[N index.Number] struct {
	shell.Adapted[index.NumericEntry[N], N]
	index *index.Numeric[N]
}

func newNumeric[N index.Number](x *index.Numeric[N]) numeric[N] {
	n := numeric[N]{index: x}
	n.Adapted = shell.Adapted[index.NumericEntry[N], N]{
		Index: x, Reader: n, Entry: n.entry, Value: n.number,
		Own:         func(e shell.Entry) index.NumericEntry[N] { return index.NumericEntry[N]{ID: e.ID, Number: n.number(e)} },
		NeedsSource: errors.New("a numeric index stores nothing to compare its entries with: name its objects with --from, as in --from 'user:*'"),
	}
	return n
}

func (n numeric[N]) columns() columns { return columns{n.index.Column()} }

// Columns implements shell.Entries.
func (n numeric[N]) Columns() []shell.Column { return n.columns().Columns() }

// Format implements shell.Entries.
func (n numeric[N]) Format(column int, v any) (text string, json any) {
	return n.columns().Format(column, v)
}

// number converts the value of an entry to the type of the index.
func (n numeric[N]) number(e shell.Entry) N {
	switch v := e.Values[0].(type) {
	case int64:
		return N(v)
	case float64:
		return N(v)
	}
	return N(0)
}

// entry converts an entry of the index.
func (n numeric[N]) entry(e index.NumericEntry[N]) shell.Entry {
	var value any = float64(e.Number)
	if n.index.Column().Type == index.Int {
		value = int64(e.Number)
	}
	return shell.Entry{ID: e.ID, Values: []any{value}, Cursor: e.Cursor()}
}

// Parse implements shell.Entries.
func (n numeric[N]) Parse(id string, texts []string) ([]any, error) {
	values, err := n.columns().parse(texts)
	if err == nil {
		err = n.index.Check(id, n.number(shell.Entry{Values: values}))
	}
	return values, err
}

// Select implements shell.Entries.
func (n numeric[N]) Select(ctx context.Context, texts []string, page index.Page) iter.Seq2[shell.Entry, error] {
	conditions, err := shell.ParseConditions(texts, n.columns())
	if err != nil {
		return shell.Failing(err)
	}
	return n.Entries(n.index.Select(ctx, page, conditionsOf(conditions)...))
}

// Count implements shell.Entries.
func (n numeric[N]) Count(ctx context.Context, texts []string) (int64, error) {
	conditions, err := shell.ParseConditions(texts, n.columns())
	if err != nil {
		return 0, err
	}
	return n.index.Count(ctx, conditionsOf(conditions)...)
}
