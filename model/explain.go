package model

import (
	"context"
	"fmt"
	"strings"
)

// Explanation says how a query is done. Its String is for a person.
type Explanation struct {
	// Steps are what is looked at, one after the other: more than one is an Or.
	Steps []Step
	// Order is the name of the index that gives the order; empty: there is none.
	Order string
	// Sorted: all that fit are read and put in order, as they are few. Otherwise
	// the index of the order is walked until enough are found, or until that has
	// taken longer than sorting would.
	Sorted bool
}

// Step is an index that is looked at.
type Step struct {
	Index   string // its name; empty: all records, in the order of creation
	Entries int64  // about how many of its entries; -1: there was no need to count
	Within  string // the conditions that it answers
	Keep    string // what is looked up for each entry
}

func (q *find) explain(ctx context.Context) (Explanation, error) {
	f, _, err := q.start(ctx, q.limit)
	if err != nil {
		return Explanation{}, err
	}
	x := Explanation{Sorted: f.sorted}
	if f.order != nil {
		x.Order = f.order.x.Name
	}
	for _, src := range f.sources {
		step := Step{Entries: src.size, Within: src.text(&q.o.schema)}
		if src.x != nil {
			step.Index = src.x.Name
		}
		if src.x == nil && f.reverse {
			step.Within += ", the last first"
		}
		if left := src.residual(f.e); len(left.kids) > 0 {
			words := make([]string, len(left.kids))
			for i, kid := range left.kids {
				words[i] = kid.text(&q.o.schema)
			}
			step.Keep = strings.Join(words, " and ")
		}
		x.Steps = append(x.Steps, step)
	}
	return x, nil
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
		fmt.Fprintf(&b, "sort what is found by index %s\n", x.Order)
	case x.Order != "":
		fmt.Fprintf(&b, "until there are enough: index %s is in order\n", x.Order)
	}
	return b.String()
}

func (s Step) String() string {
	var b strings.Builder
	if s.Index == "" {
		b.WriteString("walk " + s.Within)
	} else {
		b.WriteString("walk index " + s.Index)
		if s.Within != "" {
			b.WriteString(": " + s.Within)
		}
	}
	if s.Entries >= 0 {
		fmt.Fprintf(&b, " (about %d entries)", s.Entries)
	}
	b.WriteByte('\n')
	if s.Keep != "" {
		b.WriteString("  keep those with " + s.Keep + "\n")
	}
	return b.String()
}
