package model_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/maintain"
	"retwis/model"
)

// The releases of a program declare different indexes.
type (
	oldRelease struct {
		ID   string   `redis:",id"`
		Name string   `redis:"name,index"`
		Age  int      `redis:"age,index"`
		City string   `redis:"city,range"`
		Tags []string `redis:"tags,index"`
	}
	// withoutRelease drops two indexes.
	withoutRelease struct {
		ID   string   `redis:",id"`
		Name string   `redis:"name,index"`
		Age  int      `redis:"age,index"`
		City string   `redis:"city"`
		Tags []string `redis:"tags"`
	}
	// bothRelease has an equality index of age, and an ordered index with a different name.
	bothRelease struct{ oldRelease }
	// newRelease has only the ordered index of age.
	newRelease struct {
		ID   string   `redis:",id"`
		Name string   `redis:"name,index"`
		Age  int      `redis:"age"`
		City string   `redis:"city,range"`
		Tags []string `redis:"tags,index"`
	}
)

func (bothRelease) Indexes() []model.Index[bothRelease] {
	return []model.Index[bothRelease]{model.Computed("years", func(r bothRelease) int { return r.Age })}
}

func (newRelease) Indexes() []model.Index[newRelease] {
	return []model.Index[newRelease]{model.Computed("years", func(r newRelease) int { return r.Age })}
}

// release is a process that runs one of the releases.
type release struct {
	write func(ctx context.Context, n int) error
	stop  func()
}

// startRelease starts a simulated process that writes continuously. A refused write fails the
// test.
func startRelease[T any](t *testing.T, s *model.Store[T], record func(n int) T) release {
	t.Helper()
	done := new(atomic.Bool)
	var work sync.WaitGroup
	begun := make(chan struct{}, 2)
	r := release{
		write: func(ctx context.Context, n int) error {
			made, err := s.Create(ctx, record(n))
			if err != nil {
				return err
			}
			if _, err = s.Save(ctx, made); err != nil {
				return err
			}
			id := fmt.Sprint(n%20 + 1) // other processes write this record as well
			if err = errOf(s.Patch(ctx, id, map[string]any{"age": n % 7, "city": fmt.Sprint("city", n%5), "tags": []string{fmt.Sprint(n % 3)}})); err != nil && !errors.Is(err, model.ErrNotFound) {
				return err
			}
			if n%25 > 0 {
				return s.Delete(ctx, idOf(made))
			}
			return nil
		},
		stop: func() { done.Store(true); work.Wait() },
	}
	work.Go(func() {
		defer func() { begun <- struct{}{} }()
		for n := 0; !done.Load(); n++ {
			if err := r.write(t.Context(), n%300); err != nil {
				t.Errorf("a write was refused: %v", err)
				return
			}
			if n == 20 {
				begun <- struct{}{}
			}
		}
	})
	<-begun // the process has written
	t.Cleanup(r.stop)
	return r
}

// Dropping and altering an index as described in docs/model.md refuses no write, although
// processes of both releases write continuously.
func TestReleasesRefuseNoWrite(t *testing.T) {
	t.Parallel()
	for name, opt := range refLayouts(t) {
		t.Run("drop, "+name, func(t *testing.T) {
			t.Parallel()
			client := redistest.DB(t).Client(t)
			old := store[oldRelease](t, client, opt)
			before := startRelease(t, old, oldRecord)
			now := store[withoutRelease](t, client, opt)
			migrate(t, now)
			after := startRelease(t, now, func(n int) withoutRelease { return withoutRelease{Name: fmt.Sprint("n", n%9), Age: n % 7, City: "c"} })
			again := store[oldRelease](t, client, opt) // an old process that restarts
			restarted := startRelease(t, again, oldRecord)
			for range redistest.Cases(1, 3) {
				checkFind(t, now, "name", "age")
			}
			before.stop()
			restarted.stop()
			migrate(t, now)
			after.stop()
			checkVerify(t, now)
			for _, key := range allKeys(t, client) {
				if strings.Contains(key, ".by.city") || strings.Contains(key, ".by.tags") {
					t.Errorf("%s is left", key)
				}
			}
			if err := before.write(t.Context(), 1); !errors.Is(err, model.ErrSchema) {
				t.Errorf("write of the old release: %v; want ErrSchema", err)
			}
		})
		t.Run("alter, "+name, func(t *testing.T) {
			t.Parallel()
			client := redistest.DB(t).Client(t)
			before := startRelease(t, store[oldRelease](t, client, opt), oldRecord)
			both := store[bothRelease](t, client, opt)
			between := startRelease(t, both, func(n int) bothRelease { return bothRelease{oldRecord(n)} })
			before.stop()
			migrate(t, both)
			checkQuery(t, both.Find().OrderBy("years"))
			now := store[newRelease](t, client, opt)
			migrate(t, now)
			after := startRelease(t, now, func(n int) newRelease { return newRelease(oldRecord(n)) })
			checkQuery(t, both.Find().OrderBy("years"))
			between.stop()
			migrate(t, now)
			checkQuery(t, now.Find().OrderBy("years"))
			after.stop()
			checkVerify(t, now)
			for _, key := range allKeys(t, client) {
				if strings.Contains(key, ".by.age") {
					t.Errorf("%s is left", key)
				}
			}
		})
	}
}

// idOf returns the id of a record of any release.
func idOf(record any) string { return reflect.ValueOf(record).FieldByName("ID").String() }

func oldRecord(n int) oldRelease {
	return oldRelease{Name: fmt.Sprint("n", n%9), Age: n % 7, City: fmt.Sprint("city", n%5), Tags: []string{fmt.Sprint(n % 3), "all"}}
}

// migrate migrates a model and checks that no changes are pending.
func migrate[T any](t *testing.T, s *model.Store[T]) {
	t.Helper()
	checkErr(t, errOf(s.Migrate(t.Context(), maintain.Options{})))
	if pending, err := s.Pending(t.Context()); err != nil || len(pending) > 0 {
		t.Errorf("Pending = %q, %v; want none", pending, err)
	}
}

// checkQuery fails the test if a query fails.
func checkQuery[T any](t *testing.T, q *model.Query[T]) {
	t.Helper()
	checkErr(t, errOf(q.Limit(50).Slice(t.Context())))
}

// checkFind fails the test if a query by one of the fields fails. Both releases have the indexes
// of these fields.
func checkFind(t *testing.T, s *model.Store[withoutRelease], fields ...string) {
	t.Helper()
	for _, field := range fields {
		value := any("n1")
		if field == "age" {
			value = 1
		}
		checkQuery(t, s.Find(model.Eq(field, value)))
	}
}

// allKeys returns the keys of the database.
func allKeys(t *testing.T, client rueidis.Client) []string {
	t.Helper()
	keys, err := client.Do(t.Context(), client.B().Keys().Pattern("*").Build()).AsStrSlice()
	checkErr(t, err)
	return keys
}
