package graph

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// naive answers a query by trying every triple for every pattern, and counts how
// often each answer comes.
func naive(model []Triple, q Query) map[string]int {
	vars := q.Vars()
	selected := q.Select
	if len(selected) == 0 {
		selected = vars
	}
	found := map[string]int{}
	var try func(i int, row map[string]string)
	try = func(i int, row map[string]string) {
		if i == len(q.Where) {
			b := Binding{vars: vars}
			for _, v := range vars {
				b.names = append(b.names, row[v])
			}
			if !naiveFilter(q)(b) {
				return
			}
			var key []string
			for _, v := range selected {
				key = append(key, row[v])
			}
			found[fmt.Sprintf("%q", key)]++
			return
		}
		p := q.Where[i]
		ways := model
		if p.P.kind == path {
			ways = walks(model, q, p.P)
		}
		for _, one := range ways {
			next := maps.Clone(row)
			if fit(next, p.S, one.S) && fit(next, p.O, one.O) && (p.P.kind == path || fit(next, p.P, one.P)) {
				try(i+1, next)
			}
		}
	}
	try(0, map[string]string{})
	if q.Distinct {
		for key := range found {
			found[key] = 1
		}
	}
	return found
}

func fit(row map[string]string, t Term, name string) bool {
	switch t.kind {
	case named:
		return t.text == name
	case variable:
		if known, ok := row[t.text]; ok {
			return known == name
		}
		row[t.text] = name
	}
	return true
}

// walks returns the pairs of ends of a path, by sets of pairs of each length. Every name has
// a path of length 0 to itself.
func walks(model []Triple, q Query, t Term) []Triple {
	edges, nodes := map[string][]string{}, map[string]bool{}
	for _, p := range q.Where {
		for _, end := range [2]Term{p.S, p.O} {
			if end.kind == named {
				nodes[end.text] = true
			}
		}
	}
	for _, one := range model {
		nodes[one.S], nodes[one.P], nodes[one.O] = true, true, true
		if one.P == t.text {
			edges[one.S] = append(edges[one.S], one.O)
		}
	}
	most := t.max
	if most == 0 {
		most = t.min + len(nodes) + 1
	}
	var pairs []Triple
	for start := range nodes {
		level, ends := map[string]bool{start: true}, map[string]bool{}
		for k := 0; k <= most; k++ {
			if k >= t.min {
				maps.Copy(ends, level)
			}
			next := map[string]bool{}
			for name := range level {
				for _, to := range edges[name] {
					next[to] = true
				}
			}
			level = next
		}
		for end := range ends {
			pairs = append(pairs, Triple{S: start, O: end})
		}
	}
	return pairs
}

// fewNames are the names in the triples and queries.
var fewNames = []string{"a", "b", "9", "10", "10.0", "d:", ";e"}

// naiveFilter returns the expected result of a comparison of fewNames.
func naiveFilter(q Query) func(Binding) bool {
	return func(b Binding) bool {
		for _, f := range q.Filters {
			words := strings.SplitN(f.text, " ", 3)
			if len(words) != 3 || !isOperator(words[1]) || words[1] == "~" {
				if !f.keep(b) {
					return false
				}
				continue
			}
			of := func(word string) string {
				if v, ok := strings.CutPrefix(word, "?"); ok {
					return b.Get(v)
				}
				return strings.Trim(word, `"`)
			}
			x, y := of(words[0]), of(words[2])
			n, errN := strconv.ParseFloat(x, 64)
			m, errM := strconv.ParseFloat(y, 64)
			order := cmp.Compare(n, m)
			if errN != nil && errM != nil {
				order = cmp.Compare(x, y)
			}
			compares := (errN == nil) == (errM == nil)
			equal := compares && order == 0
			if kept := map[string]bool{
				"=": equal, "!=": !equal,
				"<": compares && order < 0, "<=": compares && order <= 0, ">": compares && order > 0, ">=": compares && order >= 0,
			}[words[1]]; !kept {
				return false
			}
		}
		return true
	}
}

// answerable reports whether the patterns have an order in which each path of min 0 has an
// end that is a name or bound, by trying all orders.
func answerable(patterns []Pattern, bound ...string) bool {
	for i, p := range patterns {
		binds, free := []string{}, p.P.kind == path && p.P.min == 0
		for k, t := range [3]Term{p.S, p.P, p.O} {
			if t.kind == variable {
				binds = append(binds, t.text)
			}
			if k != 1 && (t.kind == named || t.kind == variable && slices.Contains(bound, t.text)) {
				free = false
			}
		}
		if !free && answerable(slices.Concat(patterns[:i], patterns[i+1:]), slices.Concat(bound, binds)...) {
			return true
		}
	}
	return len(patterns) == 0
}

func queries() *rapid.Generator[Query] {
	return rapid.Custom(func(t *rapid.T) Query {
		name := rapid.SampledFrom(fewNames)
		variables := rapid.SampledFrom([]string{"x", "y", "z"})
		term := func(label string, predicate bool) Term {
			switch n := rapid.IntRange(0, 9).Draw(t, label); {
			case n < 6 && !predicate, n < 2:
				return Var(variables.Draw(t, "variable"))
			case n == 9:
				return Term{}
			default:
				return Name(name.Draw(t, "name"))
			}
		}
		var q Query
		for range rapid.IntRange(1, 3).Draw(t, "patterns") {
			p := Pattern{S: term("subject", false), P: term("predicate", true), O: term("object", false)}
			if rapid.IntRange(0, 3).Draw(t, "path") == 0 {
				least := rapid.IntRange(0, 3).Draw(t, "least")
				most := 0
				if rapid.Bool().Draw(t, "bounded") {
					most = max(1, least+rapid.IntRange(0, 2).Draw(t, "more"))
				}
				p.P = Path(name.Draw(t, "name"), least, most)
			}
			q.Where = append(q.Where, p)
		}
		vars := q.Vars()
		if len(vars) > 0 {
			q.Select = rapid.SliceOfNDistinct(rapid.SampledFrom(vars), 0, len(vars), rapid.ID[string]).Draw(t, "select")
			v := rapid.SampledFrom(vars)
			switch rapid.IntRange(0, 5).Draw(t, "filter") {
			case 0:
				q.Filters = append(q.Filters, Compare(Var(v.Draw(t, "v")), "!=", Name(name.Draw(t, "name"))))
			case 1:
				q.Filters = append(q.Filters, Compare(Var(v.Draw(t, "v")), "!=", Var(v.Draw(t, "w"))))
			case 2:
				q.Filters = append(q.Filters, Matches(v.Draw(t, "v"), regexp.MustCompile("^[a1]")))
			case 3:
				q.Filters = append(q.Filters, FilterFunc(func(b Binding) bool { return b.Get(vars[0]) != "b" }))
			case 4:
				to := rapid.OneOf(rapid.Map(v, Var), rapid.Map(name, Name))
				q.Filters = append(q.Filters, Compare(Var(v.Draw(t, "v")), rapid.SampledFrom([]string{"<", "<=", ">", ">=", "=", "!="}).Draw(t, "operator"), to.Draw(t, "to")))
			}
		}
		q.Distinct = rapid.Bool().Draw(t, "distinct")
		return q
	})
}
