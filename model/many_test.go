package model_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// CreateMany writes or refuses each record independently.
func TestCreateMany(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[citizen](t, client, opt)
		first := mustCreate(t, citizens, citizen{Email: "1@x"})
		all := make([]citizen, 307)
		refused := map[int]bool{}
		for i := range all {
			all[i] = citizen{Name: fmt.Sprint("n", i%3), Email: fmt.Sprint(i, "@x"), Age: i % 7, Tags: []string{"a", fmt.Sprint(i % 5)}}
			if i%4 == 0 {
				all[i].Expires = time.UnixMilli(4_000_000_000_000).UTC()
			}
		}
		for i, email := range map[int]string{1: "1@X", 50: "0@x", 120: "70@x", 299: "5@x"} { // values of other records, some of them earlier in the batch
			all[i].Email = email
			refused[i] = true
		}
		all[200].ID, refused[200] = first.ID, true          // the id of another record
		all[201].Name, refused[201] = "long", true          // because of the city
		all[201].City = strings.Repeat("c", 1100)           // too long for an index
		all[202].Phone, all[203].Phone = ptr("1"), ptr("2") // unique, and absent in the other records
		created, err := citizens.CreateMany(t.Context(), all)
		var many *model.ManyError
		if !errors.As(err, &many) || !errors.Is(err, model.ErrTaken) || !errors.Is(err, model.ErrValue) || len(many.Refused) != len(refused) || many.Of != len(all) {
			t.Fatal(err)
		}
		if opt.Partitions > 1 { // either of two records with the same value is refused
			for later, earlier := range map[int]int{50: 0, 120: 70, 299: 5} {
				if slices.ContainsFunc(many.Refused, func(r model.Refused) bool { return r.Position == earlier }) {
					delete(refused, later)
					refused[earlier] = true
				}
			}
		}
		var taken *model.TakenError
		for _, r := range many.Refused {
			if !refused[r.Position] || !strings.Contains(err.Error(), fmt.Sprint("record ", r.Position, ": ")) {
				t.Errorf("record %d: %v", r.Position, r.Err)
			}
			if r.Position == 1 && (!errors.As(r.Err, &taken) || taken.Owner != first.ID || taken.Field != "email") {
				t.Errorf("record 1: %v; want a TakenError of field email, owner %s", r.Err, first.ID)
			}
		}
		if len(created) != len(all) {
			t.Fatalf("%d records returned, want %d", len(created), len(all))
		}
		want := map[string]citizen{first.ID: first}
		for i, c := range created {
			given := all[i]
			if !refused[i] {
				given.ID, given.Version = c.ID, 1
				want[c.ID] = given
			}
			if fmt.Sprintf("%+v", c) != fmt.Sprintf("%+v", given) {
				t.Errorf("record %d: %+v, want %+v", i, c, given)
			}
		}
		got := agree(t, client, opt, citizens)
		if len(got) != len(want) || len(got) != 1+len(all)-len(refused) {
			t.Fatalf("%d records, want %d", len(got), len(want))
		}
		for id, c := range want {
			if g := got[id]; g.Email != c.Email || g.Version != 1 || !slices.Equal(g.Tags, c.Tags) {
				t.Errorf("record %s: %+v, want %+v", id, g, c)
			}
		}
		checkEmpty[citizen](t)(citizens.CreateMany(t.Context(), nil))
		if c, err := citizens.Create(t.Context(), citizen{Email: "after"}); err != nil || want[c.ID].ID != "" {
			t.Errorf("Create after the batch: %+v, %v; want a new id", c, err)
		}
	})
}

// Concurrent calls of Create and CreateMany assign different ids. Without partitions, the ids of
// a slice are in slice order.
func TestCreateManyDuringWrites(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		var mu sync.Mutex
		ids := map[string]bool{}
		add := func(id string) {
			mu.Lock()
			defer mu.Unlock()
			if ids[id] || id == "" {
				t.Errorf("id %q is empty or assigned twice", id)
			}
			ids[id] = true
		}
		var wg sync.WaitGroup
		for w := range 6 {
			citizens := store[citizen](t, client, opt) // each represents a process
			wg.Go(func() {
				for round := range 3 {
					batch := make([]citizen, 120)
					for i := range batch {
						batch[i].Email = fmt.Sprintf("%d.%d.%d@x", w, round, i)
					}
					created, err := citizens.CreateMany(t.Context(), batch)
					if err != nil {
						t.Error(err)
						return
					}
					for _, c := range created {
						add(c.ID)
					}
					c, err := citizens.Create(t.Context(), citizen{Email: fmt.Sprintf("%d.%d@x", w, round)})
					checkErr(t, err)
					add(c.ID)
					for i := range created[1:] {
						if opt.Partitions == 1 && len(created[i].ID) == len(created[i+1].ID) && created[i].ID >= created[i+1].ID {
							t.Errorf("id %s was assigned before %s", created[i].ID, created[i+1].ID)
						}
					}
				}
			})
		}
		wg.Wait()
		if n := len(agree(t, client, opt, store[citizen](t, client, opt))); n != len(ids) || n != 6*3*121 {
			t.Errorf("%d records, %d ids; want %d", n, len(ids), 6*3*121)
		}
	})
}

// A record can take the unique value of an expired record whose id another record in the batch
// takes.
func TestCreateManyAfterExpiry(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		opt.IDs = model.ClientAssigned
		citizens := store[citizen](t, client, opt)
		mustCreate(t, citizens, citizen{ID: "a", Email: "a@x", Expires: time.Now().Add(-time.Minute)})
		require.OK(t)(citizens.CreateMany(t.Context(), []citizen{{ID: "a", Email: "b@x"}, {ID: "b", Email: "a@x"}}))
		if all := agree(t, client, opt, citizens); all["a"].Email != "b@x" || all["b"].Email != "a@x" {
			t.Errorf("%+v; want addresses b@x of a, and a@x of b", all)
		}
	})
}

// A batch skips ids that records of other programs have, and refuses all its records if the
// counter is not a number.
func TestCreateManyCollisions(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	members := store[member](t, client, model.Options{Name: "member"})
	d := damager{t, client, model.Options{Name: "member"}}
	d.do("HSET", "member:3", "email", "in the way")
	d.do("SET", "member:5", "in the way")
	batch := make([]member, 8)
	for i := range batch {
		batch[i].Email = fmt.Sprint(i)
	}
	created, err := members.CreateMany(t.Context(), batch)
	require.OK(t)(err)
	for i, m := range created {
		if got, err := members.Get(t.Context(), m.ID); err != nil || got.Email != fmt.Sprint(i) || m.ID == "3" || m.ID == "5" {
			t.Errorf("record %d: created %+v, read %+v, %v", i, m, got, err)
		}
	}
	d.do("SET", "next_member_id", "not a number")
	var many *model.ManyError
	if _, err := members.CreateMany(t.Context(), batch); !errors.As(err, &many) || len(many.Refused) != len(batch) {
		t.Errorf("CreateMany: %v; want a ManyError that refuses all records", err)
	}
}

// dumpAll returns the DUMP of each key.
func dumpAll(t *testing.T, client rueidis.Client) map[string]string {
	t.Helper()
	names, err := client.Do(t.Context(), client.B().Keys().Pattern("*").Build()).AsStrSlice()
	require.OK(t)(err)
	all := map[string]string{}
	for _, name := range names {
		text, err := client.Do(t.Context(), client.B().Dump().Key(name).Build()).ToString()
		require.OK(t)(err)
		all[name] = text
	}
	return all
}

// A write that fails because a key of the model has another type changes nothing.
func TestNoPartialWrites(t *testing.T) {
	t.Parallel()
	opt := model.Options{Name: "citizen"}
	for _, key := range []string{
		"citizen.content", "citizen.all", "citizen.expires", "citizen.by.name", "citizen.by.email", "citizen.by.phone",
		"citizen.by.age", "citizen.by.city", "citizen.by.tags", "citizen.by.boss", "citizen.by.domain", "citizen.by.city,age desc",
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			client := redistest.DB(t).Client(t)
			citizens := store[citizen](t, client, opt)
			d := damager{t, client, opt}
			fill := func(email string) citizen {
				return citizen{
					Name: email, Email: email + "@x", Phone: ptr(email), Age: 3, City: "c", Tags: []string{"x", email},
					Boss: model.To[citizen]("1"), Expires: time.UnixMilli(4_000_000_000_000).UTC(),
				}
			}
			old := mustCreate(t, citizens, fill("old"))
			d.do("DEL", key)
			d.do("SET", key, "of another type")
			before := dumpAll(t, client)
			check := func(what string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), "WRONGTYPE") && !strings.Contains(err.Error(), key) {
					t.Errorf("%s: %v", what, err)
				}
				after := dumpAll(t, client)
				delete(before, "next_citizen_id") // ids are not reused
				delete(after, "next_citizen_id")
				if !maps.Equal(before, after) {
					for name := range after {
						if before[name] != after[name] {
							t.Errorf("%s changed %s", what, name)
						}
					}
					t.Fatalf("%s: %d keys before, %d after", what, len(before), len(after))
				}
			}
			check("Create", errOf(citizens.Create(t.Context(), fill("new"))))
			check("CreateMany", errOf(citizens.CreateMany(t.Context(), []citizen{fill("one"), fill("two"), fill("three")})))
			changed := fill("other")
			changed.Email = "other@y"
			changed.ID, changed.Version, changed.City, changed.Boss.ID, changed.Age = old.ID, old.Version, "d", "2", 4
			changed.Expires = changed.Expires.Add(time.Hour)
			if key == "citizen.all" {
				return // not written by Save
			}
			check("Save", errOf(citizens.Save(t.Context(), changed)))
		})
	}
}
