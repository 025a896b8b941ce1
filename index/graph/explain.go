package graph

import (
	"context"
	"fmt"
	"strings"
)

// Plan describes how a query is executed.
type Plan struct {
	Steps []Step
	// OrderBy are the keys by which the answers are sorted after the last step. Keep is the
	// number of answers held in memory for the sort; 0: all.
	OrderBy []SortKey
	Keep    int
	// empty is set if the counts show that there is no answer.
	empty bool
}

// Step is one pattern of a plan.
type Step struct {
	Pattern Pattern
	Count   int64  // triples that match the pattern alone or, for a path, have its predicate
	How     string // how the pattern is read
}

// String formats the plan, one line per step.
func (p Plan) String() string {
	width := 0
	for _, s := range p.Steps {
		width = max(width, len(s.Pattern.String()))
	}
	var out strings.Builder
	for i, s := range p.Steps {
		fmt.Fprintf(&out, "%d. %-*s  %9d  %s\n", i+1, width, s.Pattern, s.Count, s.How)
	}
	if len(p.OrderBy) > 0 {
		fmt.Fprintf(&out, "sort by %s", p.sort())
		if p.Keep > 0 {
			fmt.Fprintf(&out, ", with the first %d in memory", p.Keep)
		}
		out.WriteByte('\n')
	}
	if p.empty {
		out.WriteString("no answer: a pattern has no triples\n")
	}
	return out.String()
}

// sort formats the sort keys.
func (p Plan) sort() string {
	keys := make([]string, len(p.OrderBy))
	for i, k := range p.OrderBy {
		keys[i] = "?" + k.String()
	}
	return strings.Join(keys, ", ")
}

// Explain returns the plan of a query without executing it. It counts the triples of
// each pattern: one round trip.
func (g *Graph) Explain(ctx context.Context, q Query) (Plan, error) {
	p, err := g.store.plan(ctx, q)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{empty: p.empty, OrderBy: q.OrderBy}
	if len(q.OrderBy) > 0 && p.limit > 0 {
		plan.Keep = p.offset + p.limit
	}
	for _, s := range p.steps {
		plan.Steps = append(plan.Steps, Step{Pattern: s.pattern, Count: s.count, How: s.describe()})
	}
	return plan, nil
}

// describe returns Step.How.
func (s *planStep) describe() string {
	switch s.operator {
	case existenceCheck:
		if s.hashable {
			return "check existence, or read all for many rows"
		}
		return "check existence"
	case pathFromSubject:
		return "follow the path from the subject"
	case pathFromObject:
		return "follow the path back from the object"
	}
	return fmt.Sprintf("range scan of %s, %d of 3 parts known", s.order, s.fixed)
}
