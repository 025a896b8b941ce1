package index

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

	"retwis/bench/measure"
	"retwis/index"
	"retwis/index/graph"
)

const (
	graphTriples = 1_000_000
	graphPeople  = 100_000
)

// triples measures the hexastore.
type triples struct {
	opt    measure.Options
	client rueidis.Client
	all    []graph.Triple
}

// Graph measures triples.
func Graph(ctx context.Context, opt measure.Options) (string, error) {
	var text strings.Builder
	err := measure.OnServer(ctx, opt.Dir, func(client rueidis.Client, _ string) error {
		b := &triples{opt: opt, client: client, all: socialGraph(graphTriples, graphPeople)}
		fmt.Fprintf(&text, `## Graph

%s triples: of %s people each lives in one of 100 cities, and they have friends and like
1,000 things, both Zipf-distributed: a few are popular. One client, in this process, on one server.

`, measure.Thousands(graphTriples), measure.Thousands(graphPeople))
		for _, part := range []func(context.Context, io.Writer) error{b.load, b.memory, b.pages, b.joins} {
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

// put adds triples to an empty graph.
func (b *triples) put(ctx context.Context, some []graph.Triple, opt graph.Options) error {
	g, err := graph.New(b.client, "people", opt)
	if err != nil {
		return err
	}
	n, err := g.PutMany(ctx, slices.Values(some))
	if err == nil && n != len(some) {
		err = fmt.Errorf("%d triples are new, want %d", n, len(some))
	}
	return err
}

// load compares PutMany with plain ZADDs of the same entries.
func (b *triples) load(ctx context.Context, out io.Writer) error {
	some := b.all[:100_000]
	empty := func() error { return measure.Empty(ctx, b.client) }
	fmt.Fprintf(out, "%s triples into an empty graph, server CPU, medians of %d rounds:\n\n", measure.Thousands(len(some)), b.opt.Rounds)
	measure.Head(out, "", "µs per triple", "ratio")
	return measure.Comparison{Rounds: b.opt.Rounds, Meter: measure.ServerTime(ctx, b.client, len(some)), Format: "%.1f", Sides: []measure.Side{
		{Name: "`ZADD` of the six entries of each, pipelines of 1,000", Before: empty, Run: func() error { return b.bare(ctx, some) }},
		{Name: "`PutMany`, six orders", Before: empty, Run: func() error { return b.put(ctx, some, graph.Options{}) }},
		{Name: "`PutMany`, three orders", Before: empty, Run: func() error { return b.put(ctx, some, graph.Options{Compact: true}) }},
	}}.Write(out)
}

// bare adds the six entries of each triple by one ZADD.
func (b *triples) bare(ctx context.Context, some []graph.Triple) error {
	return measure.Send(ctx, b.client, func(yield func(rueidis.Completed) bool) {
		for _, t := range some {
			if !yield(b.client.B().Zadd().Key("bare").ScoreMember().
				ScoreMember(0, "spo:"+t.S+":"+t.P+":"+t.O).ScoreMember(0, "sop:"+t.S+":"+t.O+":"+t.P).
				ScoreMember(0, "pso:"+t.P+":"+t.S+":"+t.O).ScoreMember(0, "pos:"+t.P+":"+t.O+":"+t.S).
				ScoreMember(0, "osp:"+t.O+":"+t.S+":"+t.P).ScoreMember(0, "ops:"+t.O+":"+t.P+":"+t.S).Build()) {
				return
			}
		}
	})
}

// memory loads all triples, in three orders and then in six; the latter stay for the
// next measurements.
func (b *triples) memory(ctx context.Context, out io.Writer) error {
	names := 0
	for _, t := range b.all {
		names += len(t.S) + len(t.P) + len(t.O)
	}
	fmt.Fprintf(out, "All %s triples; their names have %.1f bytes for each:\n\n", measure.Thousands(graphTriples), float64(names)/graphTriples)
	measure.Head(out, "", "bytes per triple", "ratio")
	empty := func() error { return measure.Empty(ctx, b.client) }
	return measure.Comparison{Rounds: 1, Meter: measure.ServerMemory(ctx, b.client, graphTriples), Format: "%.0f", Sides: []measure.Side{
		{Name: "three orders", Base: 1, Before: empty, Run: func() error { return b.put(ctx, b.all, graph.Options{Compact: true}) }},
		{Name: "six orders", Base: 1, Before: empty, Run: func() error { return b.put(ctx, b.all, graph.Options{}) }},
	}}.Write(out)
}

// pages compares a page of Select with a plain ZRANGE.
func (b *triples) pages(ctx context.Context, out io.Writer) error {
	const times = 500
	g, err := graph.New(b.client, "people", graph.Options{})
	if err != nil {
		return err
	}
	bare := func(prefix string) error {
		_, err := b.client.Do(ctx, b.client.B().Zrange().Key("people").Min("["+prefix+":").Max("("+prefix+";").Bylex().Limit(0, 20).Build()).AsStrSlice()
		return err
	}
	random := rand.New(rand.NewPCG(3, 4))
	of := func(base int, name string, run func(t graph.Triple) error) measure.Side {
		return measure.Side{Name: name, Base: base, Run: measure.Times(times, func() error { return run(b.all[random.IntN(len(b.all))]) })}
	}
	page := index.Page{Limit: 20}
	fmt.Fprint(out, "A page of a random triple, one after the other:\n\n")
	measure.Head(out, "", "time", "ratio")
	return measure.Comparison{Rounds: b.opt.Rounds, Meter: measure.Clock(times), Format: "%.1f µs", Sides: []measure.Side{
		of(0, "`ZRANGE BYLEX LIMIT 0 20` of a subject", func(t graph.Triple) error { return bare("spo:" + t.S) }),
		of(0, "`Select` of a subject, limit 20", func(t graph.Triple) error {
			return drain(g.Select(ctx, graph.Pattern{S: graph.Name(t.S)}, page))
		}),
		of(2, "`ZRANGE BYLEX LIMIT 0 20` of a predicate and an object", func(t graph.Triple) error { return bare("pos:" + t.P + ":" + t.O) }),
		of(2, "`Select` of a predicate and an object, limit 20", func(t graph.Triple) error {
			return drain(g.Select(ctx, graph.Pattern{P: graph.Name(t.P), O: graph.Name(t.O)}, page))
		}),
	}}.Write(out)
}

// joins compares queries of three patterns with a client that queries one binding
// at a time, in the same order of patterns.
func (b *triples) joins(ctx context.Context, out io.Writer) error {
	g, err := graph.New(b.client, "people", graph.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `Joins of three patterns, compared with a client that takes the patterns in the same order
and queries one binding at a time; all answers, server CPU, medians of %d rounds:

`, b.opt.Rounds)
	measure.Head(out, "", "answers", "one at a time", "its round trips", "`Query`", "ratio")
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
		row, err := b.compared(ctx, func() (int, error) { one.trips = 0; return one.run() }, func() (int, error) { return count(g.Query(ctx, q)) })
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s | %s | **%.1f** |\n", text, measure.Thousands(row.n), measure.Milliseconds(row.slow),
			measure.Thousands(one.trips), measure.Milliseconds(row.fast), row.ratio)
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
func (b *triples) compared(ctx context.Context, slow, fast func() (int, error)) (c compared, err error) {
	const times = 10 // INFO takes time, too
	var counts []int
	took, err := measure.InTurn(b.opt.Rounds, []func() (int, error){slow, fast}, func(way func() (int, error), _ int) (float64, error) {
		return measure.ServerTime(ctx, b.client, times)(measure.Times(times, func() error {
			n, err := way()
			counts = append(counts, n)
			return err
		}))
	})
	if err != nil {
		return c, err
	}
	if slices.Min(counts) != slices.Max(counts) {
		return c, fmt.Errorf("%d to %d answers", slices.Min(counts), slices.Max(counts))
	}
	micros := func(all []float64) time.Duration {
		return time.Duration(measure.Median(all) * float64(time.Microsecond))
	}
	return compared{counts[0], micros(took[0]), micros(took[1]), measure.MedianRatio(took[0], took[1])}, nil
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
