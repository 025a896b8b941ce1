package graph

import (
	"fmt"
	"strconv"
	"strings"
)

// Term is a part of a pattern: a name, a variable, a path, or anything. The zero value
// is anything.
type Term struct {
	kind     termKind
	text     string // of a name, a variable, or the predicate of a path
	min, max int    // number of triples of a path; max 0: any number
}

type termKind int

const (
	anything termKind = iota
	named
	variable
	path
)

// Name is the term that matches exactly this name.
func Name(name string) Term { return Term{kind: named, text: name} }

// Var is a variable of a Query. It has the same name in all patterns.
func Var(name string) Term { return Term{kind: variable, text: name} }

// Path, as the predicate of a pattern of a Query, is a path of min to max triples with
// this predicate from the subject to the object. A max of 0 means any number. With a min
// of 0 every name has a path to itself; one end of such a path must be a name, or a
// variable that another pattern binds. A path may visit a name more than once; each
// pair of ends is one answer.
func Path(predicate string, min, max int) Term {
	return Term{kind: path, text: predicate, min: min, max: max}
}

// free reports whether the term matches any name.
func (t Term) free() bool { return t.kind == anything || t.kind == variable }

// String formats the term for Parse.
func (t Term) String() string {
	switch t.kind {
	case named:
		return quoted(t.text)
	case variable:
		return "?" + t.text
	case path:
		return quoted(t.text) + t.length()
	}
	return "*"
}

// length writes the length of a path.
func (t Term) length() string {
	switch {
	case t.min == 1 && t.max == 0:
		return "+"
	case t.max == 0:
		return fmt.Sprintf("*%d..", t.min)
	case t.min == t.max:
		return "*" + strconv.Itoa(t.min)
	}
	return fmt.Sprintf("*%d..%d", t.min, t.max)
}

// Pattern is a triple with open parts. The zero value matches every triple.
type Pattern struct {
	S, P, O Term
	// Order is the order of the triples of Select: one that the graph stores and that
	// begins with the parts that are names. With a predicate, PSO is by subject and POS
	// by object. Default: by subject, predicate, object as far as these are open, if the
	// graph stores that order. A Query ignores it.
	Order Order
}

// String formats the pattern for Parse.
func (p Pattern) String() string {
	return p.S.String() + " " + p.P.String() + " " + p.O.String()
}

// term returns the part for a letter of an order.
func (p Pattern) term(letter byte) Term {
	switch letter {
	case 's':
		return p.S
	case 'p':
		return p.P
	}
	return p.O
}

// span is the range of entries of a pattern.
type span struct {
	order   Order
	prefix  string // of all its entries
	fixed   int    // number of parts in the prefix
	subject string // if known: its partition has the whole range
}

// leads reports whether an order begins with the parts that are names.
func (p Pattern) leads(order Order, fixed int) bool {
	for i := range fixed {
		if p.term(order[i]).kind != named {
			return false
		}
	}
	return true
}

// in returns the range of a pattern in an order that begins with its names.
func (p Pattern) in(order Order, fixed int) span {
	s := span{order: order, fixed: fixed, prefix: string(order) + ":"}
	for i := range fixed {
		s.prefix += escape(p.term(order[i]).text)
		if i < 2 {
			s.prefix += ":"
		}
	}
	if p.S.kind == named {
		s.subject = p.S.text
	}
	return s
}

// bounds returns the bounds of the range for ZRANGE BYLEX: entries with the prefix
// "spo:a:" come before "spo:a;".
func (s span) bounds() (low, high string) {
	if s.fixed == 3 {
		return "[" + s.prefix, "[" + s.prefix
	}
	return "[" + s.prefix, "(" + strings.TrimSuffix(s.prefix, ":") + ";"
}
