package toolkit

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/index/graph"
)

// Graph compares joins with a client that queries one binding at a time.
func Graph(ctx context.Context, opt measure.Options) (string, error) {
	triples, people := opt.Stored, opt.Stored/10
	return measure.OnServer(ctx, opt.Dir, func(text io.Writer, server *measure.Server) error {
		client := server.Client
		g, err := graph.New(client, "people", graph.Options{})
		if err != nil {
			return err
		}
		if _, err := g.PutMany(ctx, slices.Values(socialGraph(triples, people))); err != nil {
			return err
		}
		fmt.Fprintf(text, `## Graph

%s triples about %s people: each lives in one of 100 cities, has friends, and likes some of
1,000 things. Friends and things are Zipf-distributed. One client, in this process, on one server.

Joins of three patterns, compared with a client that takes the patterns in the same order
and queries one binding at a time. Server CPU time for all answers, medians of %d rounds:

`, measure.Thousands(triples), measure.Thousands(people), opt.Rounds)
		measure.Head(text, "", "answers", "one at a time", "round trips", "`Query`", "ratio")
		for _, query := range []string{
			"?x likes thing5 . ?x lives-in city3 . ?x friend-of person7",
			"?x lives-in city9 . ?x likes thing2 . ?x friend-of ?y",
			"?x friend-of person100 . ?x friend-of ?y . ?y lives-in city1",
			"person1 friend-of ?x . ?x friend-of ?y . ?y likes thing0",
		} {
			row, err := join(ctx, opt, client, g, query)
			if err != nil {
				return fmt.Errorf("%s: %w", query, err)
			}
			measure.Row(text, row...)
		}
		return nil
	})
}

// join measures a query by package graph and by the naive client. Both use the patterns in the
// order of the plan.
func join(ctx context.Context, opt measure.Options, client rueidis.Client, g *graph.Graph, text string) ([]string, error) {
	q, err := graph.Parse(text)
	if err != nil {
		return nil, err
	}
	plan, err := g.Explain(ctx, q)
	if err != nil {
		return nil, err
	}
	naive := naiveJoin{ctx: ctx, client: client}
	for _, s := range plan.Steps {
		naive.patterns = append(naive.patterns, s.Pattern.String())
	}
	const times = 10 // amortizes the CPU time of INFO
	var answers []int
	side := func(query func() (int, error)) measure.Side {
		run := measure.Repeat(times, func() error {
			n, err := query()
			answers = append(answers, n)
			return err
		})
		return measure.Side{Measure: measure.PerOp(times, run, measure.ServerCPU(ctx, client))}
	}
	costs, err := measure.InTurn(opt.Rounds, []measure.Side{
		side(func() (int, error) { naive.trips = 0; return naive.count(0, map[string]string{}) }),
		side(func() (int, error) { return count(g.Query(ctx, q)) }),
	})
	if err != nil {
		return nil, err
	}
	if slices.Min(answers) != slices.Max(answers) {
		return nil, fmt.Errorf("the sides differ: %d to %d answers", slices.Min(answers), slices.Max(answers))
	}
	slow, fast := costs[0][0], costs[1][0]
	return []string{
		"`" + text + "`", measure.Thousands(answers[0]), fmt.Sprintf(measure.Milliseconds, measure.Median(slow)/1e3), measure.Thousands(naive.trips),
		fmt.Sprintf(measure.Milliseconds, measure.Median(fast)/1e3), fmt.Sprintf("**%.1f**", measure.MedianRatio(slow, fast)),
	}, nil
}

// socialGraph returns n distinct triples about the given number of people, in random order.
func socialGraph(n, people int) []graph.Triple {
	random := rand.New(rand.NewPCG(1, 2))
	friends, things, cities := rand.NewZipf(random, 1.2, 50, uint64(people-1)), rand.NewZipf(random, 1.2, 5, 999), rand.NewZipf(random, 1.2, 5, 99)
	person := func(i int) string { return "person" + strconv.Itoa(i) }
	homes := 0 // the number of people with a city
	all := distinct(n, func() graph.Triple {
		if homes < people {
			homes++
			return graph.Triple{S: person(homes - 1), P: "lives-in", O: "city" + strconv.Itoa(int(cities.Uint64()))}
		}
		who := person(random.IntN(people))
		if random.IntN(3) == 0 {
			return graph.Triple{S: who, P: "likes", O: "thing" + strconv.Itoa(int(things.Uint64()))}
		}
		return graph.Triple{S: who, P: "friend-of", O: person(int(friends.Uint64()))}
	})
	random.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// naiveJoin answers queries as a client that reads one range per pattern and binding. It supports
// plain names and variables only.
type naiveJoin struct {
	ctx      context.Context
	client   rueidis.Client
	patterns []string
	trips    int
}

// count returns the number of answers of the patterns from i on, for the given bindings.
func (o *naiveJoin) count(i int, bindings map[string]string) (int, error) {
	if i == len(o.patterns) {
		return 1, nil
	}
	words := strings.Fields(o.patterns[i])
	for k, w := range words {
		if name, ok := bindings[w]; ok {
			words[k] = name
		}
	}
	s, p, v := words[0], words[1], words[2]
	var prefix, variable string
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
		return o.count(i+1, bindings)
	case v[0] == '?':
		prefix, variable = "spo:"+s+":"+p+":", v
	default:
		prefix, variable = "pos:"+p+":"+v+":", s
	}
	o.trips++
	found, err := o.client.Do(o.ctx, o.client.B().Zrange().Key("people").Min("["+prefix).Max("("+strings.TrimSuffix(prefix, ":")+";").Bylex().Build()).AsStrSlice()
	if err != nil {
		return 0, err
	}
	total := 0
	for _, entry := range found {
		bindings[variable] = strings.TrimPrefix(entry, prefix)
		n, err := o.count(i+1, bindings)
		if err != nil {
			return 0, err
		}
		total += n
	}
	delete(bindings, variable)
	return total, nil
}
