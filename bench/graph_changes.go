package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index/graph"
	"retwis/maintain"
)

const graphChanges = 2000

// changes compares Set and RemoveWhere with plain commands that know the old triples, by
// the time of the server.
func (b *graphBench) changes(ctx context.Context, out io.Writer) error {
	g, err := b.open("people", graph.Options{})
	if err != nil {
		return err
	}
	age := func(i, round int) graph.Triple {
		return graph.Triple{S: "person" + strconv.Itoa(i), P: "age", O: strconv.Itoa(20 + round)}
	}
	tagged := func(round, n int) (objects []string) {
		for i := range n {
			objects = append(objects, fmt.Sprintf("tag%d-%d", round, i))
		}
		return objects
	}
	var ages, tags []graph.Triple
	sides := []struct {
		name string
		per  int // changes of a run
		run  func(round int) error
	}{
		{"`MULTI`, `ZREM` and `ZADD` of six entries each, `EXEC`", graphChanges, func(round int) error {
			for i := range graphChanges {
				if err := b.bareSet(ctx, age(i, 2*round), age(i, 2*round+1)); err != nil {
					return err
				}
			}
			return nil
		}},
		{"`Set` of one object in place of another", graphChanges, func(round int) error {
			for i := range graphChanges {
				if _, removed, err := g.Set(ctx, age(i, 0).S, "age", age(i, 2*round+2).O); err != nil || removed != 1 {
					return fmt.Errorf("%d were removed (%w)", removed, err)
				}
			}
			return nil
		}},
		{"`Set` of 100 objects in place of 100, for each call", 20, func(round int) error {
			for i := range 20 {
				if _, _, err := g.Set(ctx, "post", "tag", tagged(20*round+i, 100)...); err != nil {
					return err
				}
			}
			return nil
		}},
		{"`ZREM` of six entries each, pipelines of 1,000", len(tags), nil},
		{"`RemoveWhere` of a predicate, six orders", len(tags), nil},
	}
	for i := range graphChanges {
		ages = append(ages, age(i, 0))
	}
	for i := range 20_000 {
		tags = append(tags, graph.Triple{S: "person" + strconv.Itoa(i), P: "tag", O: "tag" + strconv.Itoa(i%100)})
	}
	sides[3].per, sides[4].per = len(tags), len(tags)
	sides[3].run = func(int) error { return b.bareRemove(ctx, tags) }
	sides[4].run = func(int) error {
		n, err := g.RemoveWhere(ctx, graph.Query{Where: []graph.Pattern{{P: graph.Name("tag")}}}, maintain.Options{})
		if err == nil && n != len(tags) {
			err = fmt.Errorf("%d triples are removed, want %d", n, len(tags))
		}
		return err
	}
	if _, err := g.PutMany(ctx, slices.Values(ages)); err != nil {
		return err
	}
	costs := make([][]float64, len(sides))
	for round := range b.opt.rounds {
		for i, s := range sides {
			if i >= 3 {
				if _, _, err := g.Set(ctx, "post", "tag"); err != nil {
					return err
				}
				if _, err := g.PutMany(ctx, slices.Values(tags)); err != nil {
					return err
				}
			}
			before, err := serverSeconds(ctx, b.client)
			if err != nil {
				return err
			}
			if err := s.run(round); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			after, err := serverSeconds(ctx, b.client)
			if err != nil {
				return err
			}
			costs[i] = append(costs[i], (after-before)*1e6/float64(s.per))
		}
	}
	fmt.Fprintf(out, "Changes in the graph of %s triples, server CPU, medians of %d rounds:\n\n| | µs | ratio |\n| --- | ---: | ---: |\n", thousands(graphTriples), b.opt.rounds)
	for i, s := range sides {
		ratio := ""
		if i != 2 {
			ratio = fmt.Sprintf("**%.2f**", medianNumber(costs[i])/medianNumber(costs[i-i%3%2]))
		}
		fmt.Fprintf(out, "| %s | %.1f | %s |\n", s.name, medianNumber(costs[i]), ratio)
	}
	fmt.Fprintln(out)
	return nil
}

// medianNumber returns the median.
func medianNumber(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }

// sixEntries returns the entries of a triple whose names need no escaping.
func sixEntries(t graph.Triple) (entries []string) {
	for _, entry := range entriesIn(sixOrders)([]graph.Triple{t}) {
		entries = append(entries, entry)
	}
	return entries
}

// bareSet replaces a triple by another in a transaction.
func (b *graphBench) bareSet(ctx context.Context, old, new graph.Triple) error {
	add := b.client.B().Zadd().Key("people").ScoreMember()
	entries := sixEntries(new)
	last := add.ScoreMember(0, entries[0])
	for _, entry := range entries[1:] {
		last = last.ScoreMember(0, entry)
	}
	for _, r := range b.client.DoMulti(
		ctx, b.client.B().Multi().Build(),
		b.client.B().Zrem().Key("people").Member(sixEntries(old)...).Build(), last.Build(),
		b.client.B().Exec().Build(),
	) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}

// bareRemove removes the six entries of each triple by one ZREM.
func (b *graphBench) bareRemove(ctx context.Context, triples []graph.Triple) error {
	for some := range slices.Chunk(triples, 1000) {
		commands := make(rueidis.Commands, len(some))
		for i, t := range some {
			commands[i] = b.client.B().Zrem().Key("people").Member(sixEntries(t)...).Build()
		}
		for _, r := range b.client.DoMulti(ctx, commands...) {
			if err := r.Error(); err != nil {
				return err
			}
		}
	}
	return nil
}

// paths compares paths with a client that follows them name by name, and an ordered query
// with the same in no order.
func (b *graphBench) paths(ctx context.Context, out io.Writer) error {
	g, err := b.open("people", graph.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `Paths, compared with a client that reads one range for each name and step; each end once,
server CPU, medians of %d rounds:

| | ends | one at a time | its round trips | `+"`Query`"+` | ratio |
| --- | ---: | ---: | ---: | ---: | ---: |
`, b.opt.rounds)
	for _, p := range []struct {
		text  string
		start string
		steps []string
	}{
		{"person1 friend-of/lives-in ?x", "person1", []string{"spo:*:friend-of:", "spo:*:lives-in:"}},
		{"person1 friend-of/friend-of/likes ?x", "person1", []string{"spo:*:friend-of:", "spo:*:friend-of:", "spo:*:likes:"}},
		{"city50 ^lives-in/likes/^likes ?x", "city50", []string{"pos:lives-in:*:", "spo:*:likes:", "pos:likes:*:"}},
	} {
		q, err := graph.Parse(p.text)
		if err != nil {
			return err
		}
		one := followed{ctx: ctx, client: b.client}
		row, err := b.compared(ctx, p.text, func() (int, error) { one.trips = 0; return one.follow(p.start, p.steps) }, func() (int, error) { return answered(ctx, g, q) })
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s | %s | **%.1f** |\n", p.text, thousands(row.n), milliseconds(row.slow),
			thousands(one.trips), milliseconds(row.fast), row.ratio)
	}
	fmt.Fprintln(out)
	return nil
}

// answered counts the answers to a query.
func answered(ctx context.Context, g *graph.Graph, q graph.Query) (n int, err error) {
	for _, err := range g.Query(ctx, q) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// followed follows paths name by name.
type followed struct {
	ctx    context.Context
	client rueidis.Client
	trips  int
}

// follow returns how many names the steps reach. A step is the prefix of a range, with an
// asterisk for the name.
func (f *followed) follow(start string, steps []string) (int, error) {
	now := map[string]bool{start: true}
	for _, step := range steps {
		next := map[string]bool{}
		for name := range now {
			prefix := strings.Replace(step, "*", name, 1)
			f.trips++
			found, err := f.client.Do(f.ctx, f.client.B().Zrange().Key("people").Min("["+prefix).Max("("+strings.TrimSuffix(prefix, ":")+";").Bylex().Build()).AsStrSlice()
			if err != nil {
				return 0, err
			}
			for _, entry := range found {
				next[strings.TrimPrefix(entry, prefix)] = true
			}
		}
		now = next
	}
	return len(now), nil
}
