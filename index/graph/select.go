package graph

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/scan"
)

// Select yields the triples that match a pattern without variables, in the order of the
// entries; see Pattern.Order. It reads one range, 500 entries a round trip, from each
// partition unless the pattern has a subject, and reads no further when the caller
// stops. Triples that are put or removed during the iteration may be missing; a triple
// that stays is yielded once.
func (g *Graph) Select(ctx context.Context, p Pattern, page index.Page) iter.Seq2[Triple, error] {
	return func(yield func(Triple, error) bool) {
		s, after, err := g.prepare(ctx, p, page)
		if err != nil {
			yield(Triple{}, err)
			return
		}
		read := 0
		for entry, err := range g.entries(ctx, s, page, after) {
			if err != nil {
				yield(Triple{}, err)
				return
			}
			_, t, ok := parseEntry(entry)
			if !ok {
				yield(Triple{}, g.damaged(entry))
				return
			}
			read++
			if !yield(t, nil) || read == page.Limit {
				return
			}
		}
	}
}

// All yields all triples, by subject, then predicate, then object, as Select does.
func (g *Graph) All(ctx context.Context, page index.Page) iter.Seq2[Triple, error] {
	return g.Select(ctx, Pattern{}, page)
}

// prepare validates the arguments of Select, and returns the range and the entry after
// which it starts.
func (g *Graph) prepare(ctx context.Context, p Pattern, page index.Page) (s span, after string, err error) {
	switch {
	case page.Limit < 0 || page.Offset < 0:
		return s, "", invalid("limit %d and offset %d must not be negative", page.Limit, page.Offset)
	case p.P.kind == path:
		return s, "", invalid("%s is a path: use Query", p.P)
	}
	for _, t := range [3]Term{p.S, p.P, p.O} {
		if t.kind == variable {
			return s, "", invalid("%s is a variable: use Query, or the zero Term", t)
		}
	}
	if s, err = g.spanOf(p); err != nil {
		return s, "", err
	}
	if page.After != "" {
		id, err := scan.DecodeCursor(page.After)
		if err != nil {
			return s, "", invalid("%v", err)
		}
		order, t, ok := parseEntry(id)
		if !ok || order != SPO {
			return s, "", invalid("the cursor is not one of this index")
		}
		after = s.order.entry(t.escaped())
		if !strings.HasPrefix(after, s.prefix) {
			return s, "", invalid("the cursor belongs to another pattern than %s", p)
		}
	}
	return s, after, g.check(ctx)
}

// entries yields the entries of a range, merged from the partitions that can have some.
func (g *Graph) entries(ctx context.Context, s span, page index.Page, after string) iter.Seq2[string, error] {
	keys := g.keys(s)
	skip := 0
	r := reader{span: s, reverse: page.Reverse, after: after, want: page.Limit, skip: page.Offset}
	if len(keys) > 1 { // the offset counts merged entries
		skip, r.skip = page.Offset, 0
		if r.want > 0 {
			r.want += skip
		}
	}
	sequences := make([]iter.Seq2[string, error], len(keys))
	for i, key := range keys {
		sequences[i] = r.read(ctx, g, key)
	}
	compare := strings.Compare
	if page.Reverse {
		compare = func(a, b string) int { return strings.Compare(b, a) }
	}
	merged := scan.Merge(compare, sequences...)
	if skip == 0 {
		return merged
	}
	return func(yield func(string, error) bool) {
		skipped := 0
		for entry, err := range merged {
			if skipped++; err == nil && skipped <= skip {
				continue
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}

// reader reads a range of one partition.
type reader struct {
	span
	reverse bool
	after   string // the entry after which to start; empty: at the beginning
	skip    int
	want    int // how many entries at most; 0: all
}

func (r reader) read(ctx context.Context, g *Graph, key string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		r := r // a sequence can be iterated twice
		for {
			count := readSize
			if r.want > 0 {
				count = min(count, r.want)
			}
			found, err := g.set.Client.Do(ctx, r.command(g, key, count)).AsStrSlice()
			if err != nil {
				yield("", g.wrap(ctx, err))
				return
			}
			for _, entry := range found {
				if !yield(entry, nil) {
					return
				}
			}
			if r.want > 0 {
				if r.want -= len(found); r.want == 0 {
					return
				}
			}
			if len(found) < count {
				return
			}
			r.after, r.skip = found[len(found)-1], 0
		}
	}
}

// command reads the next count entries of the range.
func (r *reader) command(g *Graph, key string, count int) rueidis.Completed {
	low, high := r.bounds()
	b := g.set.Client.B().Zrange().Key(key)
	if r.reverse {
		if r.after != "" {
			high = "(" + r.after
		}
		return b.Min(high).Max(low).Bylex().Rev().Limit(int64(r.skip), int64(count)).Build()
	}
	if r.after != "" {
		low = "(" + r.after
	}
	return b.Min(low).Max(high).Bylex().Limit(int64(r.skip), int64(count)).Build()
}

// Count returns how many triples match a pattern without variables, without reading
// them: one round trip, O(log n).
func (g *Graph) Count(ctx context.Context, p Pattern) (int64, error) {
	s, _, err := g.prepare(ctx, p, index.Page{})
	if err != nil {
		return 0, err
	}
	counts, err := g.counts(ctx, []span{s})
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// Len returns the number of triples: one round trip, O(log n).
func (g *Graph) Len(ctx context.Context) (int64, error) { return g.Count(ctx, Pattern{}) }

// counts returns the number of entries in each range: one round trip.
func (g *Graph) counts(ctx context.Context, spans []span) ([]int64, error) {
	var commands rueidis.Commands
	var of []int
	for i, s := range spans {
		low, high := s.bounds()
		for _, key := range g.keys(s) {
			commands = append(commands, g.set.Client.B().Zlexcount().Key(key).Min(low).Max(high).Build())
			of = append(of, i)
		}
	}
	counts := make([]int64, len(spans))
	for i, r := range g.set.Client.DoMulti(ctx, commands...) {
		n, err := r.AsInt64()
		if err != nil {
			return nil, g.wrap(ctx, err)
		}
		counts[of[i]] += n
	}
	return counts, nil
}

// Has reports whether the graph has a triple. One round trip, O(1).
func (g *Graph) Has(ctx context.Context, t Triple) (bool, error) {
	if err := t.check(); err != nil {
		return false, fmt.Errorf("graph: %w", err)
	}
	if err := g.check(ctx); err != nil {
		return false, err
	}
	found, err := g.present(ctx, []Triple{t})
	if err != nil {
		return false, err
	}
	return found[0], nil
}

// present reports which triples the graph has: one round trip.
func (g *Graph) present(ctx context.Context, triples []Triple) ([]bool, error) {
	members := make([][]string, len(g.set.Keys))
	of := make([][]int, len(g.set.Keys))
	for i, t := range triples {
		k := g.set.Index(t.S)
		members[k], of[k] = append(members[k], t.id()), append(of[k], i)
	}
	var commands rueidis.Commands
	var partitions []int
	for k := range members {
		if len(members[k]) > 0 {
			commands = append(commands, g.set.Client.B().Zmscore().Key(g.set.Keys[k].Index).Member(members[k]...).Build())
			partitions = append(partitions, k)
		}
	}
	found := make([]bool, len(triples))
	for i, r := range g.set.Client.DoMulti(ctx, commands...) {
		scores, err := r.ToArray()
		if err != nil {
			return nil, g.wrap(ctx, err)
		}
		for j, score := range scores {
			found[of[partitions[i]][j]] = !score.IsNil()
		}
	}
	return found, nil
}
