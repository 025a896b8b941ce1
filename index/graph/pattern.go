package graph

import (
	"fmt"
	"strconv"
	"strings"
)

// Term is what stands in a pattern: a name, a variable, a path, or anything.
// The zero value is anything.
type Term struct {
	kind     termKind
	text     string // of a name, a variable, or the predicate of a path
	min, max int    // of a path: how many steps; max 0: any number
}

type termKind int

const (
	anything termKind = iota
	named
	variable
	path
)

// Name is the term that only this name fits, whatever bytes are in it.
func Name(name string) Term { return Term{kind: named, text: name} }

// Var is a variable of a Query: wherever it stands, the same name stands.
func Var(name string) Term { return Term{kind: variable, text: name} }

// Path, as the predicate of a pattern of a Query, is a way of from min to max
// steps from the subject to the object, each a triple with this predicate. A max
// of 0 is any number of steps. A min of 0 lets a name lead to itself; one end of such
// a path is a name, or a variable that another pattern binds. A way may lead through a
// name more than once; each pair of ends is found once.
func Path(predicate string, min, max int) Term {
	return Term{kind: path, text: predicate, min: min, max: max}
}

// free tells whether any name fits by itself.
func (t Term) free() bool { return t.kind == anything || t.kind == variable }

// String writes a term as Parse reads it.
func (t Term) String() string {
	switch t.kind {
	case named:
		return quoted(t.text)
	case variable:
		return "?" + t.text
	case path:
		return quoted(t.text) + t.steps()
	}
	return "*"
}

// steps writes how long a path is.
func (t Term) steps() string {
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

// Pattern is a triple with parts left open. The zero value is every triple.
type Pattern struct {
	S, P, O Term
	// Order is in which order Match answers: one that the graph keeps and that
	// begins with the parts that are named. With the predicate named, PSO is by
	// subject and POS by object. Default: by subject, predicate, object as far
	// as these are open, where the graph keeps that order. It is for Match; a
	// Query has an order of its own.
	Order Order
}

// String writes a pattern as Parse reads it.
func (p Pattern) String() string {
	return p.S.String() + " " + p.P.String() + " " + p.O.String()
}

// term returns the term that a letter of an order means.
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
	prefix  string // what all entries of it begin with
	fixed   int    // how many parts that is
	subject string // the subject where it is known; its partition has all of it
}

// spanOf returns the range of a pattern of names and anything else.
func (g *Graph) spanOf(p Pattern) (span, error) {
	fixed := 0
	for _, t := range [3]Term{p.S, p.P, p.O} {
		if t.kind == named {
			fixed++
		}
	}
	for _, order := range kept(g.compact) {
		if (p.Order == "" || p.Order == order) && p.leads(order, fixed) {
			return p.in(order, fixed), nil
		}
	}
	return span{}, invalid("the graph keeps no order %q that begins with what is named in %s; it keeps %v", p.Order, p, kept(g.compact))
}

// leads tells whether the parts that are named come first in an order.
func (p Pattern) leads(order Order, fixed int) bool {
	for i := range fixed {
		if p.term(order[i]).kind != named {
			return false
		}
	}
	return true
}

// in returns the range of a pattern in an order that it leads.
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

// bounds are those of the range for ZRANGE BYLEX: what begins with "spo:a:" is
// before "spo:a;".
func (s span) bounds() (low, high string) {
	if s.fixed == 3 {
		return "[" + s.prefix, "[" + s.prefix
	}
	return "[" + s.prefix, "(" + strings.TrimSuffix(s.prefix, ":") + ";"
}

// keys are those of the partitions that have entries of the range.
func (g *Graph) keys(s span) []string {
	if s.subject != "" {
		return []string{g.set.Of(s.subject).Index}
	}
	keys := make([]string, len(g.set.Keys))
	for i := range keys {
		keys[i] = g.set.Keys[i].Index
	}
	return keys
}
