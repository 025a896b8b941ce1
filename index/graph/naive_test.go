package graph

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"retwis/index/graph/internal/syntax"

	"pgregory.net/rapid"
)

// naive answers a query by trying every triple for every pattern, in the order of the query.
func naive(model []Triple, q Query) [][]string {
	vars := q.Vars()
	selected := q.Select
	if len(selected) == 0 {
		selected = vars
	}
	var rows []map[string]string
	var try func(i int, row map[string]string)
	try = func(i int, row map[string]string) {
		if i == len(q.Where) {
			if naiveFilter(q)(Binding{vars: vars, names: namesIn(row, vars)}) {
				rows = append(rows, row)
			}
			return
		}
		p := q.Where[i]
		candidates := model
		if p.P.is(syntax.Path) {
			candidates = walks(model, q, p.P)
		}
		for _, triple := range candidates {
			next := maps.Clone(row)
			if fit(next, p.S, triple.S) && fit(next, p.O, triple.O) && (p.P.is(syntax.Path) || fit(next, p.P, triple.P)) {
				try(i+1, next)
			}
		}
	}
	try(0, map[string]string{})
	slices.SortFunc(rows, func(a, b map[string]string) int {
		return cmp.Or(naiveOrder(q.OrderBy, a, b), slices.Compare(namesIn(a, selected), namesIn(b, selected)))
	})
	var found [][]string
	for _, row := range rows {
		answer := namesIn(row, selected)
		if !q.Distinct || !slices.ContainsFunc(found, func(other []string) bool { return slices.Equal(answer, other) }) {
			found = append(found, answer)
		}
	}
	return found
}

// namesIn returns the names that a row binds to vars.
func namesIn(row map[string]string, vars []string) []string {
	names := make([]string, len(vars))
	for i, v := range vars {
		names[i] = row[v]
	}
	return names
}

// naiveOrder compares two rows by sort keys.
func naiveOrder(keys []SortKey, a, b map[string]string) int {
	for _, k := range keys {
		x, errX := strconv.ParseFloat(a[k.Var], 64)
		y, errY := strconv.ParseFloat(b[k.Var], 64)
		c := 0
		switch {
		case errX == nil && errY == nil:
			c = cmp.Compare(x, y)
		case errX == nil:
			c = -1
		case errY == nil:
			c = 1
		default:
			c = cmp.Compare(a[k.Var], b[k.Var])
		}
		if k.Desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	for _, k := range keys {
		if c := cmp.Compare(a[k.Var], b[k.Var]); c != 0 {
			return c
		}
	}
	return 0
}

// fit reports whether a name matches a term. It binds an unbound variable in row.
func fit(row map[string]string, t Term, name string) bool {
	switch t.term.Kind {
	case syntax.Name:
		return t.term.Text == name
	case syntax.Variable:
		if known, ok := row[t.term.Text]; ok {
			return known == name
		}
		row[t.term.Text] = name
	}
	return true
}

// walks returns the end points of all matches of a path, computed with sets of pairs. Every
// name has a path of length 0 to itself.
func walks(model []Triple, q Query, t Term) []Triple {
	nodes := map[string]bool{}
	for _, p := range q.Where {
		for _, end := range [2]Term{p.S, p.O} {
			if end.is(syntax.Name) {
				nodes[end.term.Text] = true
			}
		}
	}
	for _, triple := range model {
		nodes[triple.S], nodes[triple.P], nodes[triple.O] = true, true, true
	}
	var pairs []Triple
	for p := range relation(model, nodes, t.term) {
		pairs = append(pairs, Triple{S: p[0], O: p[1]})
	}
	return pairs
}

type pairs map[[2]string]bool

// relation returns all pairs of names that a path relates.
func relation(model []Triple, nodes map[string]bool, path syntax.Term) pairs {
	level, step, ends := pairs{}, pairs{}, pairs{}
	for name := range nodes {
		level[[2]string{name, name}] = true
	}
	for _, triple := range model {
		if triple.P == path.Text {
			step[[2]string{triple.S, triple.O}] = true
		}
	}
	maxLen := path.Max
	if maxLen == 0 {
		maxLen = path.Min + len(nodes) + 1
	}
	for k := 0; k <= maxLen; k++ {
		if k >= path.Min {
			maps.Copy(ends, level)
		}
		level = level.then(step)
	}
	return ends
}

// then composes two relations.
func (p pairs) then(other pairs) pairs {
	all := pairs{}
	for a := range p {
		for b := range other {
			if a[1] == b[0] {
				all[[2]string{a[0], b[1]}] = true
			}
		}
	}
	return all
}

// paths generates random paths over some predicates.
func paths(predicates *rapid.Generator[string]) *rapid.Generator[Term] {
	return rapid.Custom(func(t *rapid.T) Term {
		minLen, maxLen := rapid.IntRange(0, 3).Draw(t, "min"), 0
		if rapid.Bool().Draw(t, "bounded") {
			maxLen = max(1, minLen+rapid.IntRange(0, 2).Draw(t, "more"))
		}
		return Path(predicates.Draw(t, "predicate"), minLen, maxLen)
	})
}

// fewNames are the names in the triples and queries.
var fewNames = []string{"a", "b", "9", "10", "10.0", "d:", ";e"}

// fewPredicates are the predicates of most triples and of all paths, so that paths often match.
var fewPredicates = fewNames[:2]

// naiveFilter returns a function that reports whether a binding passes all filters of a query. It
// evaluates comparisons itself.
func naiveFilter(q Query) func(Binding) bool {
	return func(b Binding) bool {
		for _, f := range q.Filters {
			words := strings.SplitN(f.text, " ", 3)
			if len(words) != 3 || !slices.Contains([]string{"=", "!=", "<", "<=", ">", ">="}, words[1]) {
				if !f.keep(b) {
					return false
				}
				continue
			}
			valueOf := func(word string) string {
				if v, ok := strings.CutPrefix(word, "?"); ok {
					return b.Get(v)
				}
				return strings.Trim(word, `"`)
			}
			x, y := valueOf(words[0]), valueOf(words[2])
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

// answerable reports whether the patterns can be ordered so that each path has an end that is a
// name or a bound variable. It tries all orders.
func answerable(patterns []Pattern, bound ...string) bool {
	for i, p := range patterns {
		binds, free := []string{}, p.simple().P.is(syntax.Path)
		for k, t := range [3]Term{p.S, p.P, p.O} {
			if t.is(syntax.Variable) {
				binds = append(binds, t.term.Text)
			}
			if k != 1 && (t.is(syntax.Name) || t.is(syntax.Variable) && slices.Contains(bound, t.term.Text)) {
				free = false
			}
		}
		if !free && answerable(slices.Concat(patterns[:i], patterns[i+1:]), slices.Concat(bound, binds)...) {
			return true
		}
	}
	return len(patterns) == 0
}

// queries generates random queries over fewNames.
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
			if rapid.Bool().Draw(t, "path") {
				p.P = paths(rapid.SampledFrom(fewPredicates)).Draw(t, "path")
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
				q.Filters = append(q.Filters, matches(v.Draw(t, "v"), regexp.MustCompile("^[a1]")))
			case 3:
				operand := rapid.OneOf(rapid.Map(v, Var), rapid.Map(name, Name))
				q.Filters = append(q.Filters, Compare(Var(v.Draw(t, "v")), rapid.SampledFrom([]string{"<", "<=", ">", ">=", "=", "!="}).Draw(t, "operator"), operand.Draw(t, "to")))
			}
		}
		q.Distinct = rapid.Bool().Draw(t, "distinct")
		if keys := vars; len(vars) > 0 && rapid.Bool().Draw(t, "ordered") {
			if q.Distinct && len(q.Select) > 0 {
				keys = q.Select
			}
			for _, v := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 1, len(keys), rapid.ID[string]).Draw(t, "keys") {
				q.OrderBy = append(q.OrderBy, SortKey{Var: v, Desc: rapid.Bool().Draw(t, "desc")})
			}
		}
		return q
	})
}
