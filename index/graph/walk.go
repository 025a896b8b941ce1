package graph

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// Walk is a way through a graph from name to name. It is a Query that is put
// together step by step; each method returns a longer one and leaves the one it
// is called on as it is.
type Walk struct {
	g     *Graph
	start string
	query Query
	end   Term
}

// From begins a walk at a name.
func (g *Graph) From(name string) Walk { return Walk{g: g, start: name, end: Name(name)} }

// Out goes on to the objects: from matteo, Out("likes") is what matteo likes.
func (w Walk) Out(predicate string) Walk { return w.OutPath(predicate, 1, 1) }

// In goes on to the subjects: from beer, In("likes") is who likes beer.
func (w Walk) In(predicate string) Walk { return w.InPath(predicate, 1, 1) }

// OutPath goes on to the objects, from min to max steps away; max 0: any number.
func (w Walk) OutPath(predicate string, min, max int) Walk {
	return w.on(func(from, to Term) Pattern { return Pattern{S: from, P: stepsOf(predicate, min, max), O: to} })
}

// InPath goes on to the subjects, from min to max steps away; max 0: any number.
func (w Walk) InPath(predicate string, min, max int) Walk {
	return w.on(func(from, to Term) Pattern { return Pattern{S: to, P: stepsOf(predicate, min, max), O: from} })
}

func stepsOf(predicate string, min, max int) Term {
	if min == 1 && max == 1 {
		return Name(predicate)
	}
	return Path(predicate, min, max)
}

// on adds a pattern from the end of the walk to a new one.
func (w Walk) on(pattern func(from, to Term) Pattern) Walk {
	to := Var(fmt.Sprintf("step%d", len(w.query.Where)+1))
	w.query.Where = append(slices.Clip(w.query.Where), pattern(w.end, to))
	w.end = to
	return w
}

// Has keeps the names that are the subject of a triple: who lives in barcelona is
// Has("lives-in", "barcelona").
func (w Walk) Has(predicate, object string) Walk {
	w.query.Where = append(slices.Clip(w.query.Where), Pattern{S: w.end, P: Name(predicate), O: Name(object)})
	return w
}

// Not leaves out a name, such as that where the walk began.
func (w Walk) Not(name string) Walk {
	w.query.Filters = append(slices.Clip(w.query.Filters), Differ(w.end, Name(name)))
	return w
}

// Limit is how many names are wanted at most. 0: all.
func (w Walk) Limit(n int) Walk {
	w.query.Limit = n
	return w
}

// Query is what the walk asks.
func (w Walk) Query() Query {
	q := w.query
	if w.end.kind == variable {
		q.Select, q.Distinct = []string{w.end.text}, true
	}
	return q
}

// Values yields the names where the walk ends, each once, in no order that is
// promised. It costs what its Query does.
func (w Walk) Values(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if len(w.query.Where) == 0 { // not a step was gone
			yield(w.start, nil)
			return
		}
		for b, err := range w.g.Query(ctx, w.Query()) {
			name := w.start
			if w.end.kind == variable {
				name = b.Get(w.end.text)
			}
			if !yield(name, err) {
				return
			}
		}
	}
}
