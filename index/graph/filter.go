package graph

import (
	"regexp"

	"retwis/index/graph/internal/syntax"
	"retwis/index/graph/internal/value"
)

// Filter is a condition on the answers of a Query.
type Filter struct {
	vars []string
	keep func(Binding) bool // nil: the filter is invalid
	text string
}

// matches returns a filter that keeps answers in which the name bound to a variable matches a
// regular expression.
func matches(variable string, expression *regexp.Regexp) Filter {
	f := Filter{vars: []string{variable}}
	if expression != nil {
		f.text = "?" + variable + " ~ " + syntax.Quote(expression.String())
		f.keep = func(found Binding) bool { return expression.MatchString(found.Get(variable)) }
	}
	return f
}

// Compare returns a filter that keeps answers in which a comparison of two terms is true. The
// operator is <, <=, >, >=, = or !=; a term is a variable or a name.
//
// A name that is a decimal number, such as 10, -0.5 and 1e3, is compared as a number. Any other
// name is compared as text.
//
//   - Two numbers compare by their exact values: 10 = 10.0, and 9 < 10.
//   - Two texts compare byte by byte.
//   - Numbers and texts are not comparable: only != is true for them.
//
// A number has at most 1,000 bytes, an exponent of at most three digits, and a value in the
// range of a float64. Other names, including NaN and INF, are texts.
func Compare(a Term, operator string, b Term) Filter {
	f := Filter{text: a.String() + " " + operator + " " + b.String()}
	for _, t := range [2]Term{a, b} {
		switch t.term.Kind {
		case syntax.Variable:
			f.vars = append(f.vars, t.term.Text)
		case syntax.Anything, syntax.Path:
			return f
		}
	}
	switch operator {
	case "=":
		f.keep = equalValues(a, b, true)
	case "!=":
		f.keep = equalValues(a, b, false)
	case "<":
		f.keep = compareValues(a, b, func(c int) bool { return c < 0 })
	case "<=":
		f.keep = compareValues(a, b, func(c int) bool { return c <= 0 })
	case ">":
		f.keep = compareValues(a, b, func(c int) bool { return c > 0 })
	case ">=":
		f.keep = compareValues(a, b, func(c int) bool { return c >= 0 })
	}
	return f
}

// in returns the name of a term in an answer.
func (t Term) in(b Binding) string {
	if t.is(syntax.Variable) {
		return b.Get(t.term.Text)
	}
	return t.term.Text
}

// equalValues returns a filter function for = if keep is true, and for != otherwise.
func equalValues(a, b Term, keep bool) func(Binding) bool {
	left, right := a.value(), b.value()
	return func(found Binding) bool {
		if a.in(found) == b.in(found) {
			return keep
		}
		x, y := left(found), right(found)
		return x.Equal(y) == keep
	}
}

// compareValues returns a filter function that compares the order of two terms.
func compareValues(a, b Term, keep func(c int) bool) func(Binding) bool {
	left, right := a.value(), b.value()
	return func(found Binding) bool {
		c, ok := left(found).Compare(right(found))
		return ok && keep(c)
	}
}

// value returns a function that returns the value of a term in an answer.
func (t Term) value() func(Binding) value.Value {
	if t.is(syntax.Name) {
		v := value.Of(t.term.Text)
		return func(Binding) value.Value { return v }
	}
	return func(b Binding) value.Value { return value.Of(b.Get(t.term.Text)) }
}
