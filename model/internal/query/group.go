package query

import (
	"slices"

	"retwis/model/internal/schema"
)

// group is a condition on several sets of values: a record must be in one of them, or in none.
// The server can check it, or intersect several groups, without reading contents of records.
type group struct {
	cond *expr
	sets []schema.Entry
	not  bool
}

// narrow is the maximum number of sets of a group used as a filter: every scanned record is
// looked up in each of them.
const narrow = 16

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
		of := groupOf(e.terms[0])
		if of == nil || of.not {
			return nil
		}
		g.sets, g.not = of.sets, true
	case e.op == schema.OpOr && len(e.terms) > 0:
		for _, term := range e.terms {
			of := groupOf(term)
			if of == nil || of.not {
				return nil
			}
			g.sets = append(g.sets, of.sets...)
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
		again := seen[e]
		seen[e] = true
		return again
	})
}

// split separates the terms that are narrow groups from a filter.
func split(e *expr) (filter *expr, groups []*group) {
	filter = &expr{op: schema.OpAnd}
	for _, term := range e.terms {
		if g := groupOf(term); g != nil && len(g.sets) <= narrow {
			groups = append(groups, g)
		} else {
			filter.terms = append(filter.terms, term)
		}
	}
	return filter, groups
}

// groupCandidates returns the candidates that scan sets of values, in creation order: the
// smallest of all narrow groups, or one of the others.
func (p *planner) groupCandidates(terms []*expr) []*candidate {
	var all []*candidate
	together := &accessPath{size: -1}
	for _, term := range terms {
		g := groupOf(term)
		switch {
		case g == nil || g.not || !built(g):
		case len(g.sets) <= narrow:
			together.groups = append(together.groups, g)
			together.consumed = append(together.consumed, g.cond)
		default:
			all = append(all, &candidate{name: "w" + term.key(p.s), path: &accessPath{size: -1, groups: []*group{g}, consumed: []*expr{g.cond}}})
		}
	}
	if len(together.groups) > 0 {
		all = append([]*candidate{{name: "v", path: together}}, all...)
	}
	return all
}

func built(g *group) bool {
	for _, e := range g.sets {
		if !e.Index.Built() {
			return false
		}
	}
	return true
}
