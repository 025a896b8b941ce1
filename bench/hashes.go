package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
)

// hashesBench measures writing hashes with their entries, and reading them.
type hashesBench struct {
	client rueidis.Client
	index  *index.Composite
	random *rand.Rand
	old    map[string]string // the members of the bare index, by id
}

const (
	hashCount = 100_000
	hashPage  = 100
)

func measureHashes(ctx context.Context, dir string, opt options) (text string, err error) {
	err = onServer(ctx, dir, "hashes", func(client rueidis.Client) error {
		x, err := (&indexBench{client: client}).composite("rooms")
		if err != nil {
			return err
		}
		b := hashesBench{client: client, index: x, random: rand.New(rand.NewPCG(1, 2)), old: map[string]string{}}
		var out strings.Builder
		if err := b.compare(ctx, &out, opt.rounds); err != nil {
			return err
		}
		text = out.String()
		return nil
	})
	return text, err
}

func hashKey(id string) string { return "room:" + id }

func (b *hashesBench) id() string { return strconv.Itoa(b.random.IntN(hashCount)) }

func (b *hashesBench) fields() map[string]string {
	return map[string]string{"room": strconv.Itoa(b.random.IntN(1000)), "price": strconv.Itoa(b.random.IntN(1_000_000)), "view": "sea", "name": "Room with a view"}
}

// putBare writes a hash and its entry as the tutorial does, by a program that knows the old
// entry.
func (b *hashesBench) putBare(ctx context.Context, id string) error {
	fields := b.fields()
	room, _ := strconv.Atoi(fields["room"])
	price, _ := strconv.Atoi(fields["price"])
	member := fmt.Sprintf("%04d:%07d:%s", room, price, id)
	set := b.client.B().Hset().Key("bare" + hashKey(id)).FieldValue()
	for name, value := range fields {
		set = set.FieldValue(name, value)
	}
	old := b.old[id]
	b.old[id] = member
	replies := b.client.DoMulti(ctx, b.client.B().Multi().Build(), set.Build(),
		b.client.B().Zrem().Key("bare").Member(old).Build(),
		b.client.B().Zadd().Key("bare").ScoreMember().ScoreMember(0, member).Build(),
		b.client.B().Hset().Key("bare.content").FieldValue().FieldValue(id, member).Build(),
		b.client.B().Exec().Build())
	return replies[len(replies)-1].Error()
}

// page returns entries at a random place.
func (b *hashesBench) page(ctx context.Context) (entries []index.Entry, err error) {
	for e, err := range b.index.Select(ctx, index.Page{Limit: hashPage}, index.AtLeast("room", b.random.IntN(900))) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// side is one way to do something, of a group that is compared with its first.
type hashSide struct {
	name  string
	group string
	times int
	run   func(entries []index.Entry) error
}

func (b *hashesBench) sides(ctx context.Context) []hashSide {
	opt := index.FetchOptions{Key: hashKey}
	repair := opt
	repair.Repair = true
	put, read := "write", fmt.Sprintf("read %d", hashPage)
	return []hashSide{
		{"`MULTI`, `HSET`, `ZREM`, `ZADD`, `HSET`, `EXEC`", put, 2000, func([]index.Entry) error { return b.putBare(ctx, b.id()) }},
		{"`PutHash`", put, 2000, func([]index.Entry) error {
			id := b.id()
			return b.index.PutHash(ctx, id, hashKey(id), b.fields())
		}},
		{"`PutHash` of one column", put, 2000, func([]index.Entry) error {
			id := b.id()
			return b.index.PutHash(ctx, id, hashKey(id), map[string]string{"price": strconv.Itoa(b.random.IntN(1_000_000))})
		}},
		{"`HGETALL`, a pipeline", read, 200, func(entries []index.Entry) error {
			commands := make(rueidis.Commands, len(entries))
			for i, e := range entries {
				commands[i] = b.client.B().Hgetall().Key(hashKey(e.ID)).Build()
			}
			for _, r := range b.client.DoMulti(ctx, commands...) {
				if err := r.Error(); err != nil {
					return err
				}
			}
			return nil
		}},
		{"`Fetch`, all agree", read, 200, func(entries []index.Entry) error {
			_, report, err := b.index.Fetch(ctx, entries, repair)
			if err == nil && report.Problems() > 0 {
				err = fmt.Errorf("%d problems", report.Problems())
			}
			return err
		}},
		{"`HSET` of one by hand, `Fetch` that repairs it", read, 200, func(entries []index.Entry) error {
			id := entries[b.random.IntN(len(entries))].ID
			if err := b.client.Do(ctx, b.client.B().Hset().Key(hashKey(id)).FieldValue().FieldValue("price", strconv.Itoa(1_000_000+b.random.IntN(1_000_000))).Build()).Error(); err != nil {
				return err
			}
			_, report, err := b.index.Fetch(ctx, entries, repair)
			if err == nil && report.Repaired != 1 {
				err = fmt.Errorf("%d repaired", report.Repaired)
			}
			return err
		}},
	}
}

// compare fills both, and measures every side in turn.
func (b *hashesBench) compare(ctx context.Context, out io.Writer, rounds int) error {
	for i := range hashCount {
		id := strconv.Itoa(i)
		if err := b.putBare(ctx, id); err != nil {
			return err
		}
		if err := b.index.PutHash(ctx, id, hashKey(id), b.fields()); err != nil {
			return err
		}
	}
	sides := b.sides(ctx)
	costs := make([][]float64, len(sides))
	for range rounds {
		for i, s := range sides {
			var pages [][]index.Entry
			for range s.times {
				var entries []index.Entry
				if strings.HasPrefix(s.group, "read") {
					var err error
					if entries, err = b.page(ctx); err != nil {
						return err
					}
				}
				pages = append(pages, entries)
			}
			cost, err := b.cost(ctx, s, pages)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			costs[i] = append(costs[i], cost)
		}
	}
	fmt.Fprintf(out, `## Hashes and their entries

%s hashes of four fields, with an index of two columns. Each is the time that the server
computes, from `+"`INFO`"+`, reading and writing the socket included: medians of %d rounds of
`+"`make bench ARGS='--only hashes'`"+`. The `+"`MULTI`"+` is that of the tutorial, of a program that knows the
old entry.

| | | time | ratio |
| --- | --- | ---: | ---: |
`, thousands(hashCount), rounds)
	base := 0.0
	for i, s := range sides {
		slices.Sort(costs[i])
		median := costs[i][rounds/2]
		if i == 0 || sides[i-1].group != s.group {
			base = median
		}
		fmt.Fprintf(out, "| %s | %s | %.1f µs | **%.2f** |\n", s.group, s.name, median*1e6, median/base)
	}
	return nil
}

// cost returns the seconds that the server computes for one run of a side.
func (b *hashesBench) cost(ctx context.Context, s hashSide, pages [][]index.Entry) (float64, error) {
	began, err := serverSeconds(ctx, b.client)
	if err != nil {
		return 0, err
	}
	for _, entries := range pages {
		if err := s.run(entries); err != nil {
			return 0, err
		}
	}
	now, err := serverSeconds(ctx, b.client)
	return (now - began) / float64(len(pages)), err
}
