package graph

import (
	"retwis/index/graph/internal/entries"
	"retwis/index/graph/internal/syntax"
)

// Term is a part of a pattern: a name, a variable, a path, or anything. The zero value
// is anything.
type Term struct{ term syntax.Term }

// Name is the term that matches exactly this name.
func Name(name string) Term { return Term{syntax.Term{Kind: syntax.Name, Text: name}} }

// Var is a variable of a Query. It has the same name in all patterns.
func Var(name string) Term { return Term{syntax.Term{Kind: syntax.Variable, Text: name}} }

// Path is the predicate of a pattern that matches the subject and the object if a path of
// min to max triples with this predicate leads from one to the other; a max of 0 is any
// number. A path may visit a name more than once; each pair of ends is one answer. At least
// one end of a path must be a name, or a variable that another pattern binds. With a min of 0
// every name has a path to itself. A bounded path has at most 1,000 triples.
func Path(predicate string, min, max int) Term {
	return Term{syntax.Term{Kind: syntax.Path, Text: predicate, Min: min, Max: max}}
}

// is reports whether the term is of a kind.
func (t Term) is(kind syntax.Kind) bool { return t.term.Kind == kind }

// free reports whether the term matches any name.
func (t Term) free() bool { return t.is(syntax.Anything) || t.is(syntax.Variable) }

// String formats the term for Parse.
func (t Term) String() string { return t.term.String() }

// Pattern is a triple with open parts. The zero value matches every triple.
type Pattern struct {
	S, P, O Term
	// Order is the order of the triples of Select: one that the graph stores and that
	// begins with the parts that are names: "spo", "sop", "pso", "pos", "osp" or "ops". With a
	// predicate, "pso" is by subject and "pos" by object. Default: by subject, predicate, object as far as these are open, if the
	// graph stores that order. A Query ignores it.
	Order string
}

// String formats the pattern for Parse.
func (p Pattern) String() string {
	return p.S.String() + " " + p.P.String() + " " + p.O.String()
}

// simple returns an equal pattern without a path if that has one triple.
func (p Pattern) simple() Pattern {
	if path := p.P.term; path.Kind == syntax.Path && path.Min == 1 && path.Max == 1 {
		p.P = Name(path.Text)
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

// known returns how many parts are names.
func (p Pattern) known() (n int) {
	for _, t := range [3]Term{p.S, p.P, p.O} {
		if t.is(syntax.Name) {
			n++
		}
	}
	return n
}

// leads reports whether an order begins with the parts that are names.
func (p Pattern) leads(order tripleOrder, fixed int) bool {
	for i := range fixed {
		if !p.term(order[i]).is(syntax.Name) {
			return false
		}
	}
	return true
}

// in returns the range of a pattern in an order that begins with its names.
func (p Pattern) in(order tripleOrder, fixed int) entries.Range {
	r := entries.Range{Prefix: string(order) + ":", Whole: fixed == 3}
	for i := range fixed {
		r.Prefix += entries.Escape(p.term(order[i]).term.Text)
		if i < 2 {
			r.Prefix += ":"
		}
	}
	if p.S.is(syntax.Name) {
		r.Subject = p.S.term.Text
	}
	return r
}
