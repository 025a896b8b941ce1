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

// plainCitizen is a citizen with two indexes, neither of them computed.
type plainCitizen struct {
	ID    string `redis:",id"`
	Name  string `redis:"name,index"`
	Email string `redis:"email,unique,caseinsensitive"`
	Age   int    `redis:"age"`
}

// rangedCitizen is a citizen with different indexes.
type rangedCitizen struct {
	ID    string `redis:",id"`
	Name  string `redis:"name"`
	Email string `redis:"email,unique,caseinsensitive"`
	Age   int    `redis:"age,range"`
}

// A program without the Go type can list, verify, repair and migrate models.
func TestModelWithoutType(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[plainCitizen](t, client, opt)
		for i := range 30 {
			mustCreate(t, citizens, plainCitizen{Name: fmt.Sprint(i % 3), Email: fmt.Sprint("E", i), Age: i})
		}
		m, err := model.Open(t.Context(), client, "citizen")
		require.OK(t)(err)
		if r, err := m.Verify(t.Context(), maintain.Options{}); err != nil || r.Problems() != 0 || r.Checked < 100 {
			t.Fatalf("Verify: %+v, %v; want at least 100 checks and no problems", r, err)
		}
		d := damager{t, client, opt}
		d.do("ZREM", d.keyIn("1", "by.name:0"), "1")
		d.do("HDEL", d.keyIn("2", "content"), "2")
		d.do("DEL", d.keyIn("3", ""))
		if r, err := m.Verify(t.Context(), maintain.Options{}); err != nil || r.Missing != 2 || r.Dangling != 1 {
			t.Fatalf("Verify: %+v, %v; want 2 missing, 1 dangling", r, err)
		}
		if r, err := m.Repair(t.Context(), maintain.Options{}); err != nil || r.Repaired != 3 {
			t.Fatalf("Repair: %+v, %v; want 3 repaired", r, err)
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
		checkEmpty[string](t)(ranged.Pending(t.Context()))
		require.Fails(t, model.ErrSchema)(citizens.Create(t.Context(), plainCitizen{Email: "new"}))
		checkIndexKeys(t, client, opt)
	})
}

// Without the Go type, stored computed values are used, since they cannot be computed.
func TestComputedWithoutType(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "citizen"}
	e := editionOf[otherCitizen](t, client, opt)
	random := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		require.OK(t)(e.randomWrite(t.Context(), random, 10))
	}
	id, err := e.create(t.Context(), citizen{Email: "a@b"})
	require.OK(t)(err)
	m, err := model.Open(t.Context(), client, "citizen")
	require.OK(t)(err)
	d := damager{t, client, opt}
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

// A model works even if it cannot be added to the list of models.
func TestModelNotListed(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	require.OK(t)(client.Do(t.Context(), client.B().Set().Key("models").Value("mine").Build()).Error())
	store[plainCitizen](t, client, model.Options{Name: "citizen"})
	require.OK(t)(model.Open(t.Context(), client, "citizen"))
}

// Repair without the Go type also removes sets that were declared later.
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
	forEachLayout(t, "thing", func(t *testing.T, client rueidis.Client, opt model.Options) {
		store[before](t, client, opt)
		s := store[after](t, client, opt)
		created := mustCreate(t, s, after{})
		_, err := s.Set("s", created.ID).Put(t.Context(), "member")
		checkErr(t, err)
		d := damager{t, client, opt}
		d.do("DEL", d.keyIn(created.ID, ""))
		m, err := model.Open(t.Context(), client, "thing")
		checkErr(t, err)
		if r, err := m.Repair(t.Context(), maintain.Options{}); err != nil || r.Repaired != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		if n, err := s.Set("s", created.ID).Len(t.Context()); n != 0 || err != nil {
			t.Errorf("the set of a deleted record has %d members, %v", n, err)
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

// Opening a model takes a few round trips for any number of partitions, and so does the first
// write after the database was emptied.
func TestOpenInAFewRoundTrips(t *testing.T) {
	t.Parallel()
	client := &counting{Client: redistest.DB(t).Client(t)}
	opt := model.Options{Name: "citizen", Partitions: 64}
	const maxTrips = 10
	for _, what := range []string{"new", "existing"} {
		client.trips.Store(0)
		store[citizen](t, client, opt)
		if n := client.trips.Load(); n > maxTrips {
			t.Errorf("%s: %d round trips, want at most %d", what, n, maxTrips)
		}
	}
	citizens := store[citizen](t, client, opt)
	client.trips.Store(0)
	if pending, err := citizens.Pending(t.Context()); err != nil || len(pending) != 0 || client.trips.Load() != 1 {
		t.Errorf("Pending = %q, %v after %d round trips; want none after 1", pending, err, client.trips.Load())
	}
	flush(t, client)
	client.trips.Store(0)
	mustCreate(t, citizens, citizen{Email: "a"})
	if n := client.trips.Load(); n > 2*maxTrips {
		t.Errorf("%d round trips after the database was emptied, want at most %d", n, 2*maxTrips)
	}
}

// Opening or restoring a model can be interrupted at any command, and then repeated.
func TestOpenInterrupted(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		require.Fails(t, context.Canceled)(model.New[citizen](canceled(t.Context()), client, opt))
		cut := &failing{Client: client}
		for left, done := int64(0), false; !done; left++ {
			flush(t, client)
			cut.left.Store(left)
			_, err := model.New[citizen](t.Context(), cut, opt)
			done = err == nil
			citizens := store[citizen](t, client, opt)
			flush(t, client)
			cut.left.Store(math.MaxInt64)
			restored := store[citizen](t, cut, opt)
			flush(t, client)
			cut.left.Store(left)
			_, _ = restored.Count(t.Context(), model.Eq("name", "a"))
			mustCreate(t, citizens, citizen{Email: "a"})
			if pending, err := citizens.Pending(t.Context()); err != nil || len(pending) != 0 {
				t.Fatalf("after %d commands: Pending = %q, %v; want none", left, pending, err)
			}
			agree(t, client, opt, citizens)
		}
	})
}
