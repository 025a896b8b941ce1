package space

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"retwis/index"
	"retwis/index/space"
	"retwis/internal/cli/shell"
)

// points is an index of points.
type points struct{ index *space.Index }

// names returns the names of the dimensions.
func (p points) names() []string {
	var names []string
	for _, d := range p.index.Dims() {
		names = append(names, d.Name)
	}
	return names
}

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
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), v
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

// PutMany implements shell.Entries.
func (p points) PutMany(ctx context.Context, entries iter.Seq[shell.Entry]) (int, error) {
	return p.index.PutMany(ctx, func(yield func(space.Entry) bool) {
		for e := range entries {
			if !yield(space.Entry{ID: e.ID, Values: e.Values}) {
				return
			}
		}
	})
}

// Get implements shell.Entries.
func (p points) Get(ctx context.Context, id string) (shell.Entry, error) {
	e, err := p.index.Get(ctx, id)
	return shell.Entry{ID: e.ID, Values: e.Values}, err
}

// Remove implements shell.Entries.
func (p points) Remove(ctx context.Context, ids ...string) (int, error) {
	return p.index.Remove(ctx, ids...)
}

// Select implements shell.Entries.
func (p points) Select(ctx context.Context, conditions []string, page index.Page) iter.Seq2[shell.Entry, error] {
	return func(yield func(shell.Entry, error) bool) {
		box, err := p.box(conditions)
		if err != nil {
			yield(shell.Entry{}, err)
			return
		}
		for e, err := range p.index.Select(ctx, box, page) {
			if !yield(shell.Entry{ID: e.ID, Values: e.Values, Cursor: e.Cursor()}, err) {
				return
			}
		}
	}
}

// Count implements shell.Entries.
func (p points) Count(ctx context.Context, conditions []string) (int64, error) {
	box, err := p.box(conditions)
	if err != nil {
		return 0, err
	}
	return p.index.Count(ctx, box)
}

// Fetch implements shell.Entries.
func (p points) Fetch(ctx context.Context, entries []shell.Entry, opt index.FetchOptions) ([]index.Fetched, shell.Report, error) {
	all := make([]space.Entry, len(entries))
	for i, e := range entries {
		all[i] = space.Entry{ID: e.ID, Values: e.Values}
	}
	return p.index.Fetch(ctx, all, opt)
}

// Verify implements shell.Entries.
func (p points) Verify(ctx context.Context, src shell.Source, opt shell.Options) (shell.Report, error) {
	return p.compare(ctx, src, opt, p.index.Verify)
}

// Repair implements shell.Entries.
func (p points) Repair(ctx context.Context, src shell.Source, opt shell.Options) (shell.Report, error) {
	return p.compare(ctx, src, opt, p.index.Repair)
}

func (p points) compare(ctx context.Context, src shell.Source, opt shell.Options,
	run func(context.Context, *index.Source[[]any], shell.Options) (shell.Report, error),
) (shell.Report, error) {
	if src.Pattern == "" {
		return run(ctx, nil, opt)
	}
	objects, err := p.objects(src.Pattern)
	if err != nil {
		return shell.Report{}, err
	}
	return run(ctx, &objects, opt)
}

// Adopt implements shell.Entries.
func (p points) Adopt(ctx context.Context, opt shell.Options) (shell.Report, error) {
	return p.index.Adopt(ctx, opt)
}

// Rebuild implements shell.Entries.
func (p points) Rebuild(ctx context.Context, src shell.Source, opt shell.Options) (shell.Report, error) {
	if src.Inputs == nil {
		objects, err := p.objects(src.Pattern)
		if err != nil {
			return shell.Report{}, err
		}
		return p.index.Rebuild(ctx, objects, opt)
	}
	return p.index.Rebuild(ctx, index.Objects(func(yield func(index.Object[[]any], error) bool) {
		for e, err := range src.Inputs.Entries(p) {
			if !yield(index.Object[[]any]{ID: e.ID, Value: e.Values}, err) {
				return
			}
		}
	}), opt)
}

// objects returns the hashes of the pattern of --from.
func (p points) objects(pattern string) (index.Source[[]any], error) {
	src, err := p.index.Hashes(pattern)
	if err != nil {
		err = shell.Usage(errors.New(shell.OneLine(err)))
	}
	return src, err
}

// conditions reads conditions such as x=50..100, and returns what is after the equals
// sign for each dimension, empty without a condition.
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

// box reads a box from conditions such as x=50..100; a dimension without a condition
// is open.
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

// point reads a point from conditions such as x=75, one for each dimension.
func (p points) point(conditions []string) ([]any, error) {
	texts, err := p.conditions(conditions)
	if err != nil {
		return nil, err
	}
	point := make([]any, len(texts))
	for i, text := range texts {
		if text == "" {
			return nil, shell.Usage(fmt.Errorf("there is no %s: give a value for each dimension", p.names()[i]))
		}
		point[i] = text
	}
	return point, nil
}
