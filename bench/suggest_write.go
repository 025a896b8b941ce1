package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"retwis/index/suggest"
)

const (
	suggestSearches = 64_000 // terms that are written in a round
	suggestPipeline = 1000   // bare commands in a pipeline
)

// plainAdd writes terms with pipelined ZADDs.
func (b *suggestBench) plainAdd(ctx context.Context, terms []suggest.Suggestion) error {
	for piece := range slices.Chunk(terms, suggestPipeline) {
		commands := make(rueidis.Commands, len(piece))
		for i, t := range piece {
			commands[i] = b.plainZadd(t)
		}
		for _, r := range b.client.DoMulti(ctx, commands...) {
			if err := r.Error(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *suggestBench) plainZadd(t suggest.Suggestion) rueidis.Completed {
	member := strings.ToLower(t.Term) + ":" + strconv.FormatInt(t.Count, 10) + ":" + t.Term
	return b.client.B().Zadd().Key("plain").ScoreMember().ScoreMember(0, member).Build()
}

func (b *suggestBench) addMany(ctx context.Context, terms []suggest.Suggestion) error {
	_, err := b.x.AddMany(ctx, slices.Values(terms))
	return err
}

func (b *suggestBench) putMany(ctx context.Context, terms []suggest.Suggestion) error {
	_, err := b.x.PutMany(ctx, slices.Values(terms))
	return err
}

// searches returns terms by Zipf's law, each with a count.
func (b *suggestBench) searches(n int, count int64) []suggest.Suggestion {
	list := make([]suggest.Suggestion, n)
	for i := range list {
		list[i] = suggest.Suggestion{Term: b.terms[b.zipf.Uint64()].Term, Count: count}
	}
	return list
}

// cost is what a side costs per term, in each round.
type cost struct {
	server []float64 // microseconds
	rate   []float64 // terms per second
}

// of returns the medians over the rounds: the server's time, its ratio to that of another
// side, and the rate.
func (c cost) of(anchor cost) (server, ratio, rate float64) {
	ratios := make([]float64, len(c.server))
	for i := range ratios {
		ratios[i] = anchor.server[i] / c.server[i]
	}
	middle := func(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }
	return middle(c.server), middle(ratios), middle(c.rate)
}

// writeSide is one way to write terms.
type writeSide struct {
	name string
	// terms are those of a round.
	terms func(round int) []suggest.Suggestion
	write func(ctx context.Context, terms []suggest.Suggestion) error
}

// measureWrites measures sides by turns.
func (b *suggestBench) measureWrites(ctx context.Context, sides []writeSide) ([]cost, error) {
	costs := make([]cost, len(sides))
	for round := range b.opt.rounds {
		for i, side := range sides {
			terms := side.terms(round)
			before, err := serverSeconds(ctx, b.client)
			if err != nil {
				return nil, err
			}
			begin := time.Now()
			if err := side.write(ctx, terms); err != nil {
				return nil, err
			}
			took := time.Since(begin)
			after, err := serverSeconds(ctx, b.client)
			if err != nil {
				return nil, err
			}
			n := float64(len(terms))
			costs[i].server = append(costs[i].server, (after-before)/n*1e6)
			costs[i].rate = append(costs[i].rate, n/took.Seconds())
		}
	}
	return costs, nil
}

func printWrites(out io.Writer, sides []writeSide, costs []cost) {
	for i, side := range sides {
		server, ratio, rate := costs[i].of(costs[0])
		fmt.Fprintf(out, "| %s | %.1f µs | **%.2f** | %s |\n", side.name, server, ratio, thousands(int(rate)))
	}
}

// write measures how fast terms are written.
func (b *suggestBench) write(ctx context.Context, out io.Writer) error {
	made := makeTerms(len(b.terms) + 3*b.opt.rounds*suggestSearches)[len(b.terms):]
	fresh := func(part int) func(round int) []suggest.Suggestion {
		return func(round int) []suggest.Suggestion {
			return made[(part*b.opt.rounds+round)*suggestSearches:][:suggestSearches]
		}
	}
	sides := []writeSide{
		{"pipelined `ZADD`s of new terms, `normalized:count:original`", fresh(0), b.plainAdd},
		{"`AddMany` of the same", fresh(0), b.addMany},
		{"`PutMany` of new terms", fresh(1), b.putMany},
		{"`PutMany` of new terms with payloads", func(round int) []suggest.Suggestion {
			list := slices.Clone(fresh(2)(round))
			for i := range list {
				list[i].Payload = "id:" + strconv.Itoa(i)
			}
			return list
		}, b.putMany},
		{"`AddMany` of searches by Zipf's law", func(int) []suggest.Suggestion { return b.searches(suggestSearches, 1) }, b.addMany},
	}
	costs, err := b.measureWrites(ctx, sides)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `Writing (`+"`make bench ARGS='--only suggest'`"+`): the time of the server for a term, of INFO cpu, the
median of %d rounds of %s terms each, by turns, and the share of it that bare commands need.
To write all %s terms into an empty key, in random order, takes the server %.1f µs a term
with bare `+"`ZADD`s and %.1f µs with `AddMany`"+`, which makes all cached lists.

| | server, a term | bare ÷ this | terms/s |
| --- | ---: | ---: | ---: |
`, b.opt.rounds, thousands(suggestSearches), thousands(len(b.terms)),
		b.loaded[0]/float64(len(b.terms))*1e6, b.loaded[1]/float64(len(b.terms))*1e6)
	printWrites(out, sides, costs)
	fmt.Fprintln(out)
	return nil
}

// combine measures many goroutines that each add one search at a time.
func (b *suggestBench) combine(ctx context.Context, out io.Writer) error {
	each := func(callers int, one func(t suggest.Suggestion) error) func(context.Context, []suggest.Suggestion) error {
		return func(_ context.Context, terms []suggest.Suggestion) error {
			errs := make([]error, callers)
			var group sync.WaitGroup
			for i := range callers {
				group.Go(func() {
					for at := i; at < len(terms) && errs[i] == nil; at += callers {
						errs[i] = one(terms[at])
					}
				})
			}
			group.Wait()
			for _, err := range errs {
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	add := func(t suggest.Suggestion) error {
		_, err := b.x.Add(ctx, t.Term, t.Count)
		return err
	}
	searches := func(n int) func(int) []suggest.Suggestion {
		return func(int) []suggest.Suggestion { return b.searches(n, 1) }
	}
	sides := []writeSide{
		{"a bare `ZADD` each, 64 goroutines", searches(suggestSearches / 4), each(64, func(t suggest.Suggestion) error {
			return b.client.Do(ctx, b.plainZadd(t)).Error()
		})},
		{"`Add`, one goroutine", searches(suggestSearches / 64), each(1, add)},
		{"`Add`, 8 goroutines", searches(suggestSearches / 16), each(8, add)},
		{"`Add`, 64 goroutines", searches(suggestSearches / 4), each(64, add)},
	}
	costs, err := b.measureWrites(ctx, sides)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `Goroutines of one program, each of which adds one search by Zipf's law at a time and waits for
its count. While one round trip is under way, the next collects; the client of the bare
commands does the same.

| | server, a term | bare ÷ this | terms/s |
| --- | ---: | ---: | ---: |
`)
	printWrites(out, sides, costs)
	fmt.Fprintln(out)
	return nil
}
