package toolkit

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/internal/redis/reply"
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

// nth returns the person with number i.
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

// Model compares creating and reading records with plain commands for the same keys.
func Model(ctx context.Context, opt measure.Options) (string, error) {
	const n, times = 100_000, 20_000
	return measure.OnServer(ctx, opt.Dir, func(text io.Writer, server *measure.Server) error {
		client := server.Client
		cached, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Socket()}, DialCtxFn: measure.DialUnix, ForceSingleClient: true})
		if err != nil {
			return err
		}
		defer cached.Close()
		var people *model.Store[person]
		create := func(createOne func(i int) error) func() ([]float64, error) {
			return func() (costs []float64, err error) {
				if err := measure.FlushAll(ctx, client); err != nil {
					return nil, err
				}
				if people, err = model.New[person](ctx, client, model.Options{Name: "person"}); err != nil {
					return nil, err
				}
				run := func() error { return measure.Concurrently(64, n, createOne) }
				return measure.PerSecond(measure.PerOp(n, run, measure.Clock, measure.ServerMemory(ctx, client)))()
			}
		}
		fmt.Fprintf(text, `## Object mapping

Records have eight fields, five of them indexed (equality, unique, numeric range, text range, reference).

64 goroutines create %s records over one connection; medians of %d rounds. The plain commands write the same fields and index entries, take the ID from `+"`INCR`"+`, and check nothing:

`, measure.Thousands(n), opt.Rounds)
		err = measure.Table{
			Rounds: opt.Rounds, Head: []string{"", "records/s", "ratio", "bytes per record", "ratio"}, Formats: []string{"", "%.0f"},
			Sides: []measure.Side{
				{Name: "`INCR`, then `HSET`, `HSET` and five `ZADD` in a pipeline", Measure: create(func(i int) error { return createPlain(ctx, client, i) })},
				{Name: "`Create`", Measure: create(func(i int) error { _, err := people.Create(ctx, nth(i)); return err })},
			},
		}.Write(text)
		if err != nil {
			return err
		}
		fromCache, err := model.New[person](ctx, cached, model.Options{Name: "person", Cache: time.Minute})
		if err != nil {
			return err
		}
		read := func(get func(id string) error) func() ([]float64, error) {
			i := 0
			return measure.PerOp(times, measure.Repeat(times, func() error { i++; return get(strconv.Itoa(i%100 + 1)) }), measure.Clock)
		}
		fmt.Fprintf(text, "100 records, read one at a time; medians of %d rounds:\n\n", opt.Rounds)
		return measure.Table{
			Rounds: opt.Rounds, Head: []string{"", "time", "ratio"}, Formats: []string{"%.1f µs"},
			Sides: []measure.Side{
				{Name: "`HGETALL`, as a map", Measure: read(func(id string) error {
					_, err := client.Do(ctx, client.B().Hgetall().Key("person:"+id).Build()).AsStrMap()
					return err
				})},
				{Name: "`Get`", Measure: read(func(id string) error { _, err := people.Get(ctx, id); return err })},
				{Name: "`Get`, from the client-side cache", Measure: read(func(id string) error { _, err := fromCache.Get(ctx, id); return err })},
			},
		}.Write(text)
	})
}

// createPlain writes a person without package model.
func createPlain(ctx context.Context, c rueidis.Client, i int) error {
	p := nth(i)
	n, err := c.Do(ctx, c.B().Incr().Key("next_bare_id").Build()).AsInt64()
	if err != nil {
		return err
	}
	id := strconv.FormatInt(n, 10)
	return reply.FirstError(c.DoMulti(ctx,
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
	))
}
