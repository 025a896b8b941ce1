package model

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/model"
)

// resident is a record to query.
type resident struct {
	ID     string    `redis:",id"`
	Street string    `redis:"street,index"`
	Age    int       `redis:"age,range"`
	City   string    `redis:"city,range"`
	Joined time.Time `redis:"joined,range,unix"`
}

func (resident) Indexes() []model.Index[resident] {
	return []model.Index[resident]{model.Composite[resident]("city", "joined")}
}

// Residents that can match: a thousand of each street, aged 0 to 99.
const (
	fitting = 10_000
	streets = 10
)

// nthResident returns a resident that can match, and after the last of these one
// that never does.
func nthResident(i int) resident {
	r := resident{Joined: time.Unix(1_700_000_000+int64(i*7919%1_000_003), 0)}
	if i < fitting {
		r.Street, r.Age, r.City = "street"+strconv.Itoa(i%streets), i/streets%100, "city"+strconv.Itoa(i%20)
	} else {
		r.Street, r.Age, r.City = "far"+strconv.Itoa(i%1000), 100+i%1000, "town"+strconv.Itoa(i%300)
	}
	return r
}

// finds measures queries with few and with many records that match none of their
// conditions.
func (b *bench) finds(ctx context.Context, out io.Writer) error {
	if err := measure.Empty(ctx, b.client); err != nil {
		return err
	}
	residents, err := model.New[resident](b.client, model.Options{Name: "resident"})
	if err != nil {
		return err
	}
	queries := residentQueries(b.client, residents)
	sizes := []int{2 * fitting, max(b.opt.Stored, 2*fitting)}
	took := make([][][]time.Duration, len(sizes))
	stored := 0
	for i, size := range sizes {
		from := stored
		create := func(i int) error { _, err := residents.Create(ctx, nthResident(from+i)); return err }
		if err := measure.Concurrently(64, size-from, create); err != nil {
			return err
		}
		stored = size
		if took[i], err = measureQueries(ctx, queries); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "Queries, one after the other, of records of which %s can match; the other records match none of the conditions:\n\n", measure.Thousands(fitting))
	measure.Head(out, "", measure.Thousands(sizes[0])+" records: p50", "p99", measure.Thousands(sizes[1])+" records: p50", "p99", "ratio of p50")
	for i, q := range queries {
		few, many := took[0][i], took[1][i]
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | **%.2f** |\n", q.name, quantile(few, 50), quantile(few, 99), quantile(many, 50), quantile(many, 99),
			many[len(many)/2].Seconds()/few[len(few)/2].Seconds())
	}
	fmt.Fprintln(out)
	return nil
}

// residentQuery is a query for one street, ages from a to a+20, and one city.
type residentQuery struct {
	name string
	run  func(ctx context.Context, street, city string, age int) error
}

func residentQueries(client rueidis.Client, residents *model.Store[resident]) []residentQuery {
	both := func(street string, age int) *model.Query[resident] {
		return residents.Find(model.Eq("street", street), model.Between("age", age, age+20))
	}
	drained := func(all []resident, err error) error {
		if err == nil && len(all) != 20 {
			err = fmt.Errorf("%d records, want 20", len(all))
		}
		return err
	}
	return []residentQuery{
		{"`ZRANGE BYLEX LIMIT 0 20`, then 20 `HMGET` in a pipeline", func(ctx context.Context, _, city string, _ int) error {
			return bareQuery(ctx, client, city)
		}},
		{"`Find` by an equality, limit 20", func(ctx context.Context, street, _ string, _ int) error {
			return drained(residents.Find(model.Eq("street", street)).Limit(20).Slice(ctx))
		}},
		{"`Find` by an equality and a range, limit 20", func(ctx context.Context, street, _ string, age int) error {
			return drained(both(street, age).Limit(20).Slice(ctx))
		}},
		{"the same ordered by the range", func(ctx context.Context, street, _ string, age int) error {
			return drained(both(street, age).OrderBy("age").Limit(20).Slice(ctx))
		}},
		{"the same, ordered by another field", func(ctx context.Context, street, _ string, age int) error {
			return drained(both(street, age).OrderBy("joined desc").Limit(20).Slice(ctx))
		}},
		{"`Find` by an equality ordered by a composite index, limit 20", func(ctx context.Context, _, city string, _ int) error {
			return drained(residents.Find(model.Eq("city", city)).OrderBy("joined desc").Limit(20).Slice(ctx))
		}},
		{"`Count` of an equality", func(ctx context.Context, street, _ string, _ int) error {
			_, err := residents.Find(model.Eq("street", street)).Count(ctx)
			return err
		}},
		{"`Count` of an equality and a range", func(ctx context.Context, street, _ string, age int) error {
			_, err := both(street, age).Count(ctx)
			return err
		}},
	}
}

// bareQuery reads 20 members of an index and their records.
func bareQuery(ctx context.Context, client rueidis.Client, city string) error {
	low := "[" + city + "\x00\x01"
	members, err := client.Do(ctx, client.B().Zrange().Key("resident.by.city").Min(low).Max("["+city+"\x00\x02").Bylex().Limit(0, 20).Build()).AsStrSlice()
	if err != nil {
		return err
	}
	commands := make(rueidis.Commands, len(members))
	for i, m := range members {
		commands[i] = client.B().Hmget().Key("resident:"+m[len(city)+2:]).Field("street", "age", "city", "joined").Build()
	}
	for _, r := range client.DoMulti(ctx, commands...) {
		if _, err := r.AsStrSlice(); err != nil {
			return err
		}
	}
	return nil
}

// measureQueries returns how long each run of each query took, in order.
func measureQueries(ctx context.Context, queries []residentQuery) ([][]time.Duration, error) {
	const times = 2000
	random := rand.New(rand.NewPCG(7, 0))
	took := make([][]time.Duration, len(queries))
	for range times {
		street, city, age := "street"+strconv.Itoa(random.IntN(streets)), "city"+strconv.Itoa(random.IntN(20)), random.IntN(80)
		for i, q := range queries {
			began := time.Now()
			if err := q.run(ctx, street, city, age); err != nil {
				return nil, fmt.Errorf("%s: %w", q.name, err)
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	return took, nil
}

// quantile returns a percentile of sorted times.
func quantile(sorted []time.Duration, hundredth int) string {
	return measure.Milliseconds(sorted[len(sorted)*hundredth/100])
}
