package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/model"
)

// person is a record with five indexed fields.
type person struct {
	ID      string            `redis:",id"`
	Name    string            `redis:"name,index"`
	Email   string            `redis:"email,unique"`
	Age     int               `redis:"age,range"`
	City    string            `redis:"city,range"`
	Boss    model.Ref[person] `redis:"boss,index"`
	Bio     string            `redis:"bio"`
	Joined  time.Time         `redis:"joined,unix"`
	Version int64             `redis:",version"`
}

// nth returns the person for a number.
func nth(i int) person {
	return person{
		Name:   "name" + strconv.Itoa(i*7919%1000),
		Email:  "person" + strconv.Itoa(i) + "@example.com",
		Age:    i * 7907 % 100,
		City:   "city" + strconv.Itoa(i*7883%300),
		Boss:   model.To[person](strconv.Itoa(i%500 + 1)),
		Bio:    "They who write little of themselves are read to the end.",
		Joined: time.Unix(1_700_000_000+int64(i), 0),
	}
}

// modelBench measures the object mapper.
type modelBench struct {
	opt    options
	client rueidis.Client
	cached rueidis.Client // with client-side caching
	people *model.Store[person]
}

func measureModel(ctx context.Context, dir string, opt options) (string, error) {
	var text strings.Builder
	err := onServer(ctx, dir, "model", func(client rueidis.Client) error {
		socket, err := socketOf(ctx, client)
		if err != nil {
			return err
		}
		cached, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{socket}, DialCtxFn: dialUnix, ForceSingleClient: true})
		if err != nil {
			return err
		}
		defer cached.Close()
		b := &modelBench{opt: opt, client: client, cached: cached}
		text.WriteString("## Object mapping\n\nRecords of eight fields, five of them indexed (an equality, a unique value, a range of numbers, a range of text, a reference).\n\n")
		if err := b.creates(ctx, &text); err != nil {
			return err
		}
		if err := b.gets(ctx, &text); err != nil {
			return err
		}
		return b.finds(ctx, &text)
	})
	return text.String(), err
}

func socketOf(ctx context.Context, client rueidis.Client) (string, error) {
	reply, err := client.Do(ctx, client.B().ConfigGet().Parameter("unixsocket").Build()).AsStrMap()
	return reply["unixsocket"], err
}

// creates compares Create with plain commands that write the same keys.
func (b *modelBench) creates(ctx context.Context, out io.Writer) error {
	const n = 100_000
	var bytes [2][]int
	var took [2][]time.Duration
	for range b.opt.rounds {
		for side, create := range []func(i int) error{
			func(i int) error { return b.bare(ctx, i) },
			func(i int) error { _, err := b.people.Create(ctx, nth(i)); return err },
		} {
			if err := b.client.Do(ctx, b.client.B().Flushall().Build()).Error(); err != nil {
				return err
			}
			people, err := model.New[person](b.client, model.Options{Name: "person"})
			if err != nil {
				return err
			}
			b.people = people
			before, err := dataset(ctx, b.client)
			if err != nil {
				return err
			}
			d, err := timed(func() error { return concurrently(64, n, create) })
			if err != nil {
				return err
			}
			after, err := dataset(ctx, b.client)
			if err != nil {
				return err
			}
			took[side] = append(took[side], d)
			bytes[side] = append(bytes[side], (after-before)/n)
		}
	}
	fmt.Fprintf(out, "%s new records by 64 goroutines over one connection; medians of %d rounds. The plain commands write the same fields and index entries, with an `INCR` for the id, and check nothing:\n\n", thousands(n), b.opt.rounds)
	fmt.Fprintln(out, "| | records/s | ratio | bytes per record | ratio |\n| --- | ---: | ---: | ---: | ---: |")
	base := medianTime(took[0])
	for i, name := range []string{"`INCR`, then `HSET`, `HSET` and five `ZADD` in a pipeline", "`Create`"} {
		d := medianTime(took[i])
		fmt.Fprintf(out, "| %s | %s | **%.2f** | %d | **%.2f** |\n", name, thousands(int(n/d.Seconds())), base.Seconds()/d.Seconds(),
			bytes[i][0], float64(bytes[i][0])/float64(bytes[0][0]))
	}
	fmt.Fprintln(out)
	return nil
}

// concurrently calls f for each number below n, from several goroutines.
func concurrently(goroutines, n int, f func(i int) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(i); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// bare writes a person without a mapper.
func (b *modelBench) bare(ctx context.Context, i int) error {
	p, c := nth(i), b.client
	n, err := c.Do(ctx, c.B().Incr().Key("next_bare_id").Build()).AsInt64()
	if err != nil {
		return err
	}
	id := strconv.FormatInt(n, 10)
	for _, r := range c.DoMulti(ctx,
		c.B().Hset().Key("person:"+id).FieldValue().
			FieldValue("name", p.Name).FieldValue("email", p.Email).FieldValue("age", strconv.Itoa(p.Age)).
			FieldValue("city", p.City).FieldValue("boss", p.Boss.ID).FieldValue("bio", p.Bio).
			FieldValue("joined", strconv.FormatInt(p.Joined.Unix(), 10)).FieldValue("version", "1").Build(),
		c.B().Hset().Key("person.by.email").FieldValue().FieldValue(p.Email, id).Build(),
		c.B().Zadd().Key("person.by.name:"+p.Name).ScoreMember().ScoreMember(float64(n), id).Build(),
		c.B().Zadd().Key("person.by.age").ScoreMember().ScoreMember(float64(p.Age), id).Build(),
		c.B().Zadd().Key("person.by.city").ScoreMember().ScoreMember(0, p.City+":"+id).Build(),
		c.B().Zadd().Key("person.by.boss:"+p.Boss.ID).ScoreMember().ScoreMember(float64(n), id).Build(),
		c.B().Zadd().Key("person.all").ScoreMember().ScoreMember(float64(n), id).Build(),
	) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}

// gets compares Get with a plain HGETALL.
func (b *modelBench) gets(ctx context.Context, out io.Writer) error {
	const times = 20_000
	people, err := model.New[person](b.cached, model.Options{Name: "person", Cache: time.Minute})
	if err != nil {
		return err
	}
	id := func(i int) string { return strconv.Itoa(i%100 + 1) }
	sides := []struct {
		name string
		get  func(id string) error
	}{
		{"`HGETALL`, as a map", func(id string) error {
			_, err := b.client.Do(ctx, b.client.B().Hgetall().Key("person:"+id).Build()).AsStrMap()
			return err
		}},
		{"`Get`", func(id string) error { _, err := b.people.Get(ctx, id); return err }},
		{"`Get`, from the client-side cache", func(id string) error { _, err := people.Get(ctx, id); return err }},
	}
	took := make([][]time.Duration, len(sides))
	allocations := make([]float64, len(sides))
	for range b.opt.rounds {
		for i, s := range sides {
			d, err := timed(func() error {
				for j := range times {
					if err := s.get(id(j)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			took[i] = append(took[i], d/times)
			allocations[i] = testing.AllocsPerRun(1000, func() { _ = s.get("7") })
		}
	}
	fmt.Fprintf(out, "One record after the other, of 100; medians of %d rounds:\n\n", b.opt.rounds)
	fmt.Fprintln(out, "| | time | ratio | allocations |\n| --- | ---: | ---: | ---: |")
	base := medianTime(took[0])
	for i, s := range sides {
		d := medianTime(took[i])
		fmt.Fprintf(out, "| %s | %.1f µs | **%.2f** | %.0f |\n", s.name, float64(d.Nanoseconds())/1000, d.Seconds()/base.Seconds(), allocations[i])
	}
	fmt.Fprintln(out)
	return nil
}
