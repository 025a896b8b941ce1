package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Explanation is the plan of a query. String formats it in human-readable form.
type Explanation struct {
	// Steps are the index scans, in order: several for an Or.
	Steps []Step
	// Order is the name of the index that produces the order; empty: none.
	Order string
	// Sorted indicates that all matches are read and sorted, because they are few. Otherwise
	// the index of the order is scanned until there are enough matches, or until the scan has
	// taken longer than sorting would.
	Sorted bool
}

// Step is one index scan.
type Step struct {
	Index   string // name of the index; empty: all records, in creation order
	Entries int64  // approximate number of entries scanned; -1: not counted
	Within  string // conditions that the index serves
	Filter  string // conditions checked for each entry
}

// Explain plans the query and returns the plan.
func (q *Query) Explain(ctx context.Context) (Explanation, error) {
	f, _, err := q.start(ctx, q.Limit)
	if err != nil {
		return Explanation{}, err
	}
	s := &q.Objects.Declaration.Schema
	x := Explanation{Sorted: f.sorted}
	if f.order != nil && f.order.x != nil {
		x.Order = f.order.x.Name
	}
	for _, path := range f.paths {
		step := Step{Entries: path.size, Within: path.text(s)}
		if path.x != nil {
			step.Index = path.x.Name
		}
		names := []string{}
		for _, g := range path.groups {
			for _, e := range g.sets {
				if !slices.Contains(names, e.Index.Name) {
					names = append(names, e.Index.Name)
				}
			}
		}
		if len(names) > 0 {
			step.Index = strings.Join(names, ", ")
		}
		if path.x == nil && path.members == nil && f.reverse && !f.sorted {
			step.Within += ", newest first"
		}
		if left := path.residual(f.e); len(left.terms) > 0 {
			terms := make([]string, len(left.terms))
			for i, term := range left.terms {
				terms[i] = term.text(s)
			}
			step.Filter = strings.Join(terms, " and ")
		}
		if left := f.among.unchecked(path); left != "" && step.Filter != "" {
			step.Filter += " and " + left
		} else {
			step.Filter += left
		}
		x.Steps = append(x.Steps, step)
	}
	return x, nil
}

// String formats the plan, with one or two lines per step.
func (x Explanation) String() string {
	var b strings.Builder
	for i, s := range x.Steps {
		if i > 0 {
			b.WriteString("then ")
		}
		b.WriteString(s.String())
	}
	switch {
	case x.Sorted:
		fmt.Fprintf(&b, "sort the matches by index %s\n", x.Order)
	case x.Order != "":
		fmt.Fprintf(&b, "until there are enough: index %s is in order\n", x.Order)
	}
	return b.String()
}

// String formats the step in one or two lines.
func (s Step) String() string {
	var b strings.Builder
	if s.Index == "" {
		b.WriteString("scan " + s.Within)
	} else {
		b.WriteString("scan index " + s.Index)
		if s.Within != "" {
			b.WriteString(": " + s.Within)
		}
	}
	if s.Entries >= 0 {
		fmt.Fprintf(&b, " (about %d entries)", s.Entries)
	}
	b.WriteByte('\n')
	if s.Filter != "" {
		b.WriteString("  filter by " + s.Filter + "\n")
	}
	return b.String()
}
