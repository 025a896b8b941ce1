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

// Everything that belongs to records works on a Cluster: in one slot, in several slots, and
// with partitions.
func TestClusterOfReferences(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	client := cluster.Client(t)
	for name, options := range map[string]func(name string) model.Options{
		"one slot":      func(name string) model.Options { return model.Options{Name: "{app}:" + name} },
		"several slots": func(name string) model.Options { return model.Options{Name: "{" + name + "}"} },
		"spread":        func(name string) model.Options { return model.Options{Name: "spread:" + name, Partitions: 3} },
	} {
		// All models exist before the first Delete: until Relate has been called, a model may
		// refer to any model of the right type, and its records are not deleted.
		l := libraryOf(t, func(name string) (rueidis.Client, model.Options) { return client, options(name) })
		countries, towns := store[country](t, client, options("country")), store[town](t, client, options("town"))
		checked(t, model.Relate(t.Context(), towns, countries))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testRules(t, l)
			testExists(t, options("country").Name, countries, towns, store[traveller](t, client, options("owner")))
			testMembersAndCounters(t, store[counted](t, client, options("counted")))
			pages := store[wikiPage](t, cluster.Client(t), options("page"))
			defer func() { checked(t, pages.Close()) }()
			// A newly started Cluster grants no lock for ten seconds.
			l1, err := pages.Lock(t.Context(), "7")
			require.OK(t)(err)
			require.Fails(t, redlock.ErrHeld)(pages.TryLock(t.Context(), "7"))
			checked(t, l1.Unlock(t.Context()))
			checked(t, pages.WithLock(t.Context(), "7", func(ctx context.Context) error { return ctx.Err() }))
		})
	}
}

// testExists writes references to existing and missing countries, and queries the members of a
// set in any slot. name is the name of the model of countries.
func testExists(t *testing.T, name string, countries *model.Store[country], towns *model.Store[town], owners *model.Store[traveller]) {
	ctx := t.Context()
	id := createdOf(t, countries, country{}).ID
	_, err := towns.Create(ctx, town{Name: "x", Country: toCountry(id), Part: toCountry("99")})
	dangles(t, "Create", err, "part", name, "99")
	rome := createdOf(t, towns, town{Name: "Rome", Country: toCountry(id), Borders: []model.Ref[country]{toCountry(id)}})
	err = errOf(towns.Patch(ctx, rome.ID, map[string]any{"visited": []model.Ref[country]{toCountry("98")}}))
	dangles(t, "Patch", err, "visited", name, "98")
	require.Fails(t, model.ErrReferenced)(countries.Delete(ctx, id))
	set := owners.Set("friends", createdOf(t, owners, traveller{}).ID)
	checked(t, set.Replace(ctx, rome.ID, "97"))
	ids, err := towns.Find(model.Eq("country", id)).Among(set).IDs(ctx)
	if err != nil || len(ids) != 1 || ids[0] != rome.ID {
		t.Error(ids, err)
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

func testMembersAndCounters(t *testing.T, s *model.Store[counted]) {
	ctx := t.Context()
	const n = 10
	for i := range n {
		id := createdOf(t, s, counted{}).ID
		added, err := s.Set("set", id).Put(ctx, "x", fmt.Sprint(i))
		checked(t, err)
		length, err := s.List("list", id).Max(1).PushBack(ctx, "x", "y")
		checked(t, err)
		hits, err := s.Incr(ctx, id, "hits", 5)
		checked(t, err)
		if added != 2 || length != 1 || hits != 5 {
			t.Error(added, length, hits)
		}
	}
	if got := sortedOf(t, s.Set("set", "1").All(ctx)); !slices.Equal(got, []string{"0", "x"}) {
		t.Errorf("%q", got)
	}
	for i := range n {
		checked(t, s.Delete(ctx, fmt.Sprint(i+1)))
	}
}
