package graph

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"retwis/index/graph/internal/syntax"
)

// Traversal is a Query built step by step along a path of triples. A method returns
// a longer traversal and leaves its receiver unchanged.
type Traversal struct {
	g     *Graph
	start string
	query Query
	end   Term
}

// From starts a traversal at a name.
func (g *Graph) From(name string) Traversal { return Traversal{g: g, start: name, end: Name(name)} }

// Out follows a predicate from subject to object: From("matteo").Out("likes") is what
// matteo likes.
func (t Traversal) Out(predicate string) Traversal { return t.OutPath(predicate, 1, 1) }

// In follows a predicate from object to subject: From("beer").In("likes") is who likes
// beer.
func (t Traversal) In(predicate string) Traversal { return t.InPath(predicate, 1, 1) }

// OutPath is Out repeated min to max times; max 0: any number of times.
func (t Traversal) OutPath(predicate string, min, max int) Traversal {
	return t.follow(func(from, to Term) Pattern { return Pattern{S: from, P: steps(predicate, min, max), O: to} })
}

// InPath is In repeated min to max times; max 0: any number of times.
func (t Traversal) InPath(predicate string, min, max int) Traversal {
	return t.follow(func(from, to Term) Pattern { return Pattern{S: to, P: steps(predicate, min, max), O: from} })
}

// steps returns the predicate of a pattern for min to max triples.
func steps(predicate string, min, max int) Term {
	if min == 1 && max == 1 {
		return Name(predicate)
	}
	return Path(predicate, min, max)
}

// follow adds a pattern from the end of the traversal to a new variable.
func (t Traversal) follow(pattern func(from, to Term) Pattern) Traversal {
	to := Var(fmt.Sprintf("step%d", len(t.query.Where)+1))
	t.query.Where = append(slices.Clip(t.query.Where), pattern(t.end, to))
	t.end = to
	return t
}

// Has keeps the names that are the subject of a triple: Has("lives-in", "barcelona")
// keeps those who live in barcelona.
func (t Traversal) Has(predicate, object string) Traversal {
	t.query.Where = append(slices.Clip(t.query.Where), Pattern{S: t.end, P: Name(predicate), O: Name(object)})
	return t
}

// Not excludes a name, such as the start.
func (t Traversal) Not(name string) Traversal {
	end := t.end
	other := Filter{text: end.String() + " is not " + syntax.Quote(name), keep: func(b Binding) bool { return end.in(b) != name }}
	if end.kind == syntax.Variable {
		other.vars = []string{end.text}
	}
	t.query.Filters = append(slices.Clip(t.query.Filters), other)
	return t
}

// Limit is the maximum number of names. 0: all.
func (t Traversal) Limit(n int) Traversal {
	t.query.Limit = n
	return t
}

// Query returns the query that the traversal runs.
func (t Traversal) Query() Query {
	q := t.query
	if t.end.kind == syntax.Variable {
		q.Select, q.Distinct = []string{t.end.text}, true
	}
	return q
}

// All yields the names at the end of the traversal, each once, in no particular order.
// It costs as much as its Query.
func (t Traversal) All(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if len(t.query.Where) == 0 {
			yield(t.start, nil)
			return
		}
		for b, err := range t.g.Query(ctx, t.Query()) {
			name := t.start
			if t.end.kind == syntax.Variable {
				name = b.Get(t.end.text)
			}
			if !yield(name, err) {
				return
			}
		}
	}
}
