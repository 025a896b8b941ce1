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

// listings is how many there are. Of 500 in a city, 71 or 72 are of a kind, of these 23 or
// 24 with one status.
const listings = 10_000

func nthListing(i int) listing {
	return listing{
		City: "city" + strconv.Itoa(i%20), Kind: "kind" + strconv.Itoa(i*31%7), Agent: "agent" + strconv.Itoa(i*17%50),
		Status: "status" + strconv.Itoa(i*13%3), Street: "street" + strconv.Itoa(i*7919%1000),
		Code: "code-" + strconv.Itoa(i), Title: "A house with a garden and a view of the sea", Price: 100_000 + i,
	}
}

// savedListing is a listing as it is saved with another price.
func savedListing(id string, n int) listing {
	i, _ := strconv.Atoi(id)
	l := nthListing(i - 1)
	l.ID, l.Price = id, n
	return l
}

// fields returns the fields of a listing, and those that are indexed.
func (l *listing) fields() (names, values []string) {
	return []string{"city", "kind", "agent", "status", "street", "code", "title", "price"},
		[]string{l.City, l.Kind, l.Agent, l.Status, l.Street, l.Code, l.Title, strconv.Itoa(l.Price)}
}

// mappingSide does the operations of a comparison in one way.
type mappingSide struct {
	name    string
	create  func(ctx context.Context, i int) error
	get     func(ctx context.Context, id string) error
	unique  func(ctx context.Context, code string) error
	first   func(ctx context.Context, code string) error
	find    func(ctx context.Context, limit int, values ...string) (int, error) // of fields, in their order
	count   func(ctx context.Context, values ...string) (int, error)
	save    func(ctx context.Context, id string, n int) error // with another price
	reprice func(ctx context.Context, id string, n int) error
	update  func(ctx context.Context, id, city string) error
	remove  func(ctx context.Context, id string) error
}

// bareSide uses plain commands: sets of ids for each value, or sorted sets of ids in the
// order of creation.
func bareSide(c rueidis.Client, sorted bool) mappingSide {
	b := &bareListings{c: c, prefix: "bare", sorted: sorted}
	name := "sets by hand"
	if sorted {
		b.prefix, name = "order", "sorted sets by hand"
	}
	return mappingSide{name, b.create, b.get, b.unique, b.unique, b.find, b.count, b.save, b.reprice, b.update, b.remove}
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
	commands := rueidis.Commands{b.hash(id, &l), b.c.B().Hset().Key(b.prefix+":codes").FieldValue().FieldValue(l.Code, id).Build()}
	for i, name := range names[:5] {
		commands = append(commands, b.enter(b.set(name, values[i]), id))
	}
	return b.do(ctx, append(commands, b.enter(b.prefix+":all", id))...)
}

// hash writes the fields of a listing.
func (b *bareListings) hash(id string, l *listing) rueidis.Completed {
	names, values := l.fields()
	fields := b.c.B().Hset().Key(b.key(id)).FieldValue()
	for i, name := range names {
		fields = fields.FieldValue(name, values[i])
	}
	return fields.Build()
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

// sets returns the sets of the values of the first fields.
func (b *bareListings) sets(values []string) []string {
	keys := make([]string, len(values))
	for i, field := range []string{"city", "kind", "status"}[:len(values)] {
		keys[i] = b.set(field, values[i])
	}
	return keys
}

func (b *bareListings) find(ctx context.Context, limit int, values ...string) (int, error) {
	var ids []string
	var err error
	if keys := b.sets(values); b.sorted {
		ids, err = b.c.Do(ctx, b.c.B().Zinter().Numkeys(int64(len(keys))).Key(keys...).Build()).AsStrSlice()
	} else {
		ids, err = b.c.Do(ctx, b.c.B().Sinter().Key(keys...).Build()).AsStrSlice()
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

func (b *bareListings) count(ctx context.Context, values ...string) (int, error) {
	keys := b.sets(values)
	command := b.c.B().Sintercard().Numkeys(int64(len(keys))).Key(keys...).Build()
	if b.sorted {
		command = b.c.B().Zintercard().Numkeys(int64(len(keys))).Key(keys...).Build()
	}
	n, err := b.c.Do(ctx, command).AsInt64()
	return int(n), err
}

func (b *bareListings) save(ctx context.Context, id string, n int) error {
	l := savedListing(id, n)
	return b.do(ctx, b.hash(id, &l))
}

// reprice reads the record, as the caller that shows the outcome of a change does, and changes it.
func (b *bareListings) reprice(ctx context.Context, id string, n int) error {
	if err := b.get(ctx, id); err != nil {
		return err
	}
	return b.do(ctx, b.c.B().Hset().Key(b.key(id)).FieldValue().FieldValue("price", strconv.Itoa(n)).Build())
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
	all := func(values []string) *model.Query[listing] {
		q := s.Find()
		for i, field := range []string{"city", "kind", "status"}[:len(values)] {
			q = q.And(model.Eq(field, values[i]))
		}
		return q
	}
	return mappingSide{
		name:   "`model`",
		create: func(ctx context.Context, i int) error { _, err := s.Create(ctx, nthListing(i)); return err },
		get:    func(ctx context.Context, id string) error { _, err := s.Get(ctx, id); return err },
		unique: func(ctx context.Context, code string) error { _, err := s.GetBy(ctx, "code", code); return err },
		first: func(ctx context.Context, code string) error {
			_, err := s.Find(model.Eq("code", code)).First(ctx)
			return err
		},
		find: func(ctx context.Context, limit int, values ...string) (int, error) {
			found, err := all(values).Limit(limit).Slice(ctx)
			return len(found), err
		},
		count: func(ctx context.Context, values ...string) (int, error) {
			n, err := all(values).Count(ctx)
			return int(n), err
		},
		save: func(ctx context.Context, id string, n int) error {
			_, err := s.Save(ctx, savedListing(id, n))
			return err
		},
		reprice: func(ctx context.Context, id string, n int) error {
			_, err := s.Patch(ctx, id, map[string]any{"price": n})
			return err
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
	operations := mappingOperations()
	names := []string{"create, one by one"}
	for _, o := range operations {
		names = append(names, o.name)
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
		for operation := range operations {
			sums := make([]float64, len(sides))
			for from := 0; from < mappingTimes; from += mappingTurn {
				for i := range sides {
					us, err := serverMicros(ctx, client, mappingTurn, func(n int) error { return operations[operation].do(ctx, &sides[i], from+n) })
					if err != nil {
						return fmt.Errorf("%s: %s: %w", sides[i].name, operations[operation].name, err)
					}
					sums[i] += us * mappingTurn / mappingTimes
				}
			}
			for i, us := range sums {
				micros[1+operation][i] = append(micros[1+operation][i], us)
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
	fmt.Fprintf(out, "## Object mapping beside plain commands\n\nTime that the server computes for an operation, of %s records with five `index` fields and a unique one, by one client, one operation after the other (`make bench ARGS='--only mapping'`); "+
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

// mappingOperation is done by each side with numbers below mappingTimes.
type mappingOperation struct {
	name string
	do   func(ctx context.Context, s *mappingSide, n int) error
}

// mappingOperations are those after the creation of the records, in their order.
func mappingOperations() []mappingOperation {
	id := func(n int) string { return strconv.Itoa(n%listings + 1) }
	values := func(n int) []string {
		return []string{"city" + strconv.Itoa(n%20), "kind" + strconv.Itoa(n%7), "status" + strconv.Itoa(n%3)}
	}
	found := func(n int, err error, least int) error {
		if err == nil && n != least && n != least+1 {
			err = fmt.Errorf("%d records, want %d", n, least)
		}
		return err
	}
	find := func(fields, limit, least int) func(context.Context, *mappingSide, int) error {
		return func(ctx context.Context, s *mappingSide, n int) error {
			all, err := s.find(ctx, limit, values(n)[:fields]...)
			return found(all, err, least)
		}
	}
	return []mappingOperation{
		{"get", func(ctx context.Context, s *mappingSide, n int) error { return s.get(ctx, id(n)) }},
		{"unique value, `GetBy`", func(ctx context.Context, s *mappingSide, n int) error { return s.unique(ctx, "code-"+strconv.Itoa(n)) }},
		{"unique value, `Find(Eq).First`", func(ctx context.Context, s *mappingSide, n int) error { return s.first(ctx, "code-"+strconv.Itoa(n)) }},
		{"find by two (71 or 72 of 500)", find(2, 0, 71)},
		{"find by two, the first 20", find(2, 20, 20)},
		{"find by three (23 or 24)", find(3, 0, 23)},
		{"find by three, the first 20", find(3, 20, 20)},
		{"count of two", func(ctx context.Context, s *mappingSide, n int) error {
			all, err := s.count(ctx, values(n)[:2]...)
			return found(all, err, 71)
		}},
		{"`Save`, no index changes", func(ctx context.Context, s *mappingSide, n int) error { return s.save(ctx, id(n), n) }},
		{"`Patch`, no index changes", func(ctx context.Context, s *mappingSide, n int) error { return s.reprice(ctx, id(n), -n-1) }},
		{"`Patch` of an indexed field", func(ctx context.Context, s *mappingSide, n int) error {
			return s.update(ctx, id(n), "city"+strconv.Itoa((n+7)%20))
		}},
		{"delete", func(ctx context.Context, s *mappingSide, n int) error { return s.remove(ctx, id(n)) }},
	}
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
