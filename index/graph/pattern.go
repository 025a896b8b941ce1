package graph

import (
	"retwis/index/graph/internal/entries"
	"retwis/index/graph/internal/syntax"
)

// Term is a part of a pattern: a name, a variable, a path, or open. The zero value is open and
// matches any name.
type Term struct{ term syntax.Term }

// Name returns a term that matches only the given name.
func Name(name string) Term { return Term{syntax.Term{Kind: syntax.Name, Text: name}} }

// Var returns a variable of a Query. It is bound to the same name in all patterns.
func Var(name string) Term { return Term{syntax.Term{Kind: syntax.Variable, Text: name}} }

// Path returns a predicate that matches if a path of min to max triples with the given
// predicate leads from the subject to the object; max 0 means no maximum. A path may visit a
// name more than once; each pair of ends is one answer. At least one end of a path must be a
// name, or a variable that another pattern binds. With min 0 every name has a path to itself. A
// bounded path has at most 1,000 triples.
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
	// Order is the sort order of Select: "spo", "sop", "pso", "pos", "osp" or "ops". The graph
	// must store the order, and it must begin with the parts that are names. For a given
	// predicate, "pso" sorts by subject and "pos" by object. Default: open parts are sorted by
	// subject, predicate, object, if the graph stores that order. A Query ignores Order.
	Order string
}

// String formats the pattern for Parse.
func (p Pattern) String() string {
	return p.S.String() + " " + p.P.String() + " " + p.O.String()
}

// simple returns an equivalent pattern without a path if the path has exactly one triple.
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

// known returns the number of parts that are names.
func (p Pattern) known() (n int) {
	for _, t := range [3]Term{p.S, p.P, p.O} {
		if t.is(syntax.Name) {
			n++
		}
	}
	return n
}

// leads reports whether the first fixed parts of an order are names.
func (p Pattern) leads(order tripleOrder, fixed int) bool {
	for i := range fixed {
		if !p.term(order[i]).is(syntax.Name) {
			return false
		}
	}
	return true
}

// in returns the range of a pattern in an order whose first fixed parts are names.
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
