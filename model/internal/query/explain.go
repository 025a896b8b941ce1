package query

import (
	"context"
	"slices"
	"strings"
)

// Explanation is the plan of a query.
type Explanation struct {
	Steps  []Step
	Order  string // name of the index that gives the order; empty: none
	Sorted bool   // all matches are read and sorted
}

// Step is one index scan.
type Step struct {
	Index   string // its name; empty: all records, in the order of creation
	Entries int64  // about how many entries it scans; -1: not counted
	Within  string // the conditions that the index answers
	Filter  string // the conditions that are checked for each entry
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
		if left := f.among.left(path); left != "" && step.Filter != "" {
			step.Filter += " and " + left
		} else {
			step.Filter += left
		}
		x.Steps = append(x.Steps, step)
	}
	return x, nil
}
