package model_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

// adoptAll adopts all records that a model did not write. It is used as Options.Adopt.
func adoptAll(string) bool { return true }

// visitor is a user stored by another program.
type visitor struct {
	ID   int64  `redis:",id"`
	Name string `redis:"username,unique"`
	City string `redis:"city,range"`
}

// Migrate adds records that no model wrote to the indexes, in id order. The unique index is the
// hash of the existing layout.
func TestMigrateExistingLayout(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "user", Keys: model.Keys{Counter: "next_user_id", Unique: map[string]string{"username": "users"}}}
	d := damager{t, client, opt}
	for i := 1; i <= 250; i++ {
		d.do("HSET", fmt.Sprint("user:", i), "username", fmt.Sprint("name", i), "city", fmt.Sprint("c", i%7), "password", "x")
		d.do("HSET", "users", fmt.Sprint("name", i), fmt.Sprint(i))
	}
	d.do("SET", "next_user_id", "250")
	d.do("HSET", "users", "left", "999")        // of a deleted user
	d.do("HSET", "users", "former", "7")        // user 7 no longer has this name
	d.do("HSET", "user:5:followers", "a", "b")  // not a user
	d.do("SET", "user:6:name", "a")             // not a user either
	d.do("HSET", "user:8", "username", "name9") // two users with one name: the hash names the owner
	d.do("HSET", "user:12", "username", "left") // user 12 has this name, regardless of the hash
	d.do("HSET", "users", "name13", "14")       // outdated: user 13 has this name
	opt.Adopt = adoptAll
	visitors := store[visitor](t, client, opt)
	if pending, err := visitors.Pending(t.Context()); err != nil || len(pending) != 2 {
		t.Fatalf("Pending = %q, %v; want 2 entries", pending, err)
	}
	// Records can be written before the migration.
	if v, err := visitors.Create(t.Context(), visitor{Name: "new", City: "c1"}); err != nil || v.ID != 251 {
		t.Fatalf("Create: %+v, %v; want id 251", v, err)
	}
	require.Fails(t, model.ErrTaken)(visitors.Create(t.Context(), visitor{Name: "name3"}))
	if _, err := visitors.Update(t.Context(), "250", func(v *visitor) error { v.City = "moved"; return nil }); err != nil {
		t.Fatal(err)
	}
	r, err := visitors.Migrate(t.Context(), maintain.Options{})
	if err != nil || r.Problems() != 1 || r.Examples[0].Kind != "taken" || r.Examples[0].ID != "8" || r.Examples[0].Found != `username "name9" is taken by record 9` {
		t.Fatalf("Migrate: %+v, %v; want that name9 of record 8 is taken", r, err)
	}
	if r, err = visitors.Verify(t.Context(), maintain.Options{}); err != nil || r.Problems() != 1 || r.Invalid != 1 {
		t.Fatalf("Verify: %+v, %v; want 1 invalid record", r, err)
	}
	all := zset(t, client, "user.all")
	if len(all) != 251 || all[0] != "1" || all[99] != "100" || all[250] != "251" {
		t.Fatalf("user.all has %q, want 1 to 251", all)
	}
	users, err := d.do("HGETALL", "users").AsStrMap()
	if err != nil || users["left"] != "12" || users["former"] != "" || users["name9"] != "9" || users["name13"] != "13" || users["name8"] != "" || len(users) != 250 {
		t.Fatalf("users has %d names: %q, %v", len(users), users, err)
	}
	if n := len(zset(t, client, "user.by.city")); n != 251 {
		t.Fatalf("%d users are in the index of cities, want 251", n)
	}
	if s, err := d.do("HGET", "user:1", "password").ToString(); err != nil || s != "x" {
		t.Fatalf("the password, a field of the other program, is %q, %v; want x", s, err)
	}
	// A record whose name another record owns can only be written with a different name.
	_, err = visitors.Update(t.Context(), "8", func(v *visitor) error { v.City = "else"; return nil })
	if !errors.Is(err, model.ErrTaken) {
		t.Fatalf("Update: %v; want ErrTaken", err)
	}
	if _, err = visitors.Update(t.Context(), "8", func(v *visitor) error { v.Name = "eight"; return nil }); err != nil {
		t.Fatal(err)
	}
	checkVerify(t, visitors)
}

// Migrate corrects a hash that assigns to each of two records the name of the other record.
func TestMigrateCrossedNames(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "user", Keys: model.Keys{Counter: "next_user_id", Unique: map[string]string{"username": "users"}}}
	d := damager{t, client, opt}
	d.do("HSET", "user:1", "username", "a")
	d.do("HSET", "user:2", "username", "b")
	d.do("HSET", "users", "a", "2", "b", "1")
	d.do("SET", "next_user_id", "2")
	opt.Adopt = adoptAll
	visitors := store[visitor](t, client, opt)
	if r, err := visitors.Migrate(t.Context(), maintain.Options{}); err != nil || r.Problems() != 0 {
		t.Fatalf("Migrate: %+v, %v; want no problems", r, err)
	}
	if users, err := d.do("HGETALL", "users").AsStrMap(); err != nil || users["a"] != "1" || users["b"] != "2" {
		t.Fatalf("users has %q, %v; want a of 1, and b of 2", users, err)
	}
}

// An unreadable record keeps the name that the hash assigns to it.
func TestMigrateDamagedOwner(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "user", Keys: model.Keys{Counter: "next_user_id", Unique: map[string]string{"username": "users"}}}
	d := damager{t, client, opt}
	d.do("HSET", "user:1", "username", "a")
	d.do("HSET", "user:2", "username", "a", "city", strings.Repeat("x", 2000))
	d.do("HSET", "users", "a", "2")
	opt.Adopt = adoptAll
	visitors := store[visitor](t, client, opt)
	r, err := visitors.Migrate(t.Context(), maintain.Options{})
	if err != nil || r.Invalid != 2 || r.Problems() != 2 || r.Examples[0].ID == r.Examples[1].ID {
		t.Fatalf("Migrate: %+v, %v; want 2 invalid records", r, err)
	}
	require.OK(t)(visitors.Repair(t.Context(), maintain.Options{}))
	if id, err := d.do("HGET", "users", "a").ToString(); err != nil || id != "2" {
		t.Fatalf("the hash assigns the name to %q, %v; want 2", id, err)
	}
}

// A migration interrupted after any step is completed by the next migration.
func TestMigrateContinues(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "citizen", Partitions: 2}
	for step := redistest.Cases(1, 0); step < 8; step += redistest.Cases(3, 1) {
		require.OK(t)(client.Do(t.Context(), client.B().Flushdb().Build()).Error())
		random := rand.New(rand.NewPCG(1, 1))
		old := editionOf[bareCitizen](t, client, opt)
		for range 250 {
			require.OK(t)(old.create(t.Context(), randomCitizen(random)))
		}
		now := editionOf[citizen](t, client, opt)
		cut := &failing{Client: client}
		cut.left.Store(1 << 40)
		cutting := editionOf[citizen](t, cut, opt)
		n := 0
		_, err := cutting.store.Migrate(t.Context(), maintain.Options{Progress: func(maintain.Progress) {
			if n++; n == step {
				cut.left.Store(0)
			}
		}})
		if step > 0 && err == nil {
			break
		}
		if r, err := now.store.Migrate(t.Context(), maintain.Options{}); err != nil {
			t.Fatalf("after step %d: %+v, %v", step, r, err)
		}
		resolveTaken(t, now)
		agree(t, client, opt, store[citizen](t, client, opt))
	}
}

// Maintenance works on a Cluster as on a single server.
func TestMaintenanceOnCluster(t *testing.T) {
	t.Parallel()
	client := redistest.Cluster(t, 3).Client(t)
	for _, opt := range []model.Options{{Name: "{citizen}"}, {Name: "citizen", Partitions: 5}} {
		random := rand.New(rand.NewPCG(1, 2))
		old := editionOf[otherCitizen](t, client, opt)
		for range 150 {
			require.OK(t)(old.randomWrite(t.Context(), random, 50))
		}
		now := editionOf[citizen](t, client, opt)
		require.OK(t)(now.store.Migrate(t.Context(), maintain.Options{}))
		resolveTaken(t, now)
		citizens := store[citizen](t, client, opt)
		agree(t, client, opt, citizens)
		require.Fails(t, model.ErrSchema)(old.create(t.Context(), citizen{Email: "old@x"}))
		m, err := model.Open(t.Context(), client, opt.Name)
		require.OK(t)(err)
		d := damager{t, client, opt}
		for _, base := range d.bases() {
			for _, suffix := range []string{".by.phone", ".by.boss.", ".expires", ".all"} {
				key := base + suffix
				if strings.HasSuffix(suffix, ".") {
					key = base + ".by." + indexKeyNames(t, client, base)["boss"]
				}
				d.do("UNLINK", key)
			}
		}
		if r, err := m.Verify(t.Context(), maintain.Options{}); err != nil || r.Problems() == 0 {
			t.Fatalf("Verify: %+v, %v; want problems", r, err)
		}
		if r, err := citizens.Repair(t.Context(), maintain.Options{}); err != nil || r.Repaired != r.Problems() {
			t.Fatalf("Repair: %+v, %v; want all problems repaired", r, err)
		}
		agree(t, client, opt, citizens)
	}
	all, err := model.Models(t.Context(), client)
	if err != nil || len(all) != 2 || all[0].Partitions != 5 || all[1].Name != "{citizen}" || all[0].Records == 0 {
		t.Fatalf("Models = %+v, %v; want two models", all, err)
	}
}

// A migration that another process replaces ends with ErrSchema.
func TestMigrateReplaced(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "citizen"}
	random := rand.New(rand.NewPCG(1, 1))
	bare := editionOf[bareCitizen](t, client, opt)
	for range 250 {
		require.OK(t)(bare.create(t.Context(), randomCitizen(random)))
	}
	other, now := editionOf[otherCitizen](t, client, opt), editionOf[citizen](t, client, opt)
	overtaken := false
	_, err := other.store.Migrate(t.Context(), maintain.Options{Progress: func(maintain.Progress) {
		if !overtaken {
			overtaken = true
			checkErr(t, errOf(now.store.Migrate(t.Context(), maintain.Options{})))
		}
	}})
	if !errors.Is(err, model.ErrSchema) {
		t.Fatal(err)
	}
	for _, e := range []edition{bare, other} {
		require.Fails(t, model.ErrSchema)(e.store.Verify(t.Context(), maintain.Options{}))
		require.Fails(t, model.ErrSchema)(e.store.Repair(t.Context(), maintain.Options{}))
	}
	resolveTaken(t, now)
	agree(t, client, opt, store[citizen](t, client, opt))
}

// A model that has lost its meta key is treated as an older layout, and Migrate restores it.
func TestMetaIsLost(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		random := rand.New(rand.NewPCG(1, 1))
		editionOf[otherCitizen](t, client, opt)
		e := editionOf[citizen](t, client, opt) // with different index numbers
		require.OK(t)(e.store.Migrate(t.Context(), maintain.Options{}))
		for range 100 {
			require.OK(t)(e.randomWrite(t.Context(), random, 30))
		}
		d := damager{t, client, opt}
		for _, base := range d.bases() {
			d.do("DEL", base+".meta")
		}
		require.Fails(t, model.ErrSchema)(e.create(t.Context(), citizen{Email: "x@x"}))
		now := editionOf[citizen](t, client, opt)
		if pending, err := now.store.Pending(t.Context()); err != nil || len(pending) == 0 {
			t.Fatalf("Pending = %q, %v; want entries", pending, err)
		}
		require.OK(t)(now.store.Migrate(t.Context(), maintain.Options{}))
		resolveTaken(t, now)
		agree(t, client, opt, store[citizen](t, client, opt))
	})
}

// A migration that other processes have reverted and started again does not complete the new
// migration.
func TestMigrateEndsItsOwnWalk(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "citizen"}
	other, now := editionOf[otherCitizen](t, client, opt), editionOf[citizen](t, client, opt)
	random := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		require.OK(t)(other.randomWrite(t.Context(), random, 10))
	}
	records, err := store[citizen](t, client, opt).Count(t.Context())
	require.OK(t)(err)
	overtaken := false
	_, err = now.store.Migrate(t.Context(), maintain.Options{Progress: func(p maintain.Progress) {
		if p.Checked < records || overtaken { // all records are aligned
			return
		}
		overtaken = true
		checkErr(t, errOf(other.store.Migrate(t.Context(), maintain.Options{})))
		checkErr(t, errOf(other.create(t.Context(), citizen{Email: "of the other"})))
		stop, cancel := context.WithCancel(t.Context())
		if _, err := now.store.Migrate(stop, maintain.Options{Progress: func(maintain.Progress) { cancel() }}); err == nil {
			t.Error("Migrate was not interrupted")
		}
	}})
	if !errors.Is(err, model.ErrSchema) {
		t.Fatal(err)
	}
	if pending, err := now.store.Pending(t.Context()); err != nil || len(pending) == 0 {
		t.Fatalf("Pending = %q, %v; want entries", pending, err)
	}
	require.OK(t)(now.store.Migrate(t.Context(), maintain.Options{}))
	resolveTaken(t, now)
	agree(t, client, opt, store[citizen](t, client, opt))
}

// New refuses a changed key of records. A changed key of a unique index declares a new index,
// which Migrate builds before it is used.
func TestKeysChange(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	named := model.Options{Name: "member", Keys: model.Keys{Unique: map[string]string{"email": "emails"}}}
	require.OK(t)(store[member](t, client, named).Create(t.Context(), member{Email: "a"}))
	for _, opt := range []model.Options{{Name: "member"}, named} {
		members := store[member](t, client, opt)
		require.Fails(t, model.ErrSchema)(members.Create(t.Context(), member{Email: "a"}))
		require.OK(t)(members.Migrate(t.Context(), maintain.Options{}))
		require.Fails(t, model.ErrTaken)(members.Create(t.Context(), member{Email: "a"}))
		checkVerify(t, members)
		m, err := model.Open(t.Context(), client, "member")
		require.OK(t)(err)
		checkVerify(t, m)
	}
	named.Keys.Record = "m:"
	require.Fails(t, model.ErrSchema, "at member:<id>, not each record as hash at m:<id>")(model.New[member](t.Context(), client, named))
}
