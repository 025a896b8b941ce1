package model_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/maintain"
	"retwis/model"
)

// What queries notice of records that were changed by hand is repaired and reported once.
func TestReadRepair(t *testing.T) {
	t.Parallel()
	layouts(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		ctx := t.Context()
		var mu sync.Mutex
		var reports []model.Report
		opt.ReadRepair = func(r model.Report, err error) {
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			reports = append(reports, r)
		}
		// sum returns what was reported since the last call.
		sum := func() (stale, dangling, repaired int64) {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range reports {
				stale, dangling, repaired = stale+r.Stale, dangling+r.Dangling, repaired+r.Repaired
			}
			reports = nil
			return stale, dangling, repaired
		}
		citizens := store[citizen](t, client, opt)
		for i := range 9 {
			createdOf(t, citizens, citizen{Name: "n", Email: fmt.Sprint(i+1, "@x"), Age: i, Tags: []string{"t"}, City: "c"})
		}
		d := damaging{t, client, opt}
		d.set("2", "name", "changed")
		d.set("3", "tags", `["other"]`)
		d.do("DEL", d.of("4", ""))
		d.set("5", "email", "other@x")
		d.set("6", "age", "99")
		ids := func(q *model.Query[citizen], want ...string) {
			t.Helper()
			all, err := q.Slice(ctx)
			var got []string
			for _, c := range all {
				got = append(got, c.ID)
			}
			if slices.Sort(got); err != nil || !slices.Equal(got, want) {
				t.Errorf("%q, want %q, %v", got, want, err)
			}
		}
		for _, test := range []struct {
			do                        func()
			stale, dangling, repaired int64
		}{
			{func() { ids(citizens.Find(model.Eq("name", "n")), "1", "3", "5", "6", "7", "8", "9") }, 1, 1, 2},
			{func() { ids(citizens.Find(model.Eq("name", "changed")), "2") }, 0, 0, 0}, // it is in the index now
			{func() { ids(citizens.Find(model.Eq("name", "n"), model.Eq("tags", "t")), "1", "5", "6", "7", "8", "9") }, 1, 0, 1},
			{func() {
				if _, err := citizens.GetBy(ctx, "email", "5@x"); err == nil {
					t.Error("found by its former value")
				}
			}, 1, 0, 1},
			{func() { ids(citizens.Find(model.AtMost("age", 6)).OrderBy("age"), "1", "2", "3", "5", "7") }, 1, 0, 1},
			{func() { ids(citizens.Find(model.Eq("city", "c")), "1", "2", "3", "5", "6", "7", "8", "9") }, 0, 0, 0},
		} {
			test.do()
			if stale, dangling, repaired := sum(); stale != test.stale || dangling != test.dangling || repaired != test.repaired {
				t.Errorf("%d stale, %d dangling, %d repaired; want %+v", stale, dangling, repaired, test)
			}
		}
		if r, err := citizens.Verify(ctx, maintain.Options{}); err != nil || r.Problems() != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		agree(t, client, opt, citizens)
	})
}

// Readers that repair find nothing wrong among writers of the model.
func TestReadRepairAmongWriters(t *testing.T) {
	t.Parallel()
	layouts(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		ctx := t.Context()
		opt.ReadRepair = func(r model.Report, err error) {
			if err != nil || r.Repaired > 0 {
				t.Errorf("%+v, %v", r, err)
			}
		}
		citizens := store[citizen](t, client, opt)
		var ids []string
		for i := range 20 {
			ids = append(ids, createdOf(t, citizens, citizen{Name: fmt.Sprint("n", i%3), Email: fmt.Sprint(i, "@x"), Age: i}).ID)
		}
		var wg sync.WaitGroup
		var done atomic.Bool
		for w := range 4 {
			wg.Go(func() {
				for i := range 100 {
					_, err := citizens.Update(ctx, ids[(i*7+w)%20], func(c *citizen) error {
						c.Name, c.Age = fmt.Sprint("n", (i+w)%3), c.Age+1
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
				done.Store(true)
			})
			wg.Go(func() {
				for begin := time.Now(); !done.Load() && time.Since(begin) < time.Minute; {
					for _, q := range []*model.Query[citizen]{citizens.Find(model.Eq("name", "n1")), citizens.Find(model.AtLeast("age", 15)).OrderBy("age")} {
						if _, err := q.Slice(ctx); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		agree(t, client, opt, citizens)
	})
}
