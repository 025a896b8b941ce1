package query

import (
	"slices"

	"retwis/model/internal/schema"
)

// group is a condition on several sets of values: a record must be in one of the sets or, with
// not, in none. The server can check a group, or intersect several groups, without reading the
// contents of records.
type group struct {
	cond *expr
	sets []schema.Entry
	not  bool
}

// maxNarrow is the maximum number of sets of a narrow group, which can be used as a filter:
// every scanned record is looked up in each set.
const maxNarrow = 16

// groupOf returns the group of a condition, or nil for other conditions.
func groupOf(e *expr) *group {
	g := &group{cond: e}
	switch {
	case e.leaf():
		if !e.index.PerValue {
			return nil
		}
		for _, r := range e.ranges {
			g.sets = append(g.sets, schema.Entry{Index: e.index, Value: r.Low})
		}
	case e.op == schema.OpNot:
		inner := groupOf(e.terms[0])
		if inner == nil || inner.not {
			return nil
		}
		g.sets, g.not = inner.sets, true
	case e.op == schema.OpOr && len(e.terms) > 0:
		for _, term := range e.terms {
			inner := groupOf(term)
			if inner == nil || inner.not {
				return nil
			}
			g.sets = append(g.sets, inner.sets...)
		}
		g.sets = distinct(g.sets)
	default:
		return nil
	}
	return g
}

// distinct removes duplicate sets: conditions can have values in common.
func distinct(sets []schema.Entry) []schema.Entry {
	seen := make(map[schema.Entry]bool, len(sets))
	return slices.DeleteFunc(sets, func(e schema.Entry) bool {
		duplicate := seen[e]
		seen[e] = true
		return duplicate
	})
}

// split divides the terms of e into narrow groups and a filter for the rest.
func split(e *expr) (filter *expr, groups []*group) {
	filter = &expr{op: schema.OpAnd}
	for _, term := range e.terms {
		if g := groupOf(term); g != nil && len(g.sets) <= maxNarrow {
			groups = append(groups, g)
		} else {
			filter.terms = append(filter.terms, term)
		}
	}
	return filter, groups
}

// groupCandidates returns the candidates that scan sets of values, in creation order: one candidate
// that scans the smallest of the narrow groups, and a candidate for each other group.
func (p *planner) groupCandidates(terms []*expr) []*candidate {
	var all []*candidate
	narrow := &accessPath{size: -1}
	for _, term := range terms {
		g := groupOf(term)
		switch {
		case g == nil || g.not || !built(g):
		case len(g.sets) <= maxNarrow:
			narrow.groups = append(narrow.groups, g)
			narrow.consumed = append(narrow.consumed, g.cond)
		default:
			all = append(all, &candidate{name: "w" + term.key(p.s), path: &accessPath{size: -1, groups: []*group{g}, consumed: []*expr{g.cond}}})
		}
	}
	if len(narrow.groups) > 0 {
		all = append([]*candidate{{name: "v", path: narrow}}, all...)
	}
	return all
}

// built reports whether all indexes of a group are built.
func built(g *group) bool {
	for _, e := range g.sets {
		if !e.Index.Built() {
			return false
		}
	}
	return true
}
