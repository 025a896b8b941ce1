package model_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

// plainCitizen is a citizen with two indexes, none of them computed.
type plainCitizen struct {
	ID    string `redis:",id"`
	Name  string `redis:"name,index"`
	Email string `redis:"email,unique,caseinsensitive"`
	Age   int    `redis:"age"`
}

// rangedCitizen has different indexes.
type rangedCitizen struct {
	ID    string `redis:",id"`
	Name  string `redis:"name"`
	Email string `redis:"email,unique,caseinsensitive"`
	Age   int    `redis:"age,range"`
}

// A program without the Go type can list, verify, repair and migrate models.
func TestModelWithoutType(t *testing.T) {
	t.Parallel()
	layouts(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[plainCitizen](t, client, opt)
		for i := range 30 {
			createdOf(t, citizens, plainCitizen{Name: fmt.Sprint(i % 3), Email: fmt.Sprint("E", i), Age: i})
		}
		m, err := model.Open(t.Context(), client, "citizen")
		require.OK(t)(err)
		if r, err := m.Verify(t.Context(), maintain.Options{}); err != nil || r.Problems() != 0 || r.Checked < 100 {
			t.Fatalf("%+v, %v", r, err)
		}
		d := damaging{t, client, opt}
		d.do("ZREM", d.keyIn("1", "by.name:0"), "1")
		d.do("HDEL", d.keyIn("2", "content"), "2")
		d.do("DEL", d.keyIn("3", ""))
		if r, err := m.Verify(t.Context(), maintain.Options{}); err != nil || r.Missing != 2 || r.Dangling != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		if r, err := m.Repair(t.Context(), maintain.Options{}); err != nil || r.Repaired != 3 {
			t.Fatalf("%+v, %v", r, err)
		}
		checkVerify(t, citizens)

		ranged := store[rangedCitizen](t, client, opt)
		all, err := model.Models(t.Context(), client)
		want := []model.IndexInfo{
			{Name: "age", On: "age:int", State: "to build"},
			{Name: "email", On: "email:string unique fold", State: "built"},
			{Name: "name", On: "name:string equal", State: "to drop"},
		}
		if err != nil || len(all) != 1 || all[0].Name != "citizen" || all[0].Records != 29 || !slices.Equal(all[0].Indexes, want) ||
			!slices.Equal(all[0].Pending, []string{"build age (age:int)", "drop name (name:string equal)"}) {
			t.Fatalf("%+v, %v", all, err)
		}
		if m, err = model.Open(t.Context(), client, "citizen"); err != nil {
			t.Fatal(err)
		}
		if r, err := m.Migrate(t.Context(), maintain.Options{}); err != nil || r.Checked != 29 || r.Problems() != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		checkVerify(t, ranged)
		none[string](t)(ranged.Pending(t.Context()))
		require.Fails(t, model.ErrSchema)(citizens.Create(t.Context(), plainCitizen{Email: "new"}))
		onlyKeys(t, client, opt)
	})
}

// Without the Go type, stored computed values are trusted, and not computed.
func TestComputedWithoutType(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "citizen"}
	e := editionOf[otherCitizen](t, client, opt)
	random := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		require.OK(t)(e.work(t.Context(), random, 10))
	}
	id, err := e.create(t.Context(), citizen{Email: "a@b"})
	require.OK(t)(err)
	m, err := model.Open(t.Context(), client, "citizen")
	require.OK(t)(err)
	d := damaging{t, client, opt}
	d.set(id, "age", "77")
	if r, err := m.Repair(t.Context(), maintain.Options{}); err != nil || r.Problems() != 1 || r.Repaired != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	checkVerify(t, e.store)
	d.do("HDEL", "citizen.content", id)
	if r, err := m.Repair(t.Context(), maintain.Options{}); err != nil || r.Missing != 1 || r.Repaired != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	editionOf[citizen](t, client, opt)
	if m, err = model.Open(t.Context(), client, "citizen"); err != nil {
		t.Fatal(err)
	}
	require.Fails(t, model.ErrSchema)(m.Migrate(t.Context(), maintain.Options{}))
	require.Fails(t, model.ErrNotFound)(model.Open(t.Context(), client, "nobody"))
	d.do("HSET", "citizen.meta", "schema", "{")
	require.Fails(t, model.ErrCorrupt)(model.Open(t.Context(), client, "citizen"))
	require.Fails(t, model.ErrCorrupt)(model.Models(t.Context(), client))
}

// Models work even if the server refuses writes to the list of models.
func TestModelNotListed(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	require.OK(t)(client.Do(t.Context(), client.B().Set().Key("models").Value("mine").Build()).Error())
	store[plainCitizen](t, client, model.Options{Name: "citizen"})
	require.OK(t)(model.Open(t.Context(), client, "citizen"))
}

// Sets declared later are removed with the leftovers of a record, even without the Go type.
func TestModelWithoutTypeKnowsNewSets(t *testing.T) {
	t.Parallel()
	type before struct {
		ID string `redis:",id"`
		A  string `redis:"a,index"`
	}
	type after struct {
		ID string `redis:",id"`
		A  string `redis:"a,index"`
		S  model.Set
	}
	layouts(t, "thing", func(t *testing.T, client rueidis.Client, opt model.Options) {
		store[before](t, client, opt)
		s := store[after](t, client, opt)
		created := createdOf(t, s, after{})
		_, err := s.Set("s", created.ID).Put(t.Context(), "member")
		checked(t, err)
		d := damaging{t, client, opt}
		d.do("DEL", d.keyIn(created.ID, ""))
		m, err := model.Open(t.Context(), client, "thing")
		checked(t, err)
		if r, err := m.Repair(t.Context(), maintain.Options{}); err != nil || r.Repaired != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		if n, err := s.Set("s", created.ID).Len(t.Context()); n != 0 || err != nil {
			t.Errorf("%d members of no record, %v", n, err)
		}
	})
}

// counting counts sequential round trips.
type counting struct {
	rueidis.Client
	trips atomic.Int64
}

func (c *counting) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	c.trips.Add(1)
	return c.Client.Do(ctx, cmd)
}

func (c *counting) DoMulti(ctx context.Context, multi ...rueidis.Completed) []rueidis.RedisResult {
	c.trips.Add(1)
	return c.Client.DoMulti(ctx, multi...)
}

// Opening a model takes a few round trips, for any number of partitions, even if the database
// was emptied.
func TestOpenInAFewRoundTrips(t *testing.T) {
	t.Parallel()
	client := &counting{Client: redistest.DB(t).Client(t)}
	opt := model.Options{Name: "citizen", Partitions: 64}
	const most = 10
	for _, what := range []string{"new", "there"} {
		client.trips.Store(0)
		store[citizen](t, client, opt)
		if n := client.trips.Load(); n > most {
			t.Errorf("%s: %d round trips", what, n)
		}
	}
	citizens := store[citizen](t, client, opt)
	client.trips.Store(0)
	if pending, err := citizens.Pending(t.Context()); err != nil || len(pending) != 0 || client.trips.Load() != 1 {
		t.Error(pending, err, client.trips.Load())
	}
	flush(t, client)
	client.trips.Store(0)
	createdOf(t, citizens, citizen{Email: "a"})
	if n := client.trips.Load(); n > 2*most {
		t.Errorf("%d round trips after the database was emptied", n)
	}
}

// Opening or restoring a model can be interrupted at any command and repeated.
func TestOpenInterrupted(t *testing.T) {
	t.Parallel()
	layouts(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		ended, end := context.WithCancel(t.Context())
		end()
		require.Fails(t, context.Canceled)(model.New[citizen](ended, client, opt))
		cut := &failing{Client: client}
		for left, done := int64(0), false; !done; left++ {
			flush(t, client)
			cut.left.Store(left)
			_, err := model.New[citizen](t.Context(), cut, opt)
			done = err == nil
			citizens := store[citizen](t, client, opt)
			flush(t, client)
			cut.left.Store(math.MaxInt64)
			short := store[citizen](t, cut, opt)
			flush(t, client)
			cut.left.Store(left)
			_, _ = short.Count(t.Context(), model.Eq("name", "a"))
			createdOf(t, citizens, citizen{Email: "a"})
			if pending, err := citizens.Pending(t.Context()); err != nil || len(pending) != 0 {
				t.Fatalf("after %d commands: %v, %v", left, pending, err)
			}
			agree(t, client, opt, citizens)
		}
	})
}
