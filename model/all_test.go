package model_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/require"
	"retwis/model"
)

// UpdateAll changes each matching record once, even if the change moves the record in the order
// of the query; DeleteAll deletes the matching records.
func TestUpdateAllAndDeleteAll(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[citizen](t, client, opt)
		all := make([]citizen, 430)
		for i := range all {
			all[i] = citizen{Name: fmt.Sprint("n", i%3), Email: fmt.Sprint(i, "@x"), Age: i % 100, City: "c"}
		}
		require.OK(t)(citizens.CreateMany(t.Context(), all))
		var steps []int64
		calls := map[string]int{} // needs no lock: the function is called for one record at a time
		n, err := citizens.Find(model.AtLeast("age", 50)).OrderBy("age").UpdateAll(t.Context(), func(c *citizen) error {
			calls[c.ID]++
			c.Age += 7
			c.Tags = []string{"older"}
			return nil
		}, func(n int64) { steps = append(steps, n) })
		if err != nil || n != 200 || len(calls) != 200 || len(steps) < 2 || steps[len(steps)-1] != 200 {
			t.Fatalf("UpdateAll = %d, %v; called for %d records, progress %v; want 200 records", n, err, len(calls), steps)
		}
		sum := 0
		for _, c := range agree(t, client, opt, citizens) {
			sum += c.Age
			if (c.Age >= 50) != (len(c.Tags) == 1) {
				t.Errorf("%+v: want a tag if and only if the age is at least 50", c)
			}
		}
		if want := 4*99*50 + 29*15 + 200*7; sum != want {
			t.Errorf("sum of ages = %d, want %d", sum, want)
		}
		if n, err := citizens.Find(model.Eq("tags", "older")).Limit(30).UpdateAll(t.Context(), func(c *citizen) error { c.Tags = nil; return nil }, nil); n != 30 || err != nil {
			t.Errorf("UpdateAll with a limit = %d, %v; want 30", n, err)
		}
		// A repeated call finishes the work of a failed call.
		errStop := errors.New("stop")
		done, failed := int64(0), 0
		for err = errStop; errors.Is(err, errStop); {
			fails := 0
			var n int64
			n, err = citizens.Find(model.Eq("tags", "older")).UpdateAll(t.Context(), func(c *citizen) error {
				if fails++; fails == 120 {
					return errStop
				}
				c.Tags = []string{"done"}
				return nil
			}, nil)
			if done += n; err != nil {
				failed++
			}
		}
		if err != nil || done != 170 || failed != 1 {
			t.Errorf("updated %d records with %d failed calls, %v; want 170 with 1 failed call", done, failed, err)
		}
		redisDo(t, client, "HSET", findKey(t, client, "*citizen*:3"), "age", "abc")
		n, err = citizens.Find(model.Eq("name", "n2")).DeleteAll(t.Context(), nil)
		if n != 143 || err != nil {
			t.Errorf("DeleteAll = %d, %v; want 143", n, err)
		}
		n, err = citizens.Find().UpdateAll(t.Context(), func(c *citizen) error { return nil }, nil)
		if n != 287 || err != nil {
			t.Errorf("UpdateAll = %d, %v; want 287", n, err)
		}
		if n, err := citizens.Find(model.Eq("no such", 1)).UpdateAll(t.Context(), nil, nil); n != 0 || !errors.Is(err, model.ErrValue) {
			t.Errorf("UpdateAll of an invalid query = %d, %v; want ErrValue", n, err)
		}
		require.Gives(t, 287)(citizens.Find().DeleteAll(t.Context(), nil))
		if left := agree(t, client, opt, citizens); len(left) != 0 {
			t.Error(len(left), "records are left")
		}
	})
}

// Several processes that call UpdateAll concurrently change each record once.
func TestUpdateAllDuringWrites(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[citizen](t, client, opt)
		all := make([]citizen, 300)
		for i := range all {
			all[i] = citizen{Email: fmt.Sprint(i, "@x"), Name: "todo"}
		}
		require.OK(t)(citizens.CreateMany(t.Context(), all))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				citizens := store[citizen](t, client, opt)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				_, err := citizens.Find(model.Eq("name", "todo")).UpdateAll(ctx, func(c *citizen) error {
					c.Age++
					c.Name = "done"
					return nil
				}, nil)
				checkErr(t, err)
			})
		}
		wg.Wait()
		for _, c := range agree(t, client, opt, citizens) {
			if c.Age != 1 || c.Name != "done" {
				t.Errorf("%+v; want age 1 and name done", c)
			}
		}
	})
}
