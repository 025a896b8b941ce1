// Package model compares the object mapper with the commands that write and read the same.
package model

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
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

// bench measures the object mapper.
type bench struct {
	opt    measure.Options
	client rueidis.Client
	cached rueidis.Client // with client-side caching
	people *model.Store[person]
}

// Model measures creating, reading and finding records.
func Model(ctx context.Context, opt measure.Options) (string, error) {
	var text strings.Builder
	err := measure.OnServer(ctx, opt.Dir, func(client rueidis.Client, socket string) error {
		cached, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{socket}, DialCtxFn: measure.DialUnix, ForceSingleClient: true})
		if err != nil {
			return err
		}
		defer cached.Close()
		b := &bench{opt: opt, client: client, cached: cached}
		text.WriteString("## Object mapping\n\nRecords of eight fields, five of them indexed (an equality, a unique value, a range of numbers, a range of text, a reference).\n\n")
		for _, part := range []func(context.Context, io.Writer) error{b.creates, b.gets, b.finds} {
			if err := part(ctx, &text); err != nil {
				return err
			}
		}
		return nil
	})
	return text.String(), err
}

// creates compares Create with plain commands that write the same keys.
func (b *bench) creates(ctx context.Context, out io.Writer) error {
	const n = 100_000
	type side struct {
		name   string
		create func(i int) error
	}
	sides := []side{
		{"`INCR`, then `HSET`, `HSET` and five `ZADD` in a pipeline", func(i int) error { return b.bare(ctx, i) }},
		{"`Create`", func(i int) error { _, err := b.people.Create(ctx, nth(i)); return err }},
	}
	type cost struct{ rate, bytes float64 }
	rounds, err := measure.InTurn(b.opt.Rounds, sides, func(s side, _ int) (c cost, err error) {
		if err := measure.Empty(ctx, b.client); err != nil {
			return c, err
		}
		if b.people, err = model.New[person](b.client, model.Options{Name: "person"}); err != nil {
			return c, err
		}
		c.bytes, err = measure.ServerMemory(ctx, b.client, n)(func() error {
			c.rate, err = measure.Rate(n)(func() error { return measure.Concurrently(64, n, s.create) })
			return err
		})
		return c, err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s new records by 64 goroutines over one connection; medians of %d rounds. The plain commands write the same fields and index entries, with an `INCR` for the id, and check nothing:\n\n", measure.Thousands(n), b.opt.Rounds)
	measure.Head(out, "", "records/s", "ratio", "bytes per record", "ratio")
	var base cost
	for i, s := range sides {
		now := cost{
			measure.Median(measure.Each(rounds[i], func(c cost) float64 { return c.rate })),
			measure.Median(measure.Each(rounds[i], func(c cost) float64 { return c.bytes })),
		}
		if i == 0 {
			base = now
		}
		fmt.Fprintf(out, "| %s | %s | **%.2f** | %.0f | **%.2f** |\n", s.name, measure.Thousands(int(now.rate)), now.rate/base.rate, now.bytes, now.bytes/base.bytes)
	}
	fmt.Fprintln(out)
	return nil
}

// bare writes a person without a mapper.
func (b *bench) bare(ctx context.Context, i int) error {
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
func (b *bench) gets(ctx context.Context, out io.Writer) error {
	const times = 20_000
	cached, err := model.New[person](b.cached, model.Options{Name: "person", Cache: time.Minute})
	if err != nil {
		return err
	}
	type side struct {
		name string
		get  func(id string) error
	}
	sides := []side{
		{"`HGETALL`, as a map", func(id string) error {
			_, err := b.client.Do(ctx, b.client.B().Hgetall().Key("person:"+id).Build()).AsStrMap()
			return err
		}},
		{"`Get`", func(id string) error { _, err := b.people.Get(ctx, id); return err }},
		{"`Get`, from the client-side cache", func(id string) error { _, err := cached.Get(ctx, id); return err }},
	}
	took, err := measure.InTurn(b.opt.Rounds, sides, func(s side, _ int) (float64, error) {
		i := 0
		return measure.Clock(times)(measure.Times(times, func() error {
			i++
			return s.get(strconv.Itoa(i%100 + 1))
		}))
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "One record after the other, of 100; medians of %d rounds:\n\n", b.opt.Rounds)
	measure.Head(out, "", "time", "ratio", "allocations")
	for i, s := range sides {
		fmt.Fprintf(out, "| %s | %.1f µs | **%.2f** | %.0f |\n", s.name, measure.Median(took[i]), measure.Median(took[i])/measure.Median(took[0]),
			testing.AllocsPerRun(1000, func() { _ = s.get("7") }))
	}
	fmt.Fprintln(out)
	return nil
}
