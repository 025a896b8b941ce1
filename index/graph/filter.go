package graph

import (
	"cmp"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"retwis/index/graph/rdf"
)

// Filter keeps some answers of a Query.
type Filter struct {
	vars []string
	keep func(Binding) bool
	text string
}

// Keep is the filter of a function, which sees the variables that are named here.
func Keep(keep func(Binding) bool, variables ...string) Filter {
	return Filter{vars: variables, keep: keep, text: "a function of " + strings.Join(variables, ", ")}
}

// Differ keeps answers in which two terms are not the same name. Each is a
// variable or a name.
func Differ(a, b Term) Filter {
	f := Filter{text: a.String() + " != " + b.String()}
	for _, t := range [2]Term{a, b} {
		if t.kind == variable {
			f.vars = append(f.vars, t.text)
		}
	}
	f.keep = func(found Binding) bool { return a.in(found) != b.in(found) }
	if a.kind == anything || a.kind == path || b.kind == anything || b.kind == path {
		f.keep = nil
	}
	return f
}

// Matches keeps answers in which a regular expression matches somewhere in the
// name that stands for a variable.
func Matches(variable string, expression *regexp.Regexp) Filter {
	f := Filter{vars: []string{variable}}
	if expression != nil {
		f.text = "?" + variable + " ~ " + quoted(expression.String())
		f.keep = func(found Binding) bool { return expression.MatchString(found.Get(variable)) }
	}
	return f
}

// in is the name that a term stands for in an answer.
func (t Term) in(b Binding) string {
	if t.kind == variable {
		return b.Get(t.text)
	}
	return t.text
}

// Compare keeps answers in which two terms compare as an operator says: <, <=, >, >=, =
// or !=. Each is a variable or a name.
//
// = and != compare names as they are, as patterns do: 10 is not 10.0. The others compare
// what names mean. Names that are decimal numbers, such as 10, -0.5 and 1e3, and literals
// of N-Triples with a numeric type, such as "10"^^<http://www.w3.org/2001/XMLSchema#int>,
// are compared as numbers; all else is compared as text, byte by byte, a literal without
// its quotes, language and type. A number and a text do not compare: such an answer is
// left out.
func Compare(a Term, operator string, b Term) Filter {
	if operator == "!=" {
		return Differ(a, b)
	}
	f := Differ(a, b) // which has the same variables and the same terms
	f.text = a.String() + " " + operator + " " + b.String()
	differ := f.keep
	if differ == nil {
		return f
	}
	if operator == "=" {
		f.keep = func(found Binding) bool { return !differ(found) }
		return f
	}
	in := map[string]func(int) bool{
		"<":  func(c int) bool { return c < 0 },
		"<=": func(c int) bool { return c <= 0 },
		">":  func(c int) bool { return c > 0 },
		">=": func(c int) bool { return c >= 0 },
	}[operator]
	f.keep = nil
	if in != nil {
		left, right := a.meaning(), b.meaning()
		f.keep = func(found Binding) bool {
			c, ok := left(found).compare(right(found))
			return ok && in(c)
		}
	}
	return f
}

// meaning returns what a term means in an answer.
func (t Term) meaning() func(Binding) meaning {
	if t.kind == named {
		m := meaningOf(t.text)
		return func(Binding) meaning { return m }
	}
	return func(b Binding) meaning { return meaningOf(b.Get(t.text)) }
}

// meaning is what a name means in a comparison: a number or a text.
type meaning struct {
	text   string // of a number, its digits
	number float64
	is     bool // a number
}

// compare compares two numbers or two texts.
func (m meaning) compare(other meaning) (c int, ok bool) {
	switch {
	case m.is != other.is:
		return 0, false
	case !m.is:
		return strings.Compare(m.text, other.text), true
	}
	if c := cmp.Compare(m.number, other.number); c != 0 || !m.long() && !other.long() {
		return c, true
	}
	// Numbers of so many digits may be different and have the same float64.
	x, okX := new(big.Rat).SetString(m.text)
	y, okY := new(big.Rat).SetString(other.text)
	if !okX || !okY {
		return 0, true
	}
	return x.Cmp(y), true
}

// long reports whether a number has more digits than a float64 and no exponent, which
// could make it take any amount of memory.
func (m meaning) long() bool {
	return len(m.text) > 15 && len(m.text) <= 1000 && !strings.ContainsAny(m.text, "eE")
}

// number is how a number is written.
var number = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// meaningOf returns what a name means.
func meaningOf(name string) meaning {
	text, numeric := name, true
	if literal, ok := rdf.ParseLiteral(name); ok {
		text, numeric = literal.Text, literal.IsNumeric()
	}
	if numeric && number.MatchString(text) {
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return meaning{text: text, number: x, is: true}
		}
	}
	return meaning{text: text}
}
