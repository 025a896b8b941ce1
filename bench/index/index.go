// Package index compares the indexes with the commands that people write and read sorted
// sets with, and with GEOSEARCH.
package index

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/index"
)

// ordered measures ordered indexes.
type ordered struct {
	opt    measure.Options
	client rueidis.Client
}

// Ordered measures the ordered indexes.
func Ordered(ctx context.Context, opt measure.Options) (string, error) {
	var text strings.Builder
	err := measure.OnServer(ctx, opt.Dir, func(client rueidis.Client, _ string) error {
		b := &ordered{opt: opt, client: client}
		text.WriteString("## Ordered indexes\n\nOne client, in this process, on one server. A column is an integer of 8 bytes; an id has up to 7.\n\n")
		if err := b.puts(ctx, &text); err != nil {
			return err
		}
		return b.ranges(ctx, &text)
	})
	return text.String(), err
}

// entries returns n entries with random values.
func entries(n int, seed uint64) []index.Entry {
	random := rand.New(rand.NewPCG(seed, 0))
	all := make([]index.Entry, n)
	for i := range all {
		all[i] = index.Entry{ID: strconv.Itoa(i), Values: []any{random.IntN(1000), random.IntN(1_000_000)}}
	}
	return all
}

func (b *ordered) composite(key string) (*index.Composite, error) {
	return index.NewComposite(b.client, key, index.Options{Columns: []index.Column{{Name: "room", Type: index.Int}, {Name: "price", Type: index.Int}}})
}

// puts compares PutMany with plain ZADDs of the same members.
func (b *ordered) puts(ctx context.Context, out io.Writer) error {
	const n = 100_000
	x, err := b.composite("puts")
	if err != nil {
		return err
	}
	put := func(entries []index.Entry) func() error {
		return func() error { _, err := x.PutMany(ctx, slices.Values(entries)); return err }
	}
	first, second := put(entries(n, 1)), put(entries(n, 2))
	// The plain ZADDs add the members of the index.
	if err := first(); err != nil {
		return err
	}
	members, err := b.client.Do(ctx, b.client.B().Zrange().Key("puts").Min("0").Max("-1").Build()).AsStrSlice()
	if err != nil {
		return err
	}
	rand.New(rand.NewPCG(3, 0)).Shuffle(n, func(i, j int) { members[i], members[j] = members[j], members[i] })
	bare := func() error {
		return measure.Send(ctx, b.client, func(yield func(rueidis.Completed) bool) {
			for _, m := range members {
				if !yield(b.client.B().Zadd().Key("bare").ScoreMember().ScoreMember(0, m).Build()) {
					return
				}
			}
		})
	}
	empty := func() error { return measure.Empty(ctx, b.client) }
	fmt.Fprintf(out, "%s entries into an empty index, then the same ids with different values; medians of %d rounds:\n\n", measure.Thousands(n), b.opt.Rounds)
	measure.Head(out, "", "entries/s", "ratio")
	err = measure.Comparison{Rounds: b.opt.Rounds, Meter: measure.Rate(n), Sides: []measure.Side{
		{Name: "`ZADD`, pipelines of 1,000", Before: empty, Run: bare},
		{Name: "`Composite.PutMany`, new ids", Run: first},
		{Name: "`Composite.PutMany`, changed values", Run: second},
	}}.Write(out)
	if err != nil {
		return err
	}
	return empty()
}

// ranges compares a page of a million entries with a plain ZRANGE.
func (b *ordered) ranges(ctx context.Context, out io.Writer) error {
	const n, times = 1_000_000, 300
	x, err := b.composite("ranges")
	if err != nil {
		return err
	}
	if _, err := x.PutMany(ctx, slices.Values(entries(n, 4))); err != nil {
		return err
	}
	numbers, err := index.NewNumeric[int](b.client, "numbers", index.NumericOptions{})
	if err != nil {
		return err
	}
	_, err = numbers.PutMany(ctx, func(yield func(index.NumericEntry[int]) bool) {
		for _, e := range entries(n, 5) {
			if !yield(index.NumericEntry[int]{ID: e.ID, Number: e.Values[1].(int)}) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(6, 0))
	page := index.Page{Limit: 20}
	at := func(base int, name string, run func(room, price int) error) measure.Side {
		return measure.Side{Name: name, Base: base, Run: measure.Times(times, func() error { return run(random.IntN(1000), random.IntN(900_000)) })}
	}
	sides := []measure.Side{
		at(0, "`ZRANGE BYLEX LIMIT 0 20`", func(room, price int) error {
			low := fmt.Sprintf("[\x80\x00\x00\x00\x00\x00%c%c", room>>8, room&255)
			_, err := b.client.Do(ctx, b.client.B().Zrange().Key("ranges").Min(low).Max("+").Bylex().Limit(0, 20).Build()).AsStrSlice()
			return err
		}),
		at(0, "`Composite.Select`, a range of the second column, limit 20", func(room, price int) error {
			return drain(x.Select(ctx, page, index.Eq("room", room), index.AtLeast("price", price/2)))
		}),
		at(0, "`Composite.Select`, one in 100 of the second column, limit 20", func(room, price int) error {
			return drain(x.Select(ctx, page, index.AtLeast("room", room/2), index.Between("price", price, price+10_000)))
		}),
		at(3, "`ZRANGE BYSCORE LIMIT 0 20`", func(_, price int) error {
			_, err := b.client.Do(ctx, b.client.B().Zrange().Key("numbers").Min(strconv.Itoa(price)).Max("+inf").Byscore().Limit(0, 20).Withscores().Build()).AsZScores()
			return err
		}),
		at(3, "`Numeric.Select`, limit 20", func(_, price int) error {
			return drain(numbers.Select(ctx, page, index.AtLeast("value", price/2)))
		}),
		at(5, "`ZRANGE BYSCORE LIMIT 100000 20`", func(_, price int) error {
			_, err := b.client.Do(ctx, b.client.B().Zrange().Key("numbers").Min(strconv.Itoa(price/2)).Max("+inf").Byscore().Limit(100_000, 20).Withscores().Build()).AsZScores()
			return err
		}),
		at(5, "`Numeric.Select`, offset 100,000, limit 20", func(_, price int) error {
			return drain(numbers.Select(ctx, index.Page{Limit: 20, Offset: 100_000}, index.AtLeast("value", price/2)))
		}),
	}
	fmt.Fprintf(out, "A page of %s entries, at a random place, one after the other:\n\n", measure.Thousands(n))
	measure.Head(out, "", "time", "ratio")
	return measure.Comparison{Rounds: b.opt.Rounds, Sides: sides, Meter: measure.Clock(times), Format: "%.1f µs"}.Write(out)
}

// drain reads all results of a query.
func drain[E any](results iter.Seq2[E, error]) error {
	_, err := count(results)
	return err
}

// count reads all results of a query, and counts them.
func count[E any](results iter.Seq2[E, error]) (n int, err error) {
	for _, err := range results {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
