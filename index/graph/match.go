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

// Match yields the triples of a pattern of names and anything else, in the order
// of the entries; see Pattern.Order. It is one range, read 500 entries a round
// trip, from each partition unless the subject is named. Whoever stops early
// pays for no more. Triples that are put or deleted meanwhile are seen or not;
// one that stays is seen once.
func (g *Graph) Match(ctx context.Context, p Pattern, page index.Page) iter.Seq2[Triple, error] {
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

// prepare checks what Match was asked, and returns the range and the entry that
// it is to begin behind.
func (g *Graph) prepare(ctx context.Context, p Pattern, page index.Page) (s span, after string, err error) {
	switch {
	case page.Limit < 0 || page.Offset < 0:
		return s, "", invalid("limit %d and offset %d must not be negative", page.Limit, page.Offset)
	case p.P.kind == path:
		return s, "", invalid("%s is a path, which is for Query", p.P)
	}
	for _, t := range [3]Term{p.S, p.P, p.O} {
		if t.kind == variable {
			return s, "", invalid("%s is a variable, which is for Query; leave the part open", t)
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
			return s, "", invalid("the cursor is not one that this index gave")
		}
		after = s.order.entry(t.escaped())
		if !strings.HasPrefix(after, s.prefix) {
			return s, "", invalid("the cursor is one of another pattern than %s", p)
		}
	}
	return s, after, g.check(ctx)
}

// entries yields the entries of a range from all partitions that have some.
func (g *Graph) entries(ctx context.Context, s span, page index.Page, after string) iter.Seq2[string, error] {
	keys := g.keys(s)
	skip := 0
	r := reader{span: s, reverse: page.Reverse, after: after, want: page.Limit, skip: page.Offset}
	if len(keys) > 1 { // which of them to pass over is known only when they are merged
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
		passed := 0
		for entry, err := range merged {
			if passed++; err == nil && passed <= skip {
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
	after   string // the entry to begin behind; empty: from the start
	skip    int
	want    int // no more than so many; 0: all
}

func (r reader) read(ctx context.Context, g *Graph, key string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		r := r // a sequence may be gone through again
		for {
			count := step
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

// command reads so many entries of what is left of the range.
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

// Count returns how many triples a pattern of names and anything else has,
// without reading them: one round trip, O(log n).
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

// Len returns how many triples there are.
func (g *Graph) Len(ctx context.Context) (int64, error) { return g.Count(ctx, Pattern{}) }

// counts returns how many entries there are in ranges: one round trip.
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

// Has tells whether a triple is there. One round trip, O(1).
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

// present tells which triples are there: one round trip.
func (g *Graph) present(ctx context.Context, triples []Triple) ([]bool, error) {
	members := make([][]string, len(g.set.Keys))
	of := make([][]int, len(g.set.Keys))
	for i, t := range triples {
		k := g.set.Index(t.S)
		members[k], of[k] = append(members[k], t.id()), append(of[k], i)
	}
	var commands rueidis.Commands
	var asked []int
	for k := range members {
		if len(members[k]) > 0 {
			commands = append(commands, g.set.Client.B().Zmscore().Key(g.set.Keys[k].Index).Member(members[k]...).Build())
			asked = append(asked, k)
		}
	}
	found := make([]bool, len(triples))
	for i, r := range g.set.Client.DoMulti(ctx, commands...) {
		scores, err := r.ToArray()
		if err != nil {
			return nil, g.wrap(ctx, err)
		}
		for j, score := range scores {
			found[of[asked[i]][j]] = !score.IsNil()
		}
	}
	return found, nil
}
