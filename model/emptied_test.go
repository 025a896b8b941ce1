package model_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

// flush deletes all keys of the database.
func flush(t testing.TB, client rueidis.Client) {
	t.Helper()
	require.OK(t)(client.Do(t.Context(), client.B().Flushdb().Build()).Error())
}

// After the database was emptied, a running program can continue with any operation, and new
// programs can start.
func TestEmptiedDatabase(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[citizen](t, client, opt)
		first := map[string]func() error{
			"Create": func() error { return nil },
			"Find":   func() error { _, err := citizens.Find(model.Eq("name", "a")).Slice(t.Context()); return err },
			"Order":  func() error { _, err := citizens.Find().OrderBy("age").Slice(t.Context()); return err },
			"Count":  func() error { _, err := citizens.Find(model.Eq("age", 1)).Count(t.Context()); return err },
			"Sweep":  func() error { _, err := citizens.Sweep(t.Context()); return err },
			"Verify": func() error { _, err := citizens.Verify(t.Context(), maintain.Options{}); return err },
			"Repair": func() error { _, err := citizens.Repair(t.Context(), maintain.Options{}); return err },
			"Delete": func() error { return ignoreNotFound(citizens.Delete(t.Context(), "1")) },
			"Save":   func() error { _, err := citizens.Save(t.Context(), citizen{ID: "1"}); return ignoreNotFound(err) },
			"Update": func() error {
				_, err := citizens.Update(t.Context(), "1", func(*citizen) error { return nil })
				return ignoreNotFound(err)
			},
		}
		for what, do := range first {
			if _, err := citizens.Create(t.Context(), citizen{Name: "a", Email: "a@x", Age: 1}); err != nil {
				t.Fatalf("before %s: %v", what, err)
			}
			flush(t, client)
			if err := do(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if _, err := citizens.Create(t.Context(), citizen{Name: "a", Email: "a@x", Age: 1}); err != nil {
				t.Fatalf("after %s: %v", what, err)
			}
			now := store[citizen](t, client, opt)
			if found, err := now.Find(model.Eq("name", "a")).Slice(t.Context()); err != nil || len(found) != 1 {
				t.Fatalf("after %s: %v, %v", what, found, err)
			}
			if pending, err := now.Pending(t.Context()); err != nil || len(pending) != 0 {
				t.Fatalf("after %s: %v, %v", what, pending, err)
			}
			agree(t, client, opt, now)
			if all, err := model.Models(t.Context(), client); err != nil || len(all) != 1 {
				t.Fatalf("after %s: %v, %v", what, all, err)
			}
			flush(t, client)
		}
	})
}

// ignoreNotFound returns err, or nil if err is ErrNotFound.
func ignoreNotFound(err error) error {
	if errors.Is(err, model.ErrNotFound) {
		return nil
	}
	return err
}

// Concurrent writers can all continue after the database was emptied.
func TestEmptiedDuringWrites(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		var stores []*model.Store[citizen]
		for range 3 {
			stores = append(stores, store[citizen](t, client, opt))
		}
		flush(t, client)
		var work sync.WaitGroup
		for i := range 12 {
			work.Go(func() {
				for j := range 20 {
					checkErr(t, errOf(stores[i%3].Create(t.Context(), citizen{Email: fmt.Sprint(i, "@", j)})))
				}
			})
		}
		work.Wait()
		records := agree(t, client, opt, stores[0])
		for i := range 240 {
			if _, there := records[strconv.Itoa(i+1)]; !there {
				t.Errorf("no record has the id %d", i+1)
			}
		}
	})
}

// A refused write leaves nothing that looks like an older layout.
func TestRefusedCreateLeavesNoOlderLayout(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "citizen"}
	citizens := store[citizen](t, client, opt)
	flush(t, client)
	d := damager{t, client, opt}
	d.do("SET", "citizen.by.age", "of another type")
	require.Fails(t, model.ErrCorrupt)(citizens.Create(t.Context(), citizen{Email: "a"}))
	d.do("DEL", "citizen.by.age")
	again := store[citizen](t, client, opt)
	checkEmpty[string](t)(again.Pending(t.Context()))
	for i, email := range []string{"a", "a", "b", "b", "c"} {
		_, err := citizens.Create(t.Context(), citizen{Email: email})
		if i%2 == 0 && err != nil || i%2 == 1 && !errors.Is(err, model.ErrTaken) {
			t.Fatalf("Create %d with email %q: %v; want ErrTaken for every second one", i, email, err)
		}
	}
	agree(t, client, opt, again)
}

// If another process has numbered the indexes differently after the database was emptied, a
// process does not write with its old numbers.
func TestEmptiedAndRenumbered(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		editionOf[otherCitizen](t, client, opt)
		old := editionOf[citizen](t, client, opt) // with different index numbers
		require.OK(t)(old.store.Migrate(t.Context(), maintain.Options{}))
		flush(t, client)
		now := editionOf[citizen](t, client, opt)
		random := rand.New(rand.NewPCG(1, 1))
		for range 30 {
			require.OK(t)(now.randomWrite(t.Context(), random, 10))
			if _, err := old.create(t.Context(), randomCitizen(random)); !errors.Is(err, model.ErrSchema) && !errors.Is(err, model.ErrTaken) {
				t.Fatal(err)
			}
		}
		agree(t, client, opt, store[citizen](t, client, opt))
	})
}

// Two processes with different declarations can both continue after the database was emptied.
func TestEmptiedWithOtherDeclarations(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		less, more := editionOf[citizen](t, client, opt), editionOf[moreCitizen](t, client, opt)
		flush(t, client)
		for i := range 4 {
			for j, e := range []edition{less, more} {
				require.OK(t)(e.create(t.Context(), citizen{Email: fmt.Sprint(i, "@", j)}))
			}
		}
		require.OK(t)(more.store.Migrate(t.Context(), maintain.Options{}))
		checkVerify(t, more.store)
	})
}

// Many concurrent processes use each id from the counter once.
func TestIDsOfConcurrentProcesses(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "citizen"}
	var work sync.WaitGroup
	for i := range 8 {
		citizens := store[citizen](t, client, opt)
		work.Go(func() {
			for j := range 50 {
				checkErr(t, errOf(citizens.Create(t.Context(), citizen{Email: fmt.Sprint(i, "@", j)})))
			}
		})
	}
	work.Wait()
	citizens := store[citizen](t, client, opt)
	if c, err := citizens.Create(t.Context(), citizen{}); err != nil || c.ID != "481" { // each process has reserved three blocks of 20 ids
		t.Errorf("id %s, %v; want 481", c.ID, err)
	}
	agree(t, client, opt, citizens)
}
