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

// Graph measures joins of triples beside a client that queries one binding at a time.
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

%s triples: of %s people each lives in one of 100 cities, and they have friends and like
1,000 things, both Zipf-distributed: a few are popular. One client, in this process, on one server.

Joins of three patterns, compared with a client that takes the patterns in the same order
and queries one binding at a time; all answers, server CPU, medians of %d rounds:

`, measure.Thousands(triples), measure.Thousands(people), opt.Rounds)
		measure.Head(text, "", "answers", "one at a time", "its round trips", "`Query`", "ratio")
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

// join measures a query in both ways, with the patterns in the order of the plan.
func join(ctx context.Context, opt measure.Options, client rueidis.Client, g *graph.Graph, text string) ([]string, error) {
	q, err := graph.Parse(text)
	if err != nil {
		return nil, err
	}
	plan, err := g.Explain(ctx, q)
	if err != nil {
		return nil, err
	}
	one := oneByOne{ctx: ctx, client: client}
	for _, s := range plan.Steps {
		one.patterns = append(one.patterns, s.Pattern.String())
	}
	const times = 10 // INFO takes time, too
	var answers []int
	side := func(way func() (int, error)) measure.Side {
		run := measure.Times(times, func() error {
			n, err := way()
			answers = append(answers, n)
			return err
		})
		return measure.Side{Measure: measure.By(times, run, measure.ServerTime(ctx, client))}
	}
	took, err := measure.InTurn(opt.Rounds, []measure.Side{
		side(func() (int, error) { one.trips = 0; return one.from(0, map[string]string{}) }),
		side(func() (int, error) { return count(g.Query(ctx, q)) }),
	})
	if err != nil {
		return nil, err
	}
	if slices.Min(answers) != slices.Max(answers) {
		return nil, fmt.Errorf("%d to %d answers", slices.Min(answers), slices.Max(answers))
	}
	slow, fast := took[0][0], took[1][0]
	return []string{
		"`" + text + "`", measure.Thousands(answers[0]), fmt.Sprintf(measure.Milliseconds, measure.Median(slow)/1e3), measure.Thousands(one.trips),
		fmt.Sprintf(measure.Milliseconds, measure.Median(fast)/1e3), fmt.Sprintf("**%.1f**", measure.MedianRatio(slow, fast)),
	}, nil
}

// socialGraph returns n distinct triples of some people in random order.
func socialGraph(n, people int) []graph.Triple {
	random := rand.New(rand.NewPCG(1, 2))
	friends, things, cities := rand.NewZipf(random, 1.2, 50, uint64(people-1)), rand.NewZipf(random, 1.2, 5, 999), rand.NewZipf(random, 1.2, 5, 99)
	person := func(i int) string { return "person" + strconv.Itoa(i) }
	home := 0 // how many people have a home
	all := distinct(n, func() graph.Triple {
		if home < people {
			home++
			return graph.Triple{S: person(home - 1), P: "lives-in", O: "city" + strconv.Itoa(int(cities.Uint64()))}
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

// oneByOne answers queries of plain names and variables like a client that reads
// one range for each pattern and binding.
type oneByOne struct {
	ctx      context.Context
	client   rueidis.Client
	patterns []string
	trips    int
}

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
