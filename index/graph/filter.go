package graph

import (
	"cmp"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"retwis/index/graph/rdf"
)

// Filter keeps the answers of a Query that satisfy a condition.
type Filter struct {
	vars []string
	keep func(Binding) bool // nil: the filter is invalid
	text string
}

// FilterFunc keeps the answers for which a function returns true. The function sees
// only the variables that are named here.
func FilterFunc(keep func(Binding) bool, variables ...string) Filter {
	return Filter{vars: variables, keep: keep, text: "a function of " + strings.Join(variables, ", ")}
}

// Matches keeps the answers in which a regular expression matches somewhere in the
// name bound to a variable.
func Matches(variable string, expression *regexp.Regexp) Filter {
	f := Filter{vars: []string{variable}}
	if expression != nil {
		f.text = "?" + variable + " ~ " + quoted(expression.String())
		f.keep = func(found Binding) bool { return expression.MatchString(found.Get(variable)) }
	}
	return f
}

// Compare keeps the answers in which a comparison of two terms is true. The operator is
// <, <=, >, >=, = or !=; a term is a variable or a name.
//
// = and != compare names byte by byte, as patterns do: 10 is not 10.0. The others compare
// values. Names that are decimal numbers, such as 10, -0.5 and 1e3, and literals of
// N-Triples with a numeric type, such as "10"^^<http://www.w3.org/2001/XMLSchema#int>,
// compare as numbers; all others compare as text, byte by byte, a literal without its
// quotes, language and type. A number and a text do not compare: such an answer is left
// out.
func Compare(a Term, operator string, b Term) Filter {
	f := Filter{text: a.String() + " " + operator + " " + b.String()}
	for _, t := range [2]Term{a, b} {
		switch t.kind {
		case variable:
			f.vars = append(f.vars, t.text)
		case anything, path:
			return f
		}
	}
	switch operator {
	case "=":
		f.keep = func(found Binding) bool { return a.in(found) == b.in(found) }
	case "!=":
		f.keep = func(found Binding) bool { return a.in(found) != b.in(found) }
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
	if t.kind == variable {
		return b.Get(t.text)
	}
	return t.text
}

// compareValues returns a filter function that compares the values of two terms.
func compareValues(a, b Term, keep func(c int) bool) func(Binding) bool {
	left, right := a.value(), b.value()
	return func(found Binding) bool {
		c, ok := left(found).compare(right(found))
		return ok && keep(c)
	}
}

// value returns a function that returns the value of a term in an answer.
func (t Term) value() func(Binding) value {
	if t.kind == named {
		v := valueOf(t.text)
		return func(Binding) value { return v }
	}
	return func(b Binding) value { return valueOf(b.Get(t.text)) }
}

// value is the value of a name in a comparison: a number or a text.
type value struct {
	text     string // of a number, its digits
	number   float64
	isNumber bool
}

// compare compares two numbers or two texts. ok is false for a number and a text.
func (v value) compare(other value) (c int, ok bool) {
	switch {
	case v.isNumber != other.isNumber:
		return 0, false
	case !v.isNumber:
		return strings.Compare(v.text, other.text), true
	}
	if c := cmp.Compare(v.number, other.number); c != 0 || !v.long() && !other.long() {
		return c, true
	}
	// Different numbers of so many digits may have the same float64.
	x, okX := new(big.Rat).SetString(v.text)
	y, okY := new(big.Rat).SetString(other.text)
	if !okX || !okY {
		return 0, true
	}
	return x.Cmp(y), true
}

// long reports whether a number has more digits than a float64, but not so many, and
// no exponent, that its exact value could take any amount of memory.
func (v value) long() bool {
	return len(v.text) > 15 && len(v.text) <= 1000 && !strings.ContainsAny(v.text, "eE")
}

var number = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// valueOf returns the value of a name.
func valueOf(name string) value {
	text, numeric := name, true
	if literal, ok := rdf.ParseLiteral(name); ok {
		text, numeric = literal.Text, literal.IsNumeric()
	}
	if numeric && number.MatchString(text) {
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return value{text: text, number: x, isNumber: true}
		}
	}
	return value{text: text}
}
