package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/graph"
)

const (
	graphTriples = 1_000_000
	graphPeople  = 100_000
)

// graphBench measures the hexastore.
type graphBench struct {
	opt     options
	client  rueidis.Client
	triples []graph.Triple
}

func measureGraph(ctx context.Context, dir string, opt options) (string, error) {
	var text strings.Builder
	err := onServer(ctx, dir, "graph", func(client rueidis.Client) error {
		b := &graphBench{opt: opt, client: client, triples: socialGraph(graphTriples, graphPeople)}
		fmt.Fprintf(&text, `## Graph

%s triples: of %s people each lives in one of 100 cities, and they have friends and like
1,000 things, both Zipf-distributed: a few are popular. One client, in this process, on one server.

`, thousands(graphTriples), thousands(graphPeople))
		for _, part := range []func(context.Context, io.Writer) error{b.load, b.layouts, b.memory, b.pages, b.joins, b.paths, b.changes} {
			if err := part(ctx, &text); err != nil {
				return err
			}
		}
		return nil
	})
	return text.String(), err
}

// socialGraph returns n distinct triples of some people in random order.
func socialGraph(n, people int) []graph.Triple {
	random := rand.New(rand.NewPCG(1, 2))
	friends, things, cities := rand.NewZipf(random, 1.2, 50, uint64(people-1)), rand.NewZipf(random, 1.2, 5, 999), rand.NewZipf(random, 1.2, 5, 99)
	person := func(i int) string { return "person" + strconv.Itoa(i) }
	all := make([]graph.Triple, 0, n)
	seen := make(map[graph.Triple]bool, n)
	add := func(t graph.Triple) {
		if !seen[t] && len(all) < n {
			seen[t] = true
			all = append(all, t)
		}
	}
	for i := range people {
		add(graph.Triple{S: person(i), P: "lives-in", O: "city" + strconv.Itoa(int(cities.Uint64()))})
	}
	for len(all) < n {
		who := person(random.IntN(people))
		if random.IntN(3) == 0 {
			add(graph.Triple{S: who, P: "likes", O: "thing" + strconv.Itoa(int(things.Uint64()))})
		} else {
			add(graph.Triple{S: who, P: "friend-of", O: person(int(friends.Uint64()))})
		}
	}
	random.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func (b *graphBench) empty(ctx context.Context) error {
	return b.client.Do(ctx, b.client.B().Flushall().Build()).Error()
}

func (b *graphBench) open(key string, opt graph.Options) (*graph.Graph, error) {
	return graph.New(b.client, key, opt)
}

// load compares PutMany with plain ZADDs of the same entries.
func (b *graphBench) load(ctx context.Context, out io.Writer) error {
	some := b.triples[:100_000]
	put := func(opt graph.Options) func() error {
		return func() error {
			g, err := b.open("put", opt)
			if err != nil {
				return err
			}
			n, err := g.PutMany(ctx, slices.Values(some))
			if err == nil && n != len(some) {
				err = fmt.Errorf("%d triples are new, want %d", n, len(some))
			}
			return err
		}
	}
	sides := []struct {
		name string
		run  func() error
	}{
		{"`ZADD` of the six entries of each, pipelines of 1,000", func() error { return b.bare(ctx, some) }},
		{"`PutMany`, six orders", put(graph.Options{})},
		{"`PutMany`, three orders", put(graph.Options{Compact: true})},
	}
	costs := make([][]float64, len(sides))
	for range b.opt.rounds {
		for i, s := range sides {
			if err := b.empty(ctx); err != nil {
				return err
			}
			before, err := serverSeconds(ctx, b.client)
			if err != nil {
				return err
			}
			if err := s.run(); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			after, err := serverSeconds(ctx, b.client)
			if err != nil {
				return err
			}
			costs[i] = append(costs[i], (after-before)*1e6/float64(len(some)))
		}
	}
	fmt.Fprintf(out, "%s triples into an empty graph, server CPU, medians of %d rounds:\n\n| | µs per triple | ratio |\n| --- | ---: | ---: |\n", thousands(len(some)), b.opt.rounds)
	for i, s := range sides {
		fmt.Fprintf(out, "| %s | %.1f | **%.2f** |\n", s.name, medianNumber(costs[i]), medianNumber(costs[i])/medianNumber(costs[0]))
	}
	fmt.Fprintln(out)
	return b.empty(ctx)
}

// bare adds the six entries of each triple by one ZADD.
func (b *graphBench) bare(ctx context.Context, triples []graph.Triple) error {
	for some := range slices.Chunk(triples, 1000) {
		commands := make(rueidis.Commands, len(some))
		for i, t := range some {
			commands[i] = b.client.B().Zadd().Key("bare").ScoreMember().
				ScoreMember(0, "spo:"+t.S+":"+t.P+":"+t.O).ScoreMember(0, "sop:"+t.S+":"+t.O+":"+t.P).
				ScoreMember(0, "pso:"+t.P+":"+t.S+":"+t.O).ScoreMember(0, "pos:"+t.P+":"+t.O+":"+t.S).
				ScoreMember(0, "osp:"+t.O+":"+t.S+":"+t.P).ScoreMember(0, "ops:"+t.O+":"+t.P+":"+t.S).Build()
		}
		for _, r := range b.client.DoMulti(ctx, commands...) {
			if err := r.Error(); err != nil {
				return err
			}
		}
	}
	return nil
}

// memory loads all triples, in three orders and then in six; the latter stay for the
// next measurements.
func (b *graphBench) memory(ctx context.Context, out io.Writer) error {
	names := 0
	for _, t := range b.triples {
		names += len(t.S) + len(t.P) + len(t.O)
	}
	fmt.Fprintf(out, "All %s triples; their names have %.1f bytes for each:\n\n| | bytes per triple | ratio |\n| --- | ---: | ---: |\n", thousands(graphTriples), float64(names)/graphTriples)
	sides := []struct {
		name  string
		opt   graph.Options
		bytes int
	}{{name: "three orders", opt: graph.Options{Compact: true}}, {name: "six orders"}}
	for i := range sides {
		if err := b.empty(ctx); err != nil {
			return err
		}
		before, err := dataset(ctx, b.client)
		if err != nil {
			return err
		}
		g, err := b.open("people", sides[i].opt)
		if err != nil {
			return err
		}
		if _, err := g.PutMany(ctx, slices.Values(b.triples)); err != nil {
			return err
		}
		after, err := dataset(ctx, b.client)
		if err != nil {
			return err
		}
		sides[i].bytes = (after - before) / graphTriples
	}
	for _, s := range sides {
		fmt.Fprintf(out, "| %s | %d | **%.2f** |\n", s.name, s.bytes, float64(s.bytes)/float64(sides[1].bytes))
	}
	fmt.Fprintln(out)
	return nil
}

// pages compares a page of Match with a plain ZRANGE.
func (b *graphBench) pages(ctx context.Context, out io.Writer) error {
	g, err := b.open("people", graph.Options{})
	if err != nil {
		return err
	}
	bare := func(prefix string) error {
		_, err := b.client.Do(ctx, b.client.B().Zrange().Key("people").Min("["+prefix+":").Max("("+prefix+";").Bylex().Limit(0, 20).Build()).AsStrSlice()
		return err
	}
	page := index.Page{Limit: 20}
	sides := []struct {
		name string
		run  func(t graph.Triple) error
	}{
		{"`ZRANGE BYLEX LIMIT 0 20` of a subject", func(t graph.Triple) error { return bare("spo:" + t.S) }},
		{"`Select` of a subject, limit 20", func(t graph.Triple) error {
			return drain(g.Select(ctx, graph.Pattern{S: graph.Name(t.S)}, page))
		}},
		{"`ZRANGE BYLEX LIMIT 0 20` of a predicate and an object", func(t graph.Triple) error { return bare("pos:" + t.P + ":" + t.O) }},
		{"`Select` of a predicate and an object, limit 20", func(t graph.Triple) error {
			return drain(g.Select(ctx, graph.Pattern{P: graph.Name(t.P), O: graph.Name(t.O)}, page))
		}},
	}
	random := rand.New(rand.NewPCG(3, 4))
	took := make([][]time.Duration, len(sides))
	for range b.opt.rounds {
		for i, s := range sides {
			const times = 500
			d, err := timed(func() error {
				for range times {
					if err := s.run(b.triples[random.IntN(len(b.triples))]); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			took[i] = append(took[i], d/times)
		}
	}
	fmt.Fprintf(out, "A page of a random triple, one after the other:\n\n| | time | ratio |\n| --- | ---: | ---: |\n")
	for i, s := range sides {
		fmt.Fprintf(out, "| %s | %.1f µs | **%.2f** |\n", s.name, float64(medianTime(took[i]).Nanoseconds())/1000,
			medianTime(took[i]).Seconds()/medianTime(took[i&^1]).Seconds())
	}
	fmt.Fprintln(out)
	return nil
}

// joins compares queries of three patterns with a client that queries one binding
// at a time, in the same order of patterns.
func (b *graphBench) joins(ctx context.Context, out io.Writer) error {
	g, err := b.open("people", graph.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `Joins of three patterns, compared with a client that takes the patterns in the same order
and queries one binding at a time; all answers, server CPU, medians of %d rounds:

| | answers | one at a time | its round trips | `+"`Query`"+` | ratio |
| --- | ---: | ---: | ---: | ---: | ---: |
`, b.opt.rounds)
	for _, text := range []string{
		"?x likes thing5 . ?x lives-in city3 . ?x friend-of person7",
		"?x lives-in city9 . ?x likes thing2 . ?x friend-of ?y",
		"?x friend-of person100 . ?x friend-of ?y . ?y lives-in city1",
		"person1 friend-of ?x . ?x friend-of ?y . ?y likes thing0",
	} {
		q, err := graph.Parse(text)
		if err != nil {
			return err
		}
		plan, err := g.Explain(ctx, q)
		if err != nil {
			return err
		}
		one := oneByOne{ctx: ctx, client: b.client}
		for _, s := range plan.Steps {
			one.patterns = append(one.patterns, s.Pattern.String())
		}
		row, err := b.compared(ctx, text, func() (int, error) { one.trips = 0; return one.run() }, func() (int, error) { return answered(ctx, g, q) })
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s | %s | **%.1f** |\n", text, thousands(row.n), milliseconds(row.slow),
			thousands(one.trips), milliseconds(row.fast), row.ratio)
	}
	fmt.Fprintln(out)
	return nil
}

// compared is two ways to the same answers.
type compared struct {
	n          int
	slow, fast time.Duration // of the server, medians
	ratio      float64       // median of the rounds
}

// compared measures two ways in turn, by the time of the server. Each returns the number of
// answers.
func (b *graphBench) compared(ctx context.Context, text string, slow, fast func() (int, error)) (row compared, err error) {
	took := [2][]time.Duration{}
	var ratios []float64
	for round := range b.opt.rounds {
		counts := [2]int{}
		for i, run := range [2]func() (int, error){slow, fast} {
			before, err := serverSeconds(ctx, b.client)
			if err != nil {
				return row, err
			}
			const times = 10 // INFO takes time, too
			for range times {
				if counts[i], err = run(); err != nil {
					return row, fmt.Errorf("%s: %w", text, err)
				}
			}
			after, err := serverSeconds(ctx, b.client)
			if err != nil {
				return row, err
			}
			took[i] = append(took[i], time.Duration((after-before)/times*float64(time.Second)))
		}
		if counts[0] != counts[1] {
			return row, fmt.Errorf("%s: %d answers, one at a time %d", text, counts[1], counts[0])
		}
		row.n = counts[0]
		ratios = append(ratios, took[0][round].Seconds()/took[1][round].Seconds())
	}
	row.slow, row.fast, row.ratio = medianTime(took[0]), medianTime(took[1]), medianNumber(ratios)
	return row, nil
}

// oneByOne answers queries of plain names and variables like a client that reads
// one range for each pattern and binding.
type oneByOne struct {
	ctx      context.Context
	client   rueidis.Client
	patterns []string
	trips    int
}

func (o *oneByOne) run() (int, error) { return o.from(0, map[string]string{}) }

// from counts the answers for a binding in the patterns from a given one on.
func (o *oneByOne) from(i int, known map[string]string) (int, error) {
	if i == len(o.patterns) {
		return 1, nil
	}
	words := strings.Fields(o.patterns[i])
	for k, w := range words {
		if name, ok := known[w]; ok {
			words[k] = name
		}
	}
	s, p, v := words[0], words[1], words[2]
	var prefix, open string
	switch {
	case s[0] != '?' && v[0] != '?':
		o.trips++
		_, err := o.client.Do(o.ctx, o.client.B().Zscore().Key("people").Member("spo:"+s+":"+p+":"+v).Build()).AsFloat64()
		if rueidis.IsRedisNil(err) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		return o.from(i+1, known)
	case v[0] == '?':
		prefix, open = "spo:"+s+":"+p+":", v
	default:
		prefix, open = "pos:"+p+":"+v+":", s
	}
	o.trips++
	found, err := o.client.Do(o.ctx, o.client.B().Zrange().Key("people").Min("["+prefix).Max("("+strings.TrimSuffix(prefix, ":")+";").Bylex().Build()).AsStrSlice()
	if err != nil {
		return 0, err
	}
	total := 0
	for _, entry := range found {
		known[open] = strings.TrimPrefix(entry, prefix)
		n, err := o.from(i+1, known)
		if err != nil {
			return 0, err
		}
		total += n
	}
	delete(known, open)
	return total, nil
}
