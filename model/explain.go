package model

import (
	"context"
	"fmt"
	"strings"

	"retwis/model/internal/query"
)

// Explanation is the plan of a query. Its String is for people.
type Explanation struct {
	// Steps are the index scans, one after the other: more than one for an Or.
	Steps []Step
	// Order is the name of the index that gives the order; empty: none.
	Order string
	// Sorted: all matches are read and sorted, because they are few. Otherwise the index
	// of the order is scanned until there are enough, or until that has taken longer than
	// sorting would.
	Sorted bool
}

// Step is one index scan.
type Step struct {
	Index   string // its name; empty: all records, in the order of creation
	Entries int64  // about how many entries it scans; -1: not counted
	Within  string // the conditions that the index answers
	Filter  string // the conditions that are checked for each entry
}

func explain(ctx context.Context, q *query.Query) (Explanation, error) {
	plan, err := q.Explain(ctx)
	x := Explanation{Order: plan.Order, Sorted: plan.Sorted}
	for _, step := range plan.Steps {
		x.Steps = append(x.Steps, Step(step))
	}
	return x, wrap(q.Objects.Table, err)
}

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
