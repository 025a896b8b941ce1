package model_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/model"
)

// drawn is a random citizen, with so few values that they collide.
func drawn(t *rapid.T) citizen {
	c := citizen{
		Name:  rapid.SampledFrom([]string{"ann", "bob", "", "a\x00b", strings.Repeat("long", 30)}).Draw(t, "name"),
		Email: rapid.SampledFrom([]string{"a", "B", "c", "C", "d"}).Draw(t, "email") + rapid.SampledFrom([]string{"@x", "@y"}).Draw(t, "domain"),
		Age:   rapid.SampledFrom([]int{-1, 0, 1, 200, 1 << 60}).Draw(t, "age"),
		City:  rapid.SampledFrom([]string{"bari", "bar", "b\x00", ""}).Draw(t, "city"),
		Tags:  rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "z"}), 0, 3).Draw(t, "tags"),
		Boss:  model.To[citizen](rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "boss")),
	}
	if rapid.Bool().Draw(t, "has phone") {
		c.Phone = ptr(rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "phone"))
	}
	if rapid.Bool().Draw(t, "expires") {
		c.Expires = time.UnixMilli(4_000_000_000_000).UTC()
	}
	return c
}

// clash is the unique field that a citizen shares with another, or nothing.
func clash(all map[string]citizen, c citizen) string {
	for id, other := range all {
		if id == c.ID {
			continue
		}
		if strings.EqualFold(other.Email, c.Email) {
			return "email"
		}
		if c.Phone != nil && other.Phone != nil && *c.Phone == *other.Phone {
			return "phone"
		}
	}
	return ""
}

// Whatever is done, the records are those of a map in memory, and the indexes say
// what the records do.
func TestAgainstMap(t *testing.T) {
	t.Parallel()
	layouts(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		rapid.Check(t, func(r *rapid.T) {
			if err := client.Do(t.Context(), client.B().Flushdb().Build()).Error(); err != nil {
				r.Fatal(err)
			}
			m := &machine{ctx: t.Context(), citizens: store[citizen](t, client, opt), want: map[string]citizen{}}
			r.Repeat(map[string]func(*rapid.T){
				"create": m.create, "save": m.save, "update": m.update, "patch": m.patch, "delete": m.remove,
			})
			got := agree(t, client, opt, m.citizens)
			if !reflect.DeepEqual(got, m.want) {
				r.Fatalf("the records are\n%+v, and should be\n%+v", got, m.want)
			}
		})
	})
}

// machine does things with a store and with a map.
type machine struct {
	ctx      context.Context
	citizens *model.Store[citizen]
	want     map[string]citizen
}

// judge compares the outcome of a write with what the map says.
func (m *machine) judge(r *rapid.T, c citizen, there bool, err error) {
	field := clash(m.want, c)
	var taken *model.TakenError
	switch {
	case !there:
		if !errors.Is(err, model.ErrNotFound) {
			r.Fatalf("of a record that is not there: %v", err)
		}
	case field != "":
		if !errors.As(err, &taken) || clash(map[string]citizen{taken.Owner: m.want[taken.Owner]}, c) == "" {
			r.Fatalf("%s is taken: %v", field, err)
		}
	case err != nil:
		r.Fatal(err)
	default:
		if len(c.Tags) == 0 && c.Tags != nil {
			c.Tags = []string{}
		}
		m.want[c.ID] = c
	}
}

func (m *machine) id(r *rapid.T) string {
	return rapid.SampledFrom(append(slices.Sorted(maps.Keys(m.want)), "99")).Draw(r, "id")
}

func (m *machine) create(r *rapid.T) {
	c := drawn(r)
	created, err := m.citizens.Create(m.ctx, c)
	if err == nil {
		c.ID, c.Version = created.ID, 1
	}
	m.judge(r, c, true, err)
}

func (m *machine) save(r *rapid.T) {
	c := drawn(r)
	c.ID = m.id(r)
	old, there := m.want[c.ID]
	c.Version = old.Version
	if there && rapid.IntRange(0, 4).Draw(r, "old version") == 0 {
		c.Version--
		if _, err := m.citizens.Save(m.ctx, c); !errors.Is(err, model.ErrConflict) {
			r.Fatalf("an old version: %v", err)
		}
		return
	}
	saved, err := m.citizens.Save(m.ctx, c)
	c.Version++
	if err == nil && !reflect.DeepEqual(saved, c) {
		r.Fatalf("saved %+v, not %+v", saved, c)
	}
	m.judge(r, c, there, err)
}

func (m *machine) update(r *rapid.T) {
	c := drawn(r)
	c.ID = m.id(r)
	old, there := m.want[c.ID]
	if rapid.Bool().Draw(r, "nothing new") {
		c = old
		c.Version--
	}
	updated, err := m.citizens.Update(m.ctx, m.idOr(c), func(stored *citizen) error {
		id := stored.ID
		*stored = c
		stored.ID = id
		return nil
	})
	c.Version = old.Version + 1
	if there && reflect.DeepEqual(withVersion(c, 0), withVersion(old, 0)) {
		c.Version = old.Version
	}
	m.judge(r, c, there, err)
	if err == nil && !reflect.DeepEqual(updated, m.want[c.ID]) {
		r.Fatalf("updated %+v, not %+v", updated, m.want[c.ID])
	}
}

// idOr is the id of a citizen, or one that does not exist.
func (m *machine) idOr(c citizen) string {
	if c.ID == "" {
		return "99"
	}
	return c.ID
}

func withVersion(c citizen, version int64) citizen {
	c.Version = version
	return c
}

func (m *machine) patch(r *rapid.T) {
	id, from := m.id(r), drawn(r)
	c, there := m.want[id]
	old := c
	values := map[string]any{}
	if rapid.Bool().Draw(r, "email too") {
		values["email"], c.Email = from.Email, from.Email
	}
	values["age"], c.Age = int64(from.Age), from.Age
	values["phone"], c.Phone = from.Phone, from.Phone
	patched, err := m.citizens.Patch(m.ctx, id, values)
	if there && !reflect.DeepEqual(c, old) {
		c.Version++
	}
	m.judge(r, c, there, err)
	if err == nil && !reflect.DeepEqual(patched, m.want[id]) {
		r.Fatalf("patched %+v, not %+v", patched, m.want[id])
	}
}

func (m *machine) remove(r *rapid.T) {
	id := m.id(r)
	_, there := m.want[id]
	if err := m.citizens.Delete(m.ctx, id); there != (err == nil) || !there && !errors.Is(err, model.ErrNotFound) {
		r.Fatalf("%s, which is there %v: %v", id, there, err)
	}
	delete(m.want, id)
}

// Many writers on the same records leave indexes that say what the records do.
func TestAmongWriters(t *testing.T) {
	t.Parallel()
	layouts(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[citizen](t, client, opt)
		var wg sync.WaitGroup
		for w := range 12 {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(uint64(w), 1))
				for range 60 {
					if err := anything(t.Context(), citizens, random); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if len(agree(t, client, opt, citizens)) == 0 {
			t.Error("no record is left")
		}
	})
}

// anything writes something random. It ignores the errors that a writer must expect.
func anything(ctx context.Context, citizens *model.Store[citizen], random *rand.Rand) error {
	id := fmt.Sprint(random.IntN(20) + 1)
	some := citizen{
		Name: fmt.Sprint("n", random.IntN(3)), Email: fmt.Sprintf("%d@%d", random.IntN(15), random.IntN(2)),
		Age: random.IntN(5), City: fmt.Sprint("c", random.IntN(3)), Tags: []string{"a", fmt.Sprint(random.IntN(3))},
	}
	if random.IntN(2) == 0 {
		some.Phone = ptr(fmt.Sprint(random.IntN(15)))
	}
	if random.IntN(3) == 0 {
		some.Expires = time.UnixMilli(4_000_000_000_000)
	}
	var err error
	switch random.IntN(8) {
	case 0, 1:
		_, err = citizens.Create(ctx, some)
	case 6:
		some.ID = id
		_, err = citizens.Put(ctx, some)
	case 7:
		other := some
		other.Email, other.Phone, other.ID = fmt.Sprintf("%d@2", random.IntN(15)), nil, id
		_, err = citizens.PutMany(ctx, []citizen{some, other})
	case 2, 3:
		_, err = citizens.Update(ctx, id, func(c *citizen) error {
			some.ID = c.ID
			*c = some
			return nil
		})
	case 4:
		_, err = citizens.Patch(ctx, id, map[string]any{"age": some.Age, "email": some.Email})
	case 5:
		err = citizens.Delete(ctx, id)
	}
	refused := []error{err}
	var many *model.ManyError
	if errors.As(err, &many) {
		refused = many.Unwrap()
	}
	return errors.Join(slices.DeleteFunc(refused, func(err error) bool {
		return errors.Is(err, model.ErrTaken) || errors.Is(err, model.ErrNotFound)
	})...)
}
