package model_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
	"retwis/redlock"
)

// References, sets, lists, counters and locks work on a Cluster: in one slot, in several slots,
// and with partitions.
func TestClusterOfReferences(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	client := cluster.Client(t)
	for name, options := range map[string]func(name string) model.Options{
		"one slot":      func(name string) model.Options { return model.Options{Name: "{app}:" + name} },
		"several slots": func(name string) model.Options { return model.Options{Name: "{" + name + "}"} },
		"spread":        func(name string) model.Options { return model.Options{Name: "spread:" + name, Partitions: 3} },
	} {
		// Relate all models before the first Delete: until then, a Ref may refer to any model of
		// its type, and Delete in such a model returns ErrNotRelated.
		l := libraryOf(t, func(name string) (rueidis.Client, model.Options) { return client, options(name) })
		countries, towns := store[country](t, client, options("country")), store[town](t, client, options("town"))
		checkErr(t, model.Relate(t.Context(), towns, countries))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testRules(t, l)
			testExists(t, options("country").Name, countries, towns, store[traveller](t, client, options("owner")))
			testMembersAndCounters(t, store[counted](t, client, options("counted")))
			pages := store[wikiPage](t, cluster.Client(t), options("page"))
			defer func() { checkErr(t, pages.Close()) }()
			// A newly started Cluster grants no lock for ten seconds.
			held, err := pages.Lock(t.Context(), "7")
			require.OK(t)(err)
			require.Fails(t, redlock.ErrHeld)(pages.TryLock(t.Context(), "7"))
			checkErr(t, held.Unlock(t.Context()))
			checkErr(t, pages.WithLock(t.Context(), "7", func(ctx context.Context) error { return ctx.Err() }))
		})
	}
}

// testExists writes references to existing and missing countries, and queries the members of a
// set in any slot. name is the name of the model of countries.
func testExists(t *testing.T, name string, countries *model.Store[country], towns *model.Store[town], owners *model.Store[traveller]) {
	ctx := t.Context()
	id := mustCreate(t, countries, country{}).ID
	_, err := towns.Create(ctx, town{Name: "x", Country: toCountry(id), Part: toCountry("99")})
	checkDangling(t, "Create", err, "part", name, "99")
	rome := mustCreate(t, towns, town{Name: "Rome", Country: toCountry(id), Borders: []model.Ref[country]{toCountry(id)}})
	err = errOf(towns.Patch(ctx, rome.ID, map[string]any{"visited": []model.Ref[country]{toCountry("98")}}))
	checkDangling(t, "Patch", err, "visited", name, "98")
	require.Fails(t, model.ErrReferenced)(countries.Delete(ctx, id))
	set := owners.Set("friends", mustCreate(t, owners, traveller{}).ID)
	checkErr(t, set.Replace(ctx, rome.ID, "97"))
	ids, err := towns.Find(model.Eq("country", id)).Among(set).IDs(ctx)
	if err != nil || len(ids) != 1 || ids[0] != rome.ID {
		t.Errorf("found %q, %v; want only %s", ids, err, rome.ID)
	}
}

type counted struct {
	ID      string `redis:",id"`
	Hits    int64  `redis:"hits,counter"`
	Set     model.Set
	List    model.List
	Version int64     `redis:",version"`
	Expires time.Time `redis:",expires"`
}

// testMembersAndCounters writes and deletes sets, lists and counters of several records.
func testMembersAndCounters(t *testing.T, s *model.Store[counted]) {
	ctx := t.Context()
	const n = 10
	for i := range n {
		id := mustCreate(t, s, counted{}).ID
		added, err := s.Set("set", id).Put(ctx, "x", fmt.Sprint(i))
		checkErr(t, err)
		length, err := s.List("list", id).Max(1).PushBack(ctx, "x", "y")
		checkErr(t, err)
		hits, err := s.Incr(ctx, id, "hits", 5)
		checkErr(t, err)
		if added != 2 || length != 1 || hits != 5 {
			t.Errorf("%d members added, list length %d, counter %d; want 2, 1, 5", added, length, hits)
		}
	}
	if got := sortedOf(t, s.Set("set", "1").All(ctx)); !slices.Equal(got, []string{"0", "x"}) {
		t.Errorf("members %q, want 0 and x", got)
	}
	for i := range n {
		checkErr(t, s.Delete(ctx, fmt.Sprint(i+1)))
	}
}
