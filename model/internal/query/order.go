package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"retwis/model/internal/schema"
)

// ordering is one field of an order.
type ordering struct {
	field int
	desc  bool
}

// orderOf parses the fields of an order.
func (r *resolver) orderOf(fields []string, reversed bool) ([]ordering, error) {
	var all []ordering
	for _, text := range fields {
		name, direction, _ := strings.Cut(strings.TrimSpace(text), " ")
		if direction != "" && direction != "asc" && direction != "desc" {
			return nil, fmt.Errorf("%w: OrderBy(%q): %q is not an order: use asc or desc", schema.ErrValue, schema.Shorten(text), schema.Shorten(direction))
		}
		number, err := r.fieldNumber(name)
		if err != nil {
			return nil, err
		}
		if r.Schema.Fields[number].Kind == schema.KindJSON {
			return nil, fmt.Errorf("%w: OrderBy(%q): results cannot be ordered by a list", schema.ErrValue, name)
		}
		if slices.ContainsFunc(all, func(o ordering) bool { return o.field == number }) {
			return nil, fmt.Errorf("%w: OrderBy names %s twice", schema.ErrValue, name)
		}
		all = append(all, ordering{number, (direction == "desc") != reversed})
	}
	return all, nil
}

// orderedIndex is an index with the matching records in the requested order.
type orderedIndex struct {
	*accessPath
	reverse bool
	bound   int // number of columns before the columns of the order
}

// orderIndex finds an index for an order: the index with the most leading columns bound to single
// values, or the index named in a cursor, since the best index may change if indexes are built or
// dropped between two pages.
func (p *planner) orderIndex(order []ordering, e *expr, resumed []string) (*orderedIndex, error) {
	var conds []*expr
	for _, term := range e.terms {
		if term.leaf() {
			conds = append(conds, term)
		}
	}
	var best *orderedIndex
	var unbuilt *schema.Index
	for _, x := range p.s.Indexes {
		if x.Unique || x.PerValue || !p.present(x, conds) || resumed != nil && !slices.Equal(resumed, []string{strconv.Itoa(x.Number)}) {
			continue
		}
		w, err := p.match(x, order, conds)
		if err != nil {
			return nil, err
		}
		switch {
		case w == nil:
		case !x.Built():
			unbuilt = x
		case best == nil, w.bound > best.bound, w.bound == best.bound && len(x.Columns) < len(best.x.Columns):
			best = w
		}
	}
	if best == nil && unbuilt != nil {
		return nil, unbuilt.NotBuilt()
	}
	if best == nil && resumed != nil {
		return nil, schema.ErrCursor
	}
	if best == nil {
		return nil, noOrder(p.s, order)
	}
	return best, nil
}

// match matches the columns of an index with an order: first columns bound to one value, then
// the columns of the order, all in their declared direction or all reversed.
func (p *planner) match(x *schema.Index, order []ordering, conds []*expr) (*orderedIndex, error) {
	w := &orderedIndex{accessPath: &accessPath{x: x, size: -1}}
	prefix, ranges, empty := "", []schema.Range(nil), false
	next := 0
	for column := 0; column < len(x.Columns) && next < len(order); column++ {
		on := p.usable(x, column, conds)
		selected, exact, err := p.columnRanges(x, column, on)
		if err != nil {
			return nil, err
		}
		single := exact && len(selected) <= 1
		switch o := order[next]; {
		case o.field == x.FieldNumbers[column]:
			reversed := o.desc != x.Columns[column].Desc
			if next > 0 && reversed != w.reverse {
				return nil, nil
			}
			w.reverse = reversed
			if next++; next == 1 && len(on) > 0 {
				ranges = joined([]string{prefix}, selected)
				w.consumed = append(w.consumed, on...)
			} else if next == 1 {
				ranges = []schema.Range{schema.PrefixRange(prefix)}
			}
		case !single || column == x.ListColumn && len(on) > 1:
			return nil, nil
		case len(selected) == 0:
			empty = true
			w.bound++
		case next == 0:
			prefix += selected[0].Low
			w.consumed = append(w.consumed, on...)
			w.bound++
		}
		if column == x.ListColumn && !single {
			return nil, nil
		}
	}
	if next < len(order) || x.ListColumn >= 0 && x.ListColumn >= w.bound {
		return nil, nil
	}
	if !empty {
		w.ranges = ranges
	}
	return w, nil
}

// noOrder returns the error for an order that no index produces.
func noOrder(s *schema.Schema, order []ordering) error {
	if len(order) == 1 {
		f := &s.Fields[order[0].field]
		if f.Computed {
			return fmt.Errorf("%w: the order of %s: a unique index has no order: declare a model.Computed without Unique as well", schema.ErrNoIndex, f.Name)
		}
		return fmt.Errorf("%w: the order of %s: declare it `redis:\"%s,range\"`", schema.ErrNoIndex, f.Name, f.Name)
	}
	columns := make([]string, len(order))
	for i, o := range order {
		name := s.Fields[o.field].Name
		if o.desc != order[0].desc {
			name += " desc"
		}
		columns[i] = fmt.Sprintf("%q", name)
	}
	list := strings.Join(columns, ", ")
	return fmt.Errorf("%w: the order of %s: declare model.Composite[T](%s)", schema.ErrNoIndex, list, list)
}
