package space

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"retwis/index"
	"retwis/index/space"
	"retwis/internal/cli/shell"
)

// points is an index of points.
type points struct {
	shell.Adapted[space.Entry, []any]
	index *space.Index
}

func newPoints(x *space.Index) points {
	p := points{index: x}
	p.Adapted = shell.Adapted[space.Entry, []any]{
		Index: x, Reader: p,
		Entry: func(e space.Entry) shell.Entry {
			return shell.Entry{ID: e.ID, Values: e.Values, Cursor: e.Cursor()}
		},
		Own:   func(e shell.Entry) space.Entry { return space.Entry{ID: e.ID, Values: e.Values} },
		Value: func(e shell.Entry) []any { return e.Values },
	}
	return p
}

// names returns the names of the dimensions.
func (p points) names() []string {
	var names []string
	for _, d := range p.index.Dims() {
		names = append(names, d.Name)
	}
	return names
}

// isGeo reports whether the points are geographic coordinates.
func (p points) isGeo() bool { return fmt.Sprint(p.index.Dims()) == fmt.Sprint(space.GeoDims()) }

// Columns implements shell.Entries.
func (p points) Columns() []shell.Column {
	var all []shell.Column
	for _, name := range p.names() {
		all = append(all, shell.Column{Name: name, Right: true})
	}
	return all
}

// Format implements shell.Entries.
func (p points) Format(_ int, v any) (text string, json any) {
	switch v := v.(type) {
	case time.Time:
		return v.Format(time.RFC3339Nano), v
	}
	return fmt.Sprint(v), v
}

// Parse implements shell.Entries.
func (p points) Parse(id string, texts []string) ([]any, error) {
	values := make([]any, len(texts))
	for i, text := range texts {
		values[i] = strings.TrimSpace(text)
	}
	if err := p.index.Check(id, values...); err != nil {
		return nil, errors.New(strings.TrimPrefix(shell.OneLine(err), p.index.Key()+": "))
	}
	return values, nil
}

// Select implements shell.Entries.
func (p points) Select(ctx context.Context, conditions []string, page index.Page) iter.Seq2[shell.Entry, error] {
	box, err := p.box(conditions)
	if err != nil {
		return shell.Failing(err)
	}
	return p.Entries(p.index.Select(ctx, box, page))
}

// Count implements shell.Entries.
func (p points) Count(ctx context.Context, conditions []string) (int64, error) {
	box, err := p.box(conditions)
	if err != nil {
		return 0, err
	}
	return p.index.Count(ctx, box)
}

// conditions parses conditions such as x=50..100. For each dimension it returns the text after the
// equals sign, or "" without a condition.
func (p points) conditions(texts []string) ([]string, error) {
	names := p.names()
	values := make([]string, len(names))
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		i := slices.Index(names, name)
		switch {
		case !ok || value == "":
			return nil, shell.Usage(fmt.Errorf("%q is not a condition: write %s=VALUE, or %s=LOW..HIGH for a range", text, names[0], names[0]))
		case i < 0:
			return nil, shell.Usage(fmt.Errorf("%q: there is no dimension %q: the index has %s", text, name, strings.Join(names, ", ")))
		case values[i] != "":
			return nil, shell.Usage(fmt.Errorf("there are two conditions on %s: use one for each dimension", name))
		}
		values[i] = value
	}
	return values, nil
}

// box parses a box from conditions such as x=50..100. A dimension without a condition is unbounded.
func (p points) box(conditions []string) (space.Box, error) {
	sides, err := p.conditions(conditions)
	if err != nil {
		return nil, err
	}
	box := make(space.Box, len(sides))
	for i, text := range sides {
		low, high, isRange := strings.Cut(text, "..")
		if !isRange {
			high = low
		}
		if low != "" {
			box[i].Min = low
		}
		if high != "" {
			box[i].Max = high
		}
	}
	return box, nil
}

// point parses a point from conditions such as x=75, one for each dimension.
func (p points) point(conditions []string) ([]any, error) {
	texts, err := p.conditions(conditions)
	if err != nil {
		return nil, err
	}
	point := make([]any, len(texts))
	for i, text := range texts {
		if text == "" {
			return nil, shell.Usage(fmt.Errorf("%s is missing: give a value for each dimension", p.names()[i]))
		}
		point[i] = text
	}
	return point, nil
}
