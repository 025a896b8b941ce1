package graph

import (
	"strings"
)

// Term is a part of a pattern: a name, a variable, a path, or anything. The zero value
// is anything.
type Term struct {
	kind  termKind
	text  string // of a name or a variable
	route *route // of a path; nil: it is not valid
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
		return t.route.String()
	}
	return "*"
}

// Pattern is a triple with open parts. The zero value matches every triple.
//
// The predicate of a pattern of a Query can be a path: of several triples by Sequence,
// backwards by Inverse, several times by Repeat. The pattern then matches the subject and
// the object if a path leads from one to the other. A path may visit a name more than
// once; each pair of ends is one answer. A path has at most 64 predicates and, if it is
// bounded, 1,000 triples.
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

// simple returns an equal pattern without a path if that has one triple, and without the
// inverse of a single predicate.
func (p Pattern) simple() Pattern {
	r := p.P.route
	if p.P.kind != path || r == nil {
		return p
	}
	if all := r.predicates(); len(all) == 1 && all[0].inverse {
		p.S, p.O = p.O, p.S
		r = r.turned()
		p.P = Term{kind: path, route: r}
	}
	if r.steps == nil && r.again == nil {
		p.P = Name(r.predicate)
	}
	return p
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
