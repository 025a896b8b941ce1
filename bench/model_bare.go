package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/model"
)

// listing is a record found by equality: five indexes and a unique value.
type listing struct {
	ID     string `redis:",id"`
	City   string `redis:"city,index"`
	Kind   string `redis:"kind,index"`
	Agent  string `redis:"agent,index"`
	Status string `redis:"status,index"`
	Street string `redis:"street,index"`
	Code   string `redis:"code,unique"`
	Title  string `redis:"title"`
	Price  int    `redis:"price"`
}

// listings is how many there are. Of 250 in a city, 35 or 36 are of a kind.
const listings = 5000

func nthListing(i int) listing {
	return listing{
		City: "city" + strconv.Itoa(i%20), Kind: "kind" + strconv.Itoa(i*31%7), Agent: "agent" + strconv.Itoa(i*17%50),
		Status: "status" + strconv.Itoa(i*13%3), Street: "street" + strconv.Itoa(i*7919%1000),
		Code: "code-" + strconv.Itoa(i), Title: "A house with a garden and a view of the sea", Price: 100_000 + i,
	}
}

// fields returns the fields of a listing, and those that are indexed.
func (l *listing) fields() (names, values []string) {
	return []string{"city", "kind", "agent", "status", "street", "code", "title", "price"},
		[]string{l.City, l.Kind, l.Agent, l.Status, l.Street, l.Code, l.Title, strconv.Itoa(l.Price)}
}

// mappingSide does the operations of a comparison in one way.
type mappingSide struct {
	name   string
	create func(ctx context.Context, i int) error
	get    func(ctx context.Context, id string) error
	unique func(ctx context.Context, code string) error
	find   func(ctx context.Context, city, kind string, limit int) (int, error)
	count  func(ctx context.Context, city, kind string) (int, error)
	update func(ctx context.Context, id, city string) error
	remove func(ctx context.Context, id string) error
}

// bareSide uses plain commands: sets of ids for each value, or sorted sets of ids in the
// order of creation.
func bareSide(c rueidis.Client, sorted bool) mappingSide {
	b := &bareListings{c: c, prefix: "bare", sorted: sorted}
	name := "sets by hand"
	if sorted {
		b.prefix, name = "order", "sorted sets by hand"
	}
	return mappingSide{name, b.create, b.get, b.unique, b.find, b.count, b.update, b.remove}
}

type bareListings struct {
	c      rueidis.Client
	prefix string
	sorted bool
}

func (b *bareListings) set(field, value string) string { return b.prefix + ":" + field + ":" + value }
func (b *bareListings) key(id string) string           { return b.prefix + ":" + id }

func (b *bareListings) enter(key, id string) rueidis.Completed {
	if b.sorted {
		n, _ := strconv.ParseFloat(id, 64)
		return b.c.B().Zadd().Key(key).ScoreMember().ScoreMember(n, id).Build()
	}
	return b.c.B().Sadd().Key(key).Member(id).Build()
}

func (b *bareListings) leave(key, id string) rueidis.Completed {
	if b.sorted {
		return b.c.B().Zrem().Key(key).Member(id).Build()
	}
	return b.c.B().Srem().Key(key).Member(id).Build()
}

func (b *bareListings) do(ctx context.Context, commands ...rueidis.Completed) error {
	for _, r := range b.c.DoMulti(ctx, commands...) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}

func (b *bareListings) create(ctx context.Context, i int) error {
	l := nthListing(i)
	n, err := b.c.Do(ctx, b.c.B().Incr().Key(b.prefix+":next").Build()).AsInt64()
	if err != nil {
		return err
	}
	id := strconv.FormatInt(n, 10)
	names, values := l.fields()
	fields := b.c.B().Hset().Key(b.key(id)).FieldValue()
	for i, name := range names {
		fields = fields.FieldValue(name, values[i])
	}
	commands := rueidis.Commands{fields.Build(), b.c.B().Hset().Key(b.prefix+":codes").FieldValue().FieldValue(l.Code, id).Build()}
	for i, name := range names[:5] {
		commands = append(commands, b.enter(b.set(name, values[i]), id))
	}
	return b.do(ctx, append(commands, b.enter(b.prefix+":all", id))...)
}

func (b *bareListings) get(ctx context.Context, id string) error {
	_, err := b.c.Do(ctx, b.c.B().Hgetall().Key(b.key(id)).Build()).AsStrMap()
	return err
}

func (b *bareListings) unique(ctx context.Context, code string) error {
	id, err := b.c.Do(ctx, b.c.B().Hget().Key(b.prefix+":codes").Field(code).Build()).ToString()
	if err != nil {
		return err
	}
	return b.get(ctx, id)
}

func (b *bareListings) find(ctx context.Context, city, kind string, limit int) (int, error) {
	var ids []string
	var err error
	if b.sorted {
		ids, err = b.c.Do(ctx, b.c.B().Zinter().Numkeys(2).Key(b.set("city", city), b.set("kind", kind)).Build()).AsStrSlice()
	} else {
		ids, err = b.c.Do(ctx, b.c.B().Sinter().Key(b.set("city", city), b.set("kind", kind)).Build()).AsStrSlice()
	}
	if limit > 0 {
		ids = ids[:min(limit, len(ids))]
	}
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = b.c.B().Hgetall().Key(b.key(id)).Build()
	}
	return len(ids), b.do(ctx, commands...)
}

func (b *bareListings) count(ctx context.Context, city, kind string) (int, error) {
	keys := []string{b.set("city", city), b.set("kind", kind)}
	command := b.c.B().Sintercard().Numkeys(2).Key(keys...).Build()
	if b.sorted {
		command = b.c.B().Zintercard().Numkeys(2).Key(keys...).Build()
	}
	n, err := b.c.Do(ctx, command).AsInt64()
	return int(n), err
}

func (b *bareListings) update(ctx context.Context, id, city string) error {
	old, err := b.c.Do(ctx, b.c.B().Hget().Key(b.key(id)).Field("city").Build()).ToString()
	if err != nil {
		return err
	}
	return b.do(ctx, b.c.B().Hset().Key(b.key(id)).FieldValue().FieldValue("city", city).Build(),
		b.leave(b.set("city", old), id), b.enter(b.set("city", city), id))
}

func (b *bareListings) remove(ctx context.Context, id string) error {
	l, err := b.c.Do(ctx, b.c.B().Hgetall().Key(b.key(id)).Build()).AsStrMap()
	if err != nil {
		return err
	}
	commands := rueidis.Commands{b.c.B().Del().Key(b.key(id)).Build(), b.c.B().Hdel().Key(b.prefix + ":codes").Field(l["code"]).Build()}
	for _, name := range []string{"city", "kind", "agent", "status", "street"} {
		commands = append(commands, b.leave(b.set(name, l[name]), id))
	}
	return b.do(ctx, append(commands, b.leave(b.prefix+":all", id))...)
}

func mappedSide(s *model.Store[listing]) mappingSide {
	both := func(city, kind string) *model.Query[listing] {
		return s.Find(model.Eq("city", city), model.Eq("kind", kind))
	}
	return mappingSide{
		name:   "`model`",
		create: func(ctx context.Context, i int) error { _, err := s.Create(ctx, nthListing(i)); return err },
		get:    func(ctx context.Context, id string) error { _, err := s.Get(ctx, id); return err },
		unique: func(ctx context.Context, code string) error { _, err := s.GetBy(ctx, "code", code); return err },
		find: func(ctx context.Context, city, kind string, limit int) (int, error) {
			all, err := both(city, kind).Limit(limit).Slice(ctx)
			return len(all), err
		},
		count: func(ctx context.Context, city, kind string) (int, error) {
			n, err := both(city, kind).Count(ctx)
			return int(n), err
		},
		update: func(ctx context.Context, id, city string) error {
			_, err := s.Patch(ctx, id, map[string]any{"city": city})
			return err
		},
		remove: func(ctx context.Context, id string) error { return s.Delete(ctx, id) },
	}
}

// measureMapping compares each operation of the mapper with the same work by plain
// commands, in the time that the server computes.
func measureMapping(ctx context.Context, dir string, opt options) (string, error) {
	var text strings.Builder
	err := onServer(ctx, dir, "mapping", func(client rueidis.Client) error {
		return compareMapping(ctx, client, opt, &text)
	})
	return text.String(), err
}

// How often each operation is done, and how often in turn by each side.
const (
	mappingTimes = 1000
	mappingTurn  = 100
)

func compareMapping(ctx context.Context, client rueidis.Client, opt options, out io.Writer) error {
	names := []string{
		"create, one by one", "get", "unique value", "find by two (35 or 36 of 250)", "find by two, the first 10", "count of two",
		"update of an indexed field", "delete",
	}
	sides := []mappingSide{bareSide(client, false), bareSide(client, true), {name: "`model`"}}
	micros := make([][][]float64, len(names)) // by operation and side
	for i := range micros {
		micros[i] = make([][]float64, len(sides))
	}
	var stored [3]int // bytes
	var many []float64
	for range opt.rounds {
		if err := client.Do(ctx, client.B().Flushall().Build()).Error(); err != nil {
			return err
		}
		s, err := model.New[listing](client, model.Options{Name: "listing"})
		if err != nil {
			return err
		}
		sides[2] = mappedSide(s)
		sums := make([]float64, len(sides))
		for from := 0; from < listings; from += mappingTurn {
			for i, side := range sides {
				before, err := dataset(ctx, client)
				if err != nil {
					return err
				}
				us, err := serverMicros(ctx, client, mappingTurn, func(n int) error { return side.create(ctx, from+n) })
				if err != nil {
					return err
				}
				sums[i] += us * mappingTurn / listings
				after, err := dataset(ctx, client)
				if err != nil {
					return err
				}
				stored[i] += after - before
			}
		}
		for i, us := range sums {
			micros[0][i] = append(micros[0][i], us)
		}
		for operation := 1; operation < len(names); operation++ {
			sums := make([]float64, len(sides))
			for from := 0; from < mappingTimes; from += mappingTurn {
				for i := range sides {
					us, err := serverMicros(ctx, client, mappingTurn, func(n int) error { return sides[i].operate(ctx, operation, from+n) })
					if err != nil {
						return fmt.Errorf("%s: %s: %w", sides[i].name, names[operation], err)
					}
					sums[i] += us * mappingTurn / mappingTimes
				}
			}
			for i, us := range sums {
				micros[operation][i] = append(micros[operation][i], us)
			}
		}
		other, err := model.New[listing](client, model.Options{Name: "many"})
		if err != nil {
			return err
		}
		all := make([]listing, listings)
		for i := range all {
			all[i] = nthListing(i)
		}
		us, err := serverMicros(ctx, client, 1, func(int) error { _, err := other.CreateMany(ctx, all); return err })
		if err != nil {
			return err
		}
		many = append(many, us/listings)
	}
	fmt.Fprintf(out, "## Object mapping beside plain commands\n\nTime that the server computes for an operation, of %s records with five `index` fields and a unique one, by one client, one operation after the other; "+
		"medians of %d interleaved rounds. By hand, in as few round trips as possible and without any check, are a set of ids for each value, or a sorted set in the order of creation:\n\n", thousands(listings), opt.rounds)
	fmt.Fprintln(out, "| | sets by hand | sorted sets by hand | `model` | to sets | to sorted sets |\n| --- | ---: | ---: | ---: | ---: | ---: |")
	row := func(name, format string, a, b, c float64) {
		fmt.Fprintf(out, "| %s | "+format+" | "+format+" | "+format+" | **%.2f** | **%.2f** |\n", name, a, b, c, c/a, c/b)
	}
	for i, name := range names {
		m := micros[i]
		row(name, "%.1f µs", medianMicros(m[0]), medianMicros(m[1]), medianMicros(m[2]))
		if i == 0 {
			row("`CreateMany`", "%.1f µs", medianMicros(m[0]), medianMicros(m[1]), medianMicros(many))
		}
	}
	of := func(i int) float64 { return float64(stored[i]) / float64(listings*opt.rounds) }
	row("memory of a record", "%.0f bytes", of(0), of(1), of(2))
	fmt.Fprintln(out)
	return nil
}

// operate does one operation by its number.
func (s *mappingSide) operate(ctx context.Context, operation, n int) error {
	id := strconv.Itoa(n%listings + 1)
	city, kind := "city"+strconv.Itoa(n%20), "kind"+strconv.Itoa(n%7)
	var found, want int
	var err error
	switch operation {
	case 1:
		return s.get(ctx, id)
	case 2:
		return s.unique(ctx, "code-"+strconv.Itoa(n))
	case 3:
		found, err = s.find(ctx, city, kind, 0)
		want = 35
	case 4:
		found, err = s.find(ctx, city, kind, 10)
		want = 10
	case 5:
		found, err = s.count(ctx, city, kind)
		want = 35
	case 6:
		return s.update(ctx, id, "city"+strconv.Itoa((n+7)%20))
	default:
		return s.remove(ctx, id)
	}
	if err == nil && found != want && found != want+1 {
		err = fmt.Errorf("%d records, want %d", found, want)
	}
	return err
}

// serverMicros returns how many microseconds the server computes for each of n calls.
func serverMicros(ctx context.Context, client rueidis.Client, n int, f func(i int) error) (float64, error) {
	before, err := serverSeconds(ctx, client)
	if err != nil {
		return 0, err
	}
	for i := range n {
		if err := f(i); err != nil {
			return 0, err
		}
	}
	after, err := serverSeconds(ctx, client)
	return (after - before) * 1e6 / float64(n), err
}

func medianMicros(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }
