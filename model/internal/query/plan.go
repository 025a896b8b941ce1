package query

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"retwis/model/internal/schema"
)

// A query scans ranges of one index, or sets of ids with a value. The script checks the other
// conditions using the sets of their values or the content of each record. If several indexes
// could be used, the query uses the index with the fewest entries. An OR is a union of one
// index scan per branch.

// accessPath is an index scan.
type accessPath struct {
	x        *schema.Index  // index to scan; nil: groups, members, or all records in creation order
	groups   []*group       // the path scans the smallest of these groups, in creation order
	members  *among         // the path reads the members of sets, in no particular order
	ranges   []schema.Range // ranges of indexed values, sorted
	consumed []*expr        // conditions that hold for all entries in the ranges
	ors      []*expr        // ORs of which this path yields a branch
	branches []*expr        // the branch of each OR
	excluded []*expr        // earlier branches, whose records other paths yield
	single   bool           // the ranges are single values
	once     bool           // a record can have several entries in the ranges
	size     int64          // estimated number of entries in the ranges; -1: not counted
}

// candidate is one possible access path, or an OR.
type candidate struct {
	name     string
	path     *accessPath
	or       *expr          // an OR, if path is nil
	branches [][]*candidate // the candidates for each branch of the OR
}

// planner finds the candidates of a query.
type planner struct {
	s     *schema.Schema
	order []int // fields that a record must have
}

// candidates returns the candidates for a condition, given other conditions that must also
// hold. If there are none, the query must scan all records.
func (p *planner) candidates(e *expr, given []*expr) ([]*candidate, error) {
	var own, ors []*expr
	switch {
	case e.leaf():
		own = []*expr{e}
	case e.op == schema.OpOr:
		ors = []*expr{e}
	case e.op == schema.OpAnd:
		for _, term := range e.terms {
			if term.leaf() {
				own = append(own, term)
			} else if term.op == schema.OpOr {
				ors = append(ors, term)
			}
		}
	}
	all := slices.Concat(given, own)
	candidates := p.groupCandidates(slices.Concat(own, ors))
	for _, x := range p.s.Indexes {
		found, err := p.indexCandidates(x, all)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			if slices.ContainsFunc(o.path.consumed, func(c *expr) bool { return slices.Contains(own, c) }) {
				candidates = append(candidates, o)
			}
		}
	}
	for i, or := range ors {
		if groupOf(or) != nil {
			continue
		}
		o := &candidate{name: "or" + strconv.Itoa(i), or: or}
		for _, term := range or.terms {
			branch, err := p.candidates(term, all)
			if err != nil {
				return nil, err
			}
			if len(branch) == 0 {
				o = nil
				break
			}
			o.branches = append(o.branches, branch)
		}
		if o != nil {
			candidates = append(candidates, o)
		}
	}
	return candidates, nil
}

// indexCandidates returns the candidates of one index for a conjunction of conditions: one
// candidate for each condition on a list, since different elements can match different conditions.
func (p *planner) indexCandidates(x *schema.Index, conds []*expr) ([]*candidate, error) {
	if !x.Built() || x.PerValue || !p.present(x, conds) {
		return nil, nil
	}
	alternatives := [][]*expr{conds}
	if x.ListColumn >= 0 {
		field := x.FieldNumbers[x.ListColumn]
		var on, others []*expr
		for _, c := range conds {
			if c.field == field {
				on = append(on, c)
			} else {
				others = append(others, c)
			}
		}
		if len(on) > 1 {
			alternatives = nil
			for _, c := range on {
				alternatives = append(alternatives, append(slices.Clone(others), c))
			}
		}
	}
	var all []*candidate
	for i, alternative := range alternatives {
		src, err := p.path(x, alternative)
		if err != nil {
			return nil, err
		}
		if src != nil {
			all = append(all, &candidate{name: fmt.Sprintf("%d.%d", x.Number, i), path: src})
		}
	}
	return all, nil
}

// present reports whether every matching record has a value for each column, and so is in the
// index.
func (p *planner) present(x *schema.Index, conds []*expr) bool {
	for _, field := range x.FieldNumbers {
		if !slices.Contains(p.order, field) && !slices.ContainsFunc(conds, func(c *expr) bool {
			return c.field == field || slices.Contains(c.index.FieldNumbers, field)
		}) {
			return false
		}
	}
	return true
}

// usable returns the conditions on a column that the index can serve.
func (p *planner) usable(x *schema.Index, column int, conds []*expr) []*expr {
	var all []*expr
	for _, c := range conds {
		folds := c.index.CaseInsensitive == x.CaseInsensitive || !p.s.IsText(c.field)
		if c.field == x.FieldNumbers[column] && folds && (c.op.Exact() || !x.PerValue && !x.Unique) {
			all = append(all, c)
		}
	}
	return all
}

// columnRanges returns the ranges of a column that conditions select. exact reports whether the
// ranges are single values.
func (p *planner) columnRanges(x *schema.Index, column int, conds []*expr) (ranges []schema.Range, exact bool, err error) {
	for i, c := range conds {
		selected, err := x.Ranges(p.s, column, c.op, c.values)
		if err != nil {
			return nil, false, err
		}
		if exact = exact || c.op.Exact(); i == 0 {
			ranges = selected
		} else {
			ranges = schema.Intersect(ranges, selected)
		}
	}
	return ranges, exact, nil
}

// path returns the access path for the longest prefix of the columns with conditions: single
// values of all columns but the last. It returns nil if the index is not useful.
func (p *planner) path(x *schema.Index, conds []*expr) (*accessPath, error) {
	src := &accessPath{x: x, size: -1, once: x.ListColumn >= 0}
	prefixes := []string{""}
	bound := 0 // columns with conditions on single values
	for column := range x.Columns {
		on := p.usable(x, column, conds)
		if len(on) == 0 {
			if x.Unique {
				return nil, nil
			}
			break
		}
		ranges, exact, err := p.columnRanges(x, column, on)
		if err != nil {
			return nil, err
		}
		if tooMany(prefixes, ranges) {
			if x.Unique {
				return nil, nil
			}
			break
		}
		src.consumed = append(src.consumed, on...)
		if column == x.ListColumn && exact && len(ranges) <= 1 {
			src.once = false
		}
		if !exact {
			src.ranges = joined(prefixes, ranges)
			return src, nil
		}
		longer := make([]string, 0, len(prefixes)*len(ranges))
		for _, prefix := range prefixes {
			for _, s := range ranges {
				longer = append(longer, prefix+s.Low)
			}
		}
		prefixes = longer
		bound++
	}
	if len(src.consumed) == 0 {
		return nil, nil
	}
	src.single = bound == len(x.Columns)
	if x.Unique {
		src.ranges = schema.RangesOf(prefixes, func(v string) schema.Range { return schema.Range{Low: v, High: v + "\x00"} })
	} else {
		src.ranges = schema.RangesOf(prefixes, schema.PrefixRange)
	}
	return src, nil
}

// tooMany reports whether the combinations of prefixes and ranges are too many for a
// script.
func tooMany(prefixes []string, ranges []schema.Range) bool {
	if len(prefixes) == 1 {
		return false // these are the query's own ranges
	}
	size := 0
	for _, p := range prefixes {
		size += len(p) * len(ranges)
	}
	for _, s := range ranges {
		size += len(s.Low) * len(prefixes)
	}
	return len(prefixes)*len(ranges) > maxValues || size > maxBytes
}

// joined returns the ranges of values that start with one of the prefixes, followed by a value
// in one of the ranges.
func joined(prefixes []string, ranges []schema.Range) []schema.Range {
	all := make([]schema.Range, 0, len(prefixes)*len(ranges))
	for _, prefix := range prefixes {
		for _, s := range ranges {
			all = append(all, s.WithPrefix(prefix))
		}
	}
	return schema.SortRanges(all)
}

// plan chooses among candidates: the candidates with the fewest entries, or the candidates named in
// a cursor.
type plan struct {
	resumed []string // names in a cursor; nil: choose by size
	names   []string // names of the chosen candidates, in order
	lost    bool     // the cursor names a missing candidate
}

// choose returns the paths of the best candidate. For an OR, these are the paths of its
// branches; each path excludes the records of earlier branches.
func (c *plan) choose(candidates []*candidate) []*accessPath {
	best := c.best(candidates)
	if best == nil {
		return nil
	}
	c.names = append(c.names, best.name)
	if best.path != nil {
		return []*accessPath{best.path}
	}
	var all []*accessPath
	for i, branch := range best.branches {
		for _, s := range c.choose(branch) {
			path := *s
			path.ors = append(slices.Clip(s.ors), best.or)
			path.branches = append(slices.Clip(s.branches), best.or.terms[i])
			path.excluded = slices.Concat(s.excluded, best.or.terms[:i])
			all = append(all, &path)
		}
	}
	return all
}

// best returns the candidate with the fewest entries, or the next candidate named in the cursor.
func (c *plan) best(candidates []*candidate) *candidate {
	if c.resumed == nil {
		return leastOf(candidates)
	}
	if at := len(c.names); at < len(c.resumed) {
		for _, o := range candidates {
			if o.name == c.resumed[at] {
				return o
			}
		}
	}
	c.lost = true
	return nil
}

// leastOf returns the candidate that scans the fewest entries.
func leastOf(candidates []*candidate) *candidate {
	return slices.MinFunc(candidates, func(a, b *candidate) int { return cmp.Compare(a.weight(), b.weight()) })
}

// weight returns the estimated number of entries that a candidate scans.
func (o *candidate) weight() int64 {
	if o.path != nil {
		return o.path.size
	}
	var sum int64
	for _, branch := range o.branches {
		least := branch[0].weight()
		for _, b := range branch[1:] {
			least = min(least, b.weight())
		}
		sum += least
	}
	return sum
}

// all calls f for each path of a candidate.
func (o *candidate) all(f func(*accessPath)) {
	if o.path != nil {
		f(o.path)
	}
	for _, branch := range o.branches {
		for _, b := range branch {
			b.all(f)
		}
	}
}

// residual returns the part of the filter that the access path does not guarantee.
func (src *accessPath) residual(e *expr) *expr {
	left := src.unmet(nil, e)
	for _, branch := range src.branches {
		left = src.unmet(left, branch)
	}
	for _, branch := range src.excluded {
		left = append(left, &expr{op: schema.OpNot, terms: []*expr{branch}})
	}
	return &expr{op: schema.OpAnd, terms: left}
}

// unmet appends the terms of e that the access path does not imply. Conditions on unique values
// are included, since an index can contain a claim of a record that does not have the value.
func (src *accessPath) unmet(left []*expr, e *expr) []*expr {
	switch {
	case e.op == schema.OpAnd:
		for _, term := range e.terms {
			left = src.unmet(left, term)
		}
		return left
	case slices.Contains(src.ors, e), (src.x == nil || !src.x.Unique) && slices.Contains(src.consumed, e):
		return left
	}
	return append(left, e)
}

// text describes a path in human-readable form.
func (src *accessPath) text(s *schema.Schema) string {
	if src.members != nil {
		return src.members.text(src.members.sets[:1])
	}
	if src.x == nil && len(src.groups) == 0 {
		return "all records"
	}
	words := make([]string, len(src.consumed))
	for i, c := range src.consumed {
		words[i] = c.text(s)
	}
	return strings.Join(words, " and ")
}
