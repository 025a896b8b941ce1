package graph

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"retwis/index"
	"retwis/index/graph/internal/entries"
	"retwis/index/graph/internal/syntax"
	"retwis/internal/redis/scan"
)

// Select yields the triples that match a pattern without variables, in the order of the
// entries; see Pattern.Order. It reads one range, 500 entries per round trip, from every
// partition or, if the pattern has a subject, from one. It stops reading when the caller stops.
// Triples that are put or removed during the iteration may be missing; all others are yielded
// once.
func (g *Graph) Select(ctx context.Context, p Pattern, page index.Page) iter.Seq2[Triple, error] {
	return func(yield func(Triple, error) bool) {
		s, after, err := g.prepare(ctx, p, page)
		if err != nil {
			yield(Triple{}, err)
			return
		}
		read := 0
		for entry, err := range g.store.All(ctx, s, page, after) {
			if err != nil {
				yield(Triple{}, err)
				return
			}
			_, t, ok := parseEntry(entry)
			if !ok {
				yield(Triple{}, g.store.Damaged(entry))
				return
			}
			read++
			if !yield(t, nil) || read == page.Limit {
				return
			}
		}
	}
}

// All yields all triples, sorted by subject, then predicate, then object, as Select does.
func (g *Graph) All(ctx context.Context, page index.Page) iter.Seq2[Triple, error] {
	return g.Select(ctx, Pattern{}, page)
}

// prepare validates the arguments of Select, and returns the range to read and the entry after
// which to start.
func (g *Graph) prepare(ctx context.Context, p Pattern, page index.Page) (s entries.Range, after string, err error) {
	switch {
	case page.Limit < 0 || page.Offset < 0:
		return s, "", invalid("limit %d and offset %d must not be negative", page.Limit, page.Offset)
	case p.P.is(syntax.Path):
		return s, "", invalid("%s is a path: use Query", p.P)
	}
	for _, t := range [3]Term{p.S, p.P, p.O} {
		if t.is(syntax.Variable) {
			return s, "", invalid("%s is a variable: use Query, or the zero Term", t)
		}
	}
	order, err := g.store.orderOf(p)
	if err != nil {
		return s, "", err
	}
	s = p.in(order, p.known())
	if page.After != "" {
		id, err := scan.DecodeCursor(page.After)
		if err != nil {
			return s, "", invalid("%v", err)
		}
		stored, t, ok := parseEntry(id)
		if !ok || stored != spo {
			return s, "", invalid("the cursor does not belong to this graph")
		}
		after = order.entry(t.escaped())
		if !strings.HasPrefix(after, s.Prefix) {
			return s, "", invalid("the cursor does not belong to the pattern %s", p)
		}
	}
	return s, after, g.store.Check(ctx)
}

// Count returns the number of triples that match a pattern without variables. It reads
// no triples: one round trip, O(log n).
func (g *Graph) Count(ctx context.Context, p Pattern) (int64, error) {
	s, _, err := g.prepare(ctx, p, index.Page{})
	if err != nil {
		return 0, err
	}
	counts, err := g.store.Counts(ctx, []entries.Range{s})
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// Len returns the number of triples: one round trip, O(log n).
func (g *Graph) Len(ctx context.Context) (int64, error) { return g.Count(ctx, Pattern{}) }

// Has reports whether the graph contains a triple: one round trip, O(1).
func (g *Graph) Has(ctx context.Context, t Triple) (bool, error) {
	if err := t.check(); err != nil {
		return false, fmt.Errorf("graph: %w", err)
	}
	if err := g.store.Check(ctx); err != nil {
		return false, err
	}
	found, err := g.store.present(ctx, []Triple{t})
	if err != nil {
		return false, err
	}
	return found[0], nil
}
