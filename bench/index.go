package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/redis/redisserver"
)

// indexBench measures the ordered indexes.
type indexBench struct {
	opt    options
	client rueidis.Client
}

// onServer runs a measurement on its own server without persistence.
func onServer(ctx context.Context, dir, name string, measure func(rueidis.Client) error) error {
	s, err := redisserver.Start(ctx, redisserver.Options{
		Dir:    filepath.Join(dir, name),
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Config: []string{`save ""`, "appendonly no"},
	})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = s.Stop(ctx)
	}()
	client, err := rueidisClient(s.Socket())
	if err != nil {
		return err
	}
	defer client.Close()
	return measure(client)
}

// dataset returns the memory of the server's data.
func dataset(ctx context.Context, client rueidis.Client) (int, error) {
	info, err := client.Do(ctx, client.B().Info().Section("memory").Build()).ToString()
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`used_memory_dataset:(\d+)`).FindStringSubmatch(info)
	if found == nil {
		return 0, fmt.Errorf("INFO has no used_memory_dataset")
	}
	return strconv.Atoi(found[1])
}

// timed returns how long f takes.
func timed(f func() error) (time.Duration, error) {
	begin := time.Now()
	err := f()
	return time.Since(begin), err
}

// medianTime returns the median.
func medianTime(all []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

func measureIndex(ctx context.Context, dir string, opt options) (string, error) {
	var text strings.Builder
	err := onServer(ctx, dir, "index", func(client rueidis.Client) error {
		b := &indexBench{opt: opt, client: client}
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

func (b *indexBench) composite(key string) (*index.Composite, error) {
	return index.NewComposite(b.client, key, index.Options{Columns: []index.Column{{Name: "room", Type: index.Int}, {Name: "price", Type: index.Int}}})
}

// puts compares PutMany with plain ZADDs of the same members.
func (b *indexBench) puts(ctx context.Context, out io.Writer) error {
	const n = 100_000
	first, second := entries(n, 1), entries(n, 2)
	x, err := b.composite("puts")
	if err != nil {
		return err
	}
	// The plain ZADDs add the members of the index.
	if _, err := x.PutMany(ctx, slices.Values(first)); err != nil {
		return err
	}
	members, err := b.client.Do(ctx, b.client.B().Zrange().Key("puts").Min("0").Max("-1").Build()).AsStrSlice()
	if err != nil {
		return err
	}
	rand.New(rand.NewPCG(3, 0)).Shuffle(n, func(i, j int) { members[i], members[j] = members[j], members[i] })
	sides := []struct {
		name string
		run  func() error
	}{
		{"`ZADD`, pipelines of 1,000", func() error { return b.bare(ctx, members) }},
		{"`Composite.PutMany`, new ids", func() error { _, err := x.PutMany(ctx, slices.Values(first)); return err }},
		{"`Composite.PutMany`, changed values", func() error { _, err := x.PutMany(ctx, slices.Values(second)); return err }},
	}
	took := make([][]time.Duration, len(sides))
	for range b.opt.rounds {
		if err := b.client.Do(ctx, b.client.B().Flushall().Build()).Error(); err != nil {
			return err
		}
		for i, s := range sides {
			d, err := timed(s.run)
			if err != nil {
				return err
			}
			took[i] = append(took[i], d)
		}
	}
	fmt.Fprintf(out, "%s entries into an empty index, then the same ids with different values; medians of %d rounds:\n\n| | entries/s | ratio |\n| --- | ---: | ---: |\n", thousands(n), b.opt.rounds)
	base := medianTime(took[0])
	for i, s := range sides {
		fmt.Fprintf(out, "| %s | %s | **%.2f** |\n", s.name, thousands(int(n/medianTime(took[i]).Seconds())), base.Seconds()/medianTime(took[i]).Seconds())
	}
	fmt.Fprintln(out)
	return b.client.Do(ctx, b.client.B().Flushall().Build()).Error()
}

// bare adds members in pipelines.
func (b *indexBench) bare(ctx context.Context, members []string) error {
	for some := range slices.Chunk(members, 1000) {
		commands := make(rueidis.Commands, len(some))
		for i, m := range some {
			commands[i] = b.client.B().Zadd().Key("bare").ScoreMember().ScoreMember(0, m).Build()
		}
		for _, r := range b.client.DoMulti(ctx, commands...) {
			if err := r.Error(); err != nil {
				return err
			}
		}
	}
	return nil
}

// ranges compares a page of a million entries with a plain ZRANGE.
func (b *indexBench) ranges(ctx context.Context, out io.Writer) error {
	const n = 1_000_000
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
	sides := []struct {
		name string
		base int // the side to compare with
		run  func(room, price int) error
	}{
		{"`ZRANGE BYLEX LIMIT 0 20`", 0, func(room, price int) error {
			low := fmt.Sprintf("[\x80\x00\x00\x00\x00\x00%c%c", room>>8, room&255)
			_, err := b.client.Do(ctx, b.client.B().Zrange().Key("ranges").Min(low).Max("+").Bylex().Limit(0, 20).Build()).AsStrSlice()
			return err
		}},
		{"`Composite.Select`, a range of the second column, limit 20", 0, func(room, price int) error {
			return drain(x.Select(ctx, page, index.Eq("room", room), index.AtLeast("price", price/2)))
		}},
		{"`Composite.Select`, one in 100 of the second column, limit 20", 0, func(room, price int) error {
			return drain(x.Select(ctx, page, index.AtLeast("room", room/2), index.Between("price", price, price+10_000)))
		}},
		{"`ZRANGE BYSCORE LIMIT 0 20`", 3, func(_, price int) error {
			_, err := b.client.Do(ctx, b.client.B().Zrange().Key("numbers").Min(strconv.Itoa(price)).Max("+inf").Byscore().Limit(0, 20).Withscores().Build()).AsZScores()
			return err
		}},
		{"`Numeric.Select`, limit 20", 3, func(_, price int) error {
			return drain(numbers.Select(ctx, page, index.AtLeast("value", price/2)))
		}},
		{"`ZRANGE BYSCORE LIMIT 100000 20`", 5, func(_, price int) error {
			_, err := b.client.Do(ctx, b.client.B().Zrange().Key("numbers").Min(strconv.Itoa(price/2)).Max("+inf").Byscore().Limit(100_000, 20).Withscores().Build()).AsZScores()
			return err
		}},
		{"`Numeric.Select`, offset 100,000, limit 20", 5, func(_, price int) error {
			return drain(numbers.Select(ctx, index.Page{Limit: 20, Offset: 100_000}, index.AtLeast("value", price/2)))
		}},
	}
	took := make([][]time.Duration, len(sides))
	for range b.opt.rounds {
		for i, s := range sides {
			const times = 300
			d, err := timed(func() error {
				for range times {
					if err := s.run(random.IntN(1000), random.IntN(900_000)); err != nil {
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
	fmt.Fprintf(out, "A page of %s entries, at a random place, one after the other:\n\n| | time | ratio |\n| --- | ---: | ---: |\n", thousands(n))
	for i, s := range sides {
		fmt.Fprintf(out, "| %s | %.1f µs | **%.2f** |\n", s.name, float64(medianTime(took[i]).Nanoseconds())/1000, medianTime(took[i]).Seconds()/medianTime(took[s.base]).Seconds())
	}
	return nil
}

// drain reads all results of a query.
func drain[E any](entries func(func(E, error) bool)) error {
	for _, err := range entries {
		if err != nil {
			return err
		}
	}
	return nil
}
