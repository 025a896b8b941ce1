package query

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"retwis/model/internal/schema"
)

// A query is driven by one index, whose entries within some spans are looked at
// one by one; what else it asks for is looked up in the content of the record. Of
// several indexes that could drive it the one with the fewest entries does. An Or
// is driven by what its conditions are driven by, one after the other.

// source is what a query is driven by, or a part of it.
type accessPath struct {
	x        *schema.Index  // nil: all records, in the order of their creation
	spans    []schema.Range // of the values in it, in order
	consumed []*expr        // the conditions that hold for all that is within
	ors      []*expr        // of these it is for what one of their conditions fits,
	one      []*expr        // this one,
	not      []*expr        // and none before it: these are yielded by other sources
	single   bool           // the spans are of single values
	once     bool           // a record can be within more than once
	size     int64          // about how many entries are within; -1: not counted
}

// option is one way to drive a query.
type candidate struct {
	name     string
	path     *accessPath
	or       *expr          // instead: an Or,
	branches [][]*candidate // and the ways to drive each of its conditions
}

// planner finds the ways to drive a query.
type planner struct {
	s     *schema.Schema
	order []int // fields that a record must have a value of
}

// options are the ways to drive a condition, given others that hold too. None: it
// takes all records.
func (p *planner) candidates(e *expr, given []*expr) ([]*candidate, error) {
	var own, ors []*expr
	switch {
	case e.leaf():
		own = []*expr{e}
	case e.op == schema.OpOr:
		ors = []*expr{e}
	case e.op == schema.OpAnd:
		for _, kid := range e.terms {
			if kid.leaf() {
				own = append(own, kid)
			} else if kid.op == schema.OpOr {
				ors = append(ors, kid)
			}
		}
	}
	all := slices.Concat(given, own)
	var options []*candidate
	for _, x := range p.s.Indexes {
		some, err := p.indexCandidates(x, all)
		if err != nil {
			return nil, err
		}
		for _, o := range some {
			if slices.ContainsFunc(o.path.consumed, func(c *expr) bool { return slices.Contains(own, c) }) {
				options = append(options, o)
			}
		}
	}
	for i, or := range ors {
		o := &candidate{name: "or" + strconv.Itoa(i), or: or}
		for _, kid := range or.terms {
			branch, err := p.candidates(kid, all)
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
			options = append(options, o)
		}
	}
	return options, nil
}

// indexOptions are the ways in which one index can drive conditions that all
// hold: one for each of those on a list, as these can hold for different elements.
func (p *planner) indexCandidates(x *schema.Index, conds []*expr) ([]*candidate, error) {
	if !x.Built() || !p.present(x, conds) {
		return nil, nil
	}
	ways := [][]*expr{conds}
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
			ways = nil
			for _, c := range on {
				ways = append(ways, append(slices.Clone(others), c))
			}
		}
	}
	var all []*candidate
	for i, way := range ways {
		src, err := p.path(x, way)
		if err != nil {
			return nil, err
		}
		if src != nil {
			all = append(all, &candidate{name: fmt.Sprintf("%d.%d", x.Number, i), path: src})
		}
	}
	return all, nil
}

// present tells whether a record that fits has a value of each column, so that it
// is in the index.
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

// usable are the conditions that the index can answer for one of its columns.
func (p *planner) usable(x *schema.Index, column int, conds []*expr) []*expr {
	var all []*expr
	for _, c := range conds {
		folds := c.index.CaseInsensitive == x.CaseInsensitive || !p.s.IsText(c.field)
		if c.field == x.FieldNumbers[column] && folds && (c.op.Exact() || !x.Equal && !x.Unique) {
			all = append(all, c)
		}
	}
	return all
}

// columnSpans are where the values of a column must be for some conditions to
// hold. exact: they are single values.
func (p *planner) columnSpans(x *schema.Index, column int, conds []*expr) (spans []schema.Range, exact bool, err error) {
	for i, c := range conds {
		some, err := x.Ranges(p.s, column, c.op, c.values)
		if err != nil {
			return nil, false, err
		}
		if exact = exact || c.op.Exact(); i == 0 {
			spans = some
		} else {
			spans = schema.Intersect(spans, some)
		}
	}
	return spans, exact, nil
}

// drive is the part of an index that the longest list of its columns leads to of
// which values are asked for: single ones of all but the last. It is nil where
// the index is of no use.
func (p *planner) path(x *schema.Index, conds []*expr) (*accessPath, error) {
	src := &accessPath{x: x, size: -1, once: x.ListColumn >= 0}
	prefixes := []string{""}
	bound := 0 // columns of which single values are asked for
	for column := range x.Columns {
		on := p.usable(x, column, conds)
		if len(on) == 0 {
			if x.Unique {
				return nil, nil
			}
			break
		}
		spans, exact, err := p.columnSpans(x, column, on)
		if err != nil {
			return nil, err
		}
		if tooMany(prefixes, spans) {
			if x.Unique {
				return nil, nil
			}
			break
		}
		src.consumed = append(src.consumed, on...)
		if column == x.ListColumn && exact && len(spans) <= 1 {
			src.once = false
		}
		if !exact {
			src.spans = joined(prefixes, spans)
			return src, nil
		}
		longer := make([]string, 0, len(prefixes)*len(spans))
		for _, prefix := range prefixes {
			for _, s := range spans {
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
		src.spans = schema.RangesOf(prefixes, func(v string) schema.Range { return schema.Range{Low: v, High: v + "\x00"} })
	} else {
		src.spans = schema.RangesOf(prefixes, schema.PrefixRange)
	}
	return src, nil
}

// tooMany tells whether spans behind each of some prefixes are more than a script
// should be given.
func tooMany(prefixes []string, spans []schema.Range) bool {
	if len(prefixes) == 1 {
		return false // they are those of the query
	}
	size := 0
	for _, p := range prefixes {
		size += len(p) * len(spans)
	}
	for _, s := range spans {
		size += len(s.Low) * len(prefixes)
	}
	return len(prefixes)*len(spans) > maxValues || size > maxBytes
}

// joined are the spans of values that begin with a prefix and go on within a span.
func joined(prefixes []string, spans []schema.Range) []schema.Range {
	all := make([]schema.Range, 0, len(prefixes)*len(spans))
	for _, prefix := range prefixes {
		for _, s := range spans {
			all = append(all, s.WithPrefix(prefix))
		}
	}
	return schema.SortRanges(all)
}

// choice settles which options drive a query: those with the fewest entries, or
// those that a cursor names.
type plan struct {
	resumed []string // by a cursor; nil: by size
	names   []string // of what was chosen, in the order in which it was asked for
	lost    bool     // a cursor names an option that there is not
}

// choose returns the sources of the best of some options, and of an Or those of
// its conditions: each leaves out what an earlier one yields.
func (c *plan) choose(options []*candidate) []*accessPath {
	best := c.best(options)
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
			with := *s
			with.ors = append(slices.Clip(s.ors), best.or)
			with.one = append(slices.Clip(s.one), best.or.terms[i])
			with.not = slices.Concat(s.not, best.or.terms[:i])
			all = append(all, &with)
		}
	}
	return all
}

func (c *plan) best(options []*candidate) *candidate {
	if c.resumed == nil {
		return leastOf(options)
	}
	if at := len(c.names); at < len(c.resumed) {
		for _, o := range options {
			if o.name == c.resumed[at] {
				return o
			}
		}
	}
	c.lost = true
	return nil
}

// leastOf is the option that looks at the fewest entries.
func leastOf(options []*candidate) *candidate {
	return slices.MinFunc(options, func(a, b *candidate) int { return cmp.Compare(a.weight(), b.weight()) })
}

// weight is how many entries an option looks at.
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

// all calls f for each source that an option can have.
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

// residual is what of a condition is to be looked up for each entry of a source.
func (src *accessPath) residual(e *expr) *expr {
	left := src.unmet(nil, e)
	for _, one := range src.one {
		left = src.unmet(left, one)
	}
	for _, n := range src.not {
		left = append(left, &expr{op: schema.OpNot, terms: []*expr{n}})
	}
	return &expr{op: schema.OpAnd, terms: left}
}

// unmet appends what of a condition does not hold for all entries of a source.
// What leads to a unique value is looked up too: there can be a claim that the
// record has not come to have.
func (src *accessPath) unmet(left []*expr, e *expr) []*expr {
	switch {
	case e.op == schema.OpAnd:
		for _, kid := range e.terms {
			left = src.unmet(left, kid)
		}
		return left
	case slices.Contains(src.ors, e), src.x != nil && !src.x.Unique && slices.Contains(src.consumed, e):
		return left
	}
	return append(left, e)
}

// text names a source for a person.
func (src *accessPath) text(s *schema.Schema) string {
	if src.x == nil {
		return "all records"
	}
	words := make([]string, len(src.consumed))
	for i, c := range src.consumed {
		words[i] = c.text(s)
	}
	return strings.Join(words, " and ")
}
