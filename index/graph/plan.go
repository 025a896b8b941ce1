package graph

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"retwis/index/graph/internal/syntax"
)

// plan is an executable query. A row has a column for each variable.
type plan struct {
	steps    []*planStep
	vars     []string // variable of each column
	selected []string
	columns  []int // of selected
	distinct bool  // duplicates are possible and must be omitted
	order    []SortKey
	keys     []int // columns of order
	offset   int
	limit    int
	memory   int64
	empty    bool
}

// planStep joins the rows so far with one pattern.
type planStep struct {
	pattern  Pattern
	count    int64
	operands [3]operand // subject, predicate, object
	operator operator
	order    tripleOrder // for a range scan
	fixed    int         // number of known parts
	filters  []Filter

	reached  *nameSet // cached result of a path that always starts at the same name
	hashable bool     // for an existence check: reading all matches may be cheaper
	hash     *nameSet // for an existence check: the names of the variable in all matches
}

// operator is the access method of a step.
type operator int

const (
	rangeScan       operator = iota // a range for each row
	existenceCheck                  // checks whether the triple of each row exists
	pathFromSubject                 // breadth-first search
	pathFromObject
)

// operand relates a part of a pattern to a row.
type operand struct {
	kind   operandKind
	name   string // of a constant
	column int    // of a variable
}

type operandKind int

const (
	ignored  operandKind = iota
	constant             // a name in the query
	bound                // a variable that an earlier step binds
	binds                // a variable that this step binds
	repeated             // a variable that another part of this pattern binds
)

func (o operand) known() bool { return o.kind == constant || o.kind == bound }

// in returns the name of a known operand in a row.
func (o operand) in(row []string) string {
	if o.kind == constant {
		return o.name
	}
	return row[o.column]
}

// operand returns the operand for a letter of an order.
func (s *planStep) operand(letter byte) operand { return s.operands[strings.IndexByte("spo", letter)] }

// plan validates a query and orders its patterns: first patterns whose parts are all bound,
// since these only remove rows; then patterns that share a variable with the rows; within each
// kind, the pattern with the fewest estimated matches.
func (st *store) plan(ctx context.Context, q Query) (*plan, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	if err := st.Check(ctx); err != nil {
		return nil, err
	}
	p := newPlan(q)
	remaining, err := st.estimate(ctx, q.Where)
	if err != nil {
		return nil, err
	}
	filters := slices.Clone(q.Filters)
	bound := map[string]bool{}
	for len(remaining) > 0 {
		next := slices.MinFunc(remaining, func(a, b estimate) int {
			return cmp.Or(cmp.Compare(a.join(bound), b.join(bound)), cmp.Compare(a.rows, b.rows))
		})
		remaining = slices.DeleteFunc(remaining, func(e estimate) bool { return e.position == next.position })
		p.empty = p.empty || next.empty
		p.add(next, bound, st.compact)
		last := p.steps[len(p.steps)-1]
		filters = slices.DeleteFunc(filters, func(f Filter) bool {
			ready := len(remaining) == 0 || len(f.vars) > 0 && !slices.ContainsFunc(f.vars, func(v string) bool { return !bound[v] })
			if ready {
				last.filters = append(last.filters, f)
			}
			return ready
		})
	}
	return p, nil
}

// newPlan returns the plan of a query without its steps.
func newPlan(q Query) *plan {
	p := &plan{vars: q.Vars(), selected: q.Select, order: q.OrderBy, memory: cmp.Or(q.Memory, defaultMemory)}
	p.offset = min(q.Offset, math.MaxInt/2)
	p.limit = min(q.Limit, math.MaxInt/2)
	if len(p.selected) == 0 {
		p.selected = p.vars
	}
	for _, v := range p.selected {
		p.columns = append(p.columns, slices.Index(p.vars, v))
	}
	for _, k := range p.order {
		p.keys = append(p.keys, slices.Index(p.vars, k.Var))
	}
	p.distinct = q.Distinct && (len(p.selected) < len(p.vars) || slices.ContainsFunc(q.Where, Pattern.hasOpenPart))
	return p
}

// readsAll reports whether the query reads all answers.
func (p *plan) readsAll() bool { return p.limit == 0 || len(p.order) > 0 }

// hasOpenPart reports whether a part of a pattern is open, so that several matches can be the
// same answer.
func (p Pattern) hasOpenPart() bool {
	return p.S.is(syntax.Anything) || p.P.is(syntax.Anything) || p.O.is(syntax.Anything)
}

// add adds a step for a pattern, and adds the variables of the pattern to bound.
func (p *plan) add(e estimate, bound map[string]bool, compact bool) {
	s := &planStep{pattern: e.Pattern, count: e.count, operands: p.operands(e.Pattern, bound)}
	if e.P.is(syntax.Path) {
		s.operator = pathFromSubject
		if !s.operands[0].known() {
			s.operator = pathFromObject
		}
		p.steps = append(p.steps, s)
		return
	}
	for _, o := range s.operands {
		if o.known() {
			s.fixed++
		}
	}
	for _, order := range ordersOf(compact) {
		if s.leads(order) {
			s.order = order
			break
		}
	}
	if s.fixed == 3 {
		s.operator = existenceCheck
		// Reading entries in sequence takes the server a third of the time of as many
		// lookups. The number of rows is known only for the first step and serves as a bound.
		s.hashable = p.readsAll() && len(p.steps) > 0 && s.count <= 3*p.steps[0].count && len(e.names().open()) == 1
	}
	p.steps = append(p.steps, s)
}

// operands returns the operands of a pattern, and marks its variables as bound.
func (p *plan) operands(pattern Pattern, isBound map[string]bool) (operands [3]operand) {
	fresh := map[string]bool{}
	for i, t := range [3]Term{pattern.S, pattern.P, pattern.O} {
		o := operand{name: t.term.Text, column: slices.Index(p.vars, t.term.Text)}
		switch {
		case t.is(syntax.Name) || t.is(syntax.Path):
			o.kind = constant
		case t.is(syntax.Anything):
		case isBound[t.term.Text]:
			o.kind = bound
		case fresh[t.term.Text]:
			o.kind = repeated
		default:
			o.kind = binds
			fresh[t.term.Text] = true
		}
		operands[i] = o
	}
	for v := range fresh {
		isBound[v] = true
	}
	return operands
}

// leads reports whether an order begins with the known parts.
func (s *planStep) leads(order tripleOrder) bool {
	for i := range s.fixed {
		if !s.operand(order[i]).known() {
			return false
		}
	}
	return true
}
