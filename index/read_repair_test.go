package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"retwis/index/internal/entries"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// fetch reads all entries and fetches their hashes.
func (o *objects) fetch(ctx context.Context, opt FetchOptions) ([]Fetched, maintain.Report, error) {
	var entries []Entry
	for e, err := range o.index.All(ctx, Page{}) {
		if err != nil {
			return nil, maintain.Report{}, err
		}
		entries = append(entries, e)
	}
	if opt.Key == nil {
		opt.Key = o.key
	}
	return o.index.Fetch(ctx, entries, opt)
}

func (o *objects) mustFetch(opt FetchOptions) ([]Fetched, maintain.Report) {
	o.t.Helper()
	found, report, err := o.fetch(o.t.Context(), opt)
	if err != nil {
		o.t.Fatal(err)
	}
	return found, report
}

// kinds returns the kinds of the problems in a report, by ID.
func kinds(r maintain.Report) map[string]maintain.Kind {
	found := map[string]maintain.Kind{}
	for _, p := range r.Examples {
		found[p.ID] = p.Kind
	}
	return found
}

// Fetch reports every kind of difference, and repairs differences only on request.
func TestFetchNoticesAndRepairs(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		o := newObjects(t, client(t), fmt.Sprint("differ", partitions), partitions)
		for _, id := range []string{"right", "stale", "gone", "bare", "invalid", "twice", "halfGone"} {
			o.put(id, 20)
		}
		o.do("HSET", o.key("stale"), "age", "30", "name", "Ann")
		o.do("DEL", o.key("gone"))
		o.do("HDEL", o.key("bare"), "age")
		o.do("HSET", o.key("bare"), "name", "Bea")
		o.do("HSET", o.key("invalid"), "age", "old")
		for _, id := range []string{"twice", "halfGone"} { // add an entry that is not in the reverse index
			m, _ := o.index.member(id, []any{99})
			o.do("ZADD", o.index.entries.Set.Of(id).Index, "0", m)
		}
		o.do("DEL", o.key("halfGone"))
		require.OK(t)(o.index.Remove(t.Context(), "halfGone"))
		want := map[string]maintain.Kind{"stale": maintain.Stale, "gone": maintain.Dangling, "bare": maintain.Dangling, "invalid": maintain.Invalid, "twice": maintain.Stale, "halfGone": maintain.Dangling}
		found, report := o.mustFetch(FetchOptions{Fields: []string{"name"}})
		if got := kinds(report); !maps.Equal(got, want) || report.Checked != 8 || report.Repaired != 0 || report.Problems() != 6 {
			t.Errorf("Fetch reports %+v, want %v", report, want)
		}
		if len(found) != 6 { // all but gone and halfGone; twice has two entries
			t.Errorf("found %d hashes, want 6: %v", len(found), found)
		}
		stale := map[string]bool{}
		for _, f := range found {
			stale[f.ID] = stale[f.ID] || f.Stale
			if _, ok := f.Fields["age"]; ok {
				t.Errorf("%s: the fields %v were not requested", f.ID, f.Fields)
			}
		}
		if !maps.Equal(stale, map[string]bool{"right": false, "stale": true, "bare": true, "invalid": true, "twice": true}) {
			t.Errorf("stale: %v", stale)
		}
		if _, again := o.mustFetch(FetchOptions{}); !maps.Equal(kinds(again), want) {
			t.Errorf("Fetch without Repair changed the index: %+v", again)
		}
		if _, report = o.mustFetch(FetchOptions{Repair: true}); !maps.Equal(kinds(report), want) || report.Repaired != 5 {
			t.Errorf("Fetch with Repair reports %+v, want 5 repaired", report)
		}
		found, report = o.mustFetch(FetchOptions{Repair: true})
		if !maps.Equal(kinds(report), map[string]maintain.Kind{"invalid": maintain.Invalid}) || report.Repaired != 0 || len(found) != 4 {
			t.Errorf("Fetch after the repair: found %d, want 4; report %+v, want 1 invalid", len(found), report)
		}
		if e, err := o.index.Get(t.Context(), "stale"); err != nil || e.Values[0] != int64(30) {
			t.Errorf("Get: %v, %v, want 30", e, err)
		}
		if r := o.verify(); r.Missing+r.Stale+r.Dangling != 0 {
			t.Errorf("Verify after the repair: %+v", r)
		}
	}
}

func TestFetchNumericRepairs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	x := numeric[float64](t, "read", NumericOptions{Name: "price", Partitions: 2})
	c := x.entries.Set.Client
	key := func(id string) string { return "thing:" + id }
	want := map[string]float64{}
	for i := range 300 {
		id, price := fmt.Sprint(i), float64(i)
		require.OK(t)(x.Put(ctx, id, price))
		switch i % 10 {
		case 0:
			price += 0.5
		case 1:
			continue // no hash
		}
		want[id] = price
		c.Do(ctx, c.B().Hset().Key(key(id)).FieldValue().FieldValue("price", strconv.FormatFloat(price, 'f', 3, 64)).Build())
	}
	read := func() (entries []NumericEntry[float64]) {
		for e, err := range x.All(ctx, Page{}) {
			require.OK(t)(err)
			entries = append(entries, e)
		}
		return entries
	}
	found, report, err := x.Fetch(ctx, read(), FetchOptions{Key: key, Repair: true})
	if err != nil || len(found) != 270 || report.Stale != 30 || report.Dangling != 30 || report.Repaired != 60 {
		t.Errorf("found %d hashes, want 270; report %+v, %v, want 30 stale, 30 dangling", len(found), report, err)
	}
	got := map[string]float64{}
	for _, e := range read() {
		got[e.ID] = e.Number
	}
	if !maps.Equal(got, want) {
		t.Errorf("%d entries, want %d", len(got), len(want))
	}
	if _, err := Fetch(ctx, c, []string{"1"}, FetchOptions{Repair: true}); err == nil {
		t.Error("the function Fetch accepted Repair without an index")
	}
	if found, report, err := x.Fetch(ctx, nil, FetchOptions{Repair: true}); err != nil || len(found) != 0 || report.Checked != 0 {
		t.Errorf("Fetch of no entries: %v, %+v, %v", found, report, err)
	}
	// Fetch also compares entries that the caller constructed.
	c.Do(ctx, c.B().Hset().Key(key("3")).FieldValue().FieldValue("price", "7").Build())
	if _, report, err := x.Fetch(ctx, []NumericEntry[float64]{{"3", 5}, {"3", 3}, {"nobody", 1}}, FetchOptions{Key: key, Repair: true}); err != nil || report.Stale != 1 || report.Repaired != 1 || report.Problems() != 1 {
		t.Errorf("Fetch reports %+v, %v, want 1 stale and repaired", report, err)
	}
}

// After random writes and damage, Fetch with Repair makes every entry agree with its hash.
func TestFetchAgainstBruteForce(t *testing.T) {
	t.Parallel()
	c, n := client(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		o := newObjects(t, c, fmt.Sprint("brute", n), rapid.SampledFrom([]int{1, 2}).Draw(rt, "partitions"))
		if err := o.index.entries.Set.Adopt(t.Context()); err != nil { // declares all partitions
			rt.Fatal(err)
		}
		o.put("x", 1)
		ages := map[string]int{"x": 1} // the ages in the hashes
		anyID, anyAge := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), rapid.IntRange(0, 3)
		for range rapid.IntRange(1, 25).Draw(rt, "writes") {
			id, age := anyID.Draw(rt, "id"), anyAge.Draw(rt, "age")
			member, err := o.index.member(id, []any{age})
			require.OK(rt)(err)
			keys := o.index.entries.Set.Of(id)
			switch rapid.IntRange(0, 6).Draw(rt, "write") {
			case 0, 1:
				o.put(id, age)
				ages[id] = age
			case 2:
				o.do("HSET", o.key(id), "age", strconv.Itoa(age))
				ages[id] = age
			case 3:
				o.do("DEL", o.key(id))
				delete(ages, id)
			case 4:
				require.OK(rt)(o.index.Put(t.Context(), id, age))
			case 5:
				o.do("ZADD", keys.Index, "0", member)
			case 6:
				o.do("HSET", keys.Content, id, member)
			}
		}
		want := map[string]bool{} // IDs of entries with a hash
		var entries []Entry
		for e, err := range o.index.All(t.Context(), Page{}) {
			require.OK(rt)(err)
			entries = append(entries, e)
		}
		found, report, err := o.index.Fetch(t.Context(), entries, FetchOptions{Key: o.key, Repair: true})
		require.OK(rt)(err)
		stale := 0
		for _, e := range entries {
			if age, ok := ages[e.ID]; ok {
				want[e.ID] = true
				if int64(age) != e.Values[0] {
					stale++
				}
			}
		}
		for _, f := range found {
			if f.Stale {
				stale--
			}
			if f.Fields["age"] != strconv.Itoa(ages[f.ID]) {
				rt.Fatalf("%s has fields %v, want age %d", f.ID, f.Fields, ages[f.ID])
			}
		}
		if stale != 0 {
			rt.Fatalf("%d more entries are stale than Fetch returned", stale)
		}
		got := map[string]bool{}
		for e, err := range o.index.All(t.Context(), Page{}) {
			require.OK(rt)(err)
			if age, ok := ages[e.ID]; !ok || int64(age) != e.Values[0] || got[e.ID] {
				rt.Fatalf("entry %s has %v; hash has %v, exists: %v; report %+v", e.ID, e.Values, age, ok, report)
			}
			got[e.ID] = true
		}
		if !maps.Equal(got, want) {
			rt.Fatalf("IDs after Fetch: %v, want %v; report %+v", got, want, report)
		}
		if _, again, err := o.fetch(t.Context(), FetchOptions{}); err != nil || again.Problems() != 0 {
			rt.Fatalf("second Fetch: %+v, %v, want no problems", again, err)
		}
	})
}

// Readers that repair never undo concurrent writes, even if interrupted, and leave no keys
// behind.
func TestFetchDuringWrites(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 2} {
		o := newObjects(t, client(t), fmt.Sprint("among", partitions), partitions)
		stop := o.write("")
		var readers sync.WaitGroup
		reading, finish := context.WithCancel(t.Context())
		for r := range 3 {
			readers.Go(func() {
				random := rand.New(rand.NewPCG(2, uint64(r)))
				for reading.Err() == nil {
					ctx, cancel := context.WithCancel(t.Context())
					if random.IntN(3) == 0 {
						calls := random.IntN(500)
						_, _, err := o.fetch(ctx, FetchOptions{Repair: true, Key: func(id string) string {
							if calls--; calls == 0 {
								cancel() // before a read or before the repair
							}
							return o.key(id)
						}})
						if err != nil && !errors.Is(err, context.Canceled) {
							t.Error(err)
						}
					} else if _, _, err := o.fetch(ctx, FetchOptions{Repair: true}); err != nil {
						t.Error(err)
					}
					cancel()
				}
			})
		}
		stop()
		finish()
		readers.Wait()
		if r := o.verify(); r.Problems() != 0 {
			t.Errorf("Verify: %+v, want no problems", r)
		}
		for _, k := range o.index.entries.Set.Keys {
			if o.text("HGET", k.Meta, "rebuild") != "" || o.text("TYPE", k.Changed) != "none" {
				t.Errorf("%s: a repair left its field or key behind", k.Index)
			}
		}
	}
}

// A value that changes and changes back during a repair (ABA) counts as changed.
func TestFetchRepairNoticesABA(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "fooled", 1)
	o.put("1", 20)
	o.do("HSET", o.key("1"), "age", "30") // the entry still has 20
	e, err := o.index.Get(t.Context(), "1")
	require.OK(t)(err)
	// A writer puts 20 again after the reader has read 30.
	reads := 0
	_, _, err = entries.Fetch[Fetched](t.Context(), o.index.entries, []entries.Entry{{ID: "1", Value: e.member}}, entries.Hashes{
		Key: o.key, Needs: []string{"age"}, Repair: true,
		Value: func(id string, fields map[string]string) (string, bool, error) {
			if reads++; reads == 3 { // during the repair, which has read the hash
				o.put("1", 20)
			}
			values, ok, err := o.index.parse(id, fields)
			if !ok || err != nil {
				return "", false, err
			}
			m, err := o.index.member(id, values)
			return m, true, err
		},
	})
	if err != nil || reads < 3 {
		t.Fatalf("%d reads, %v, want at least 3", reads, err)
	}
	if r := o.verify(); r.Problems() != 0 {
		t.Errorf("Verify: %+v, want no problems", r)
	}
}

// Fetch repairs nothing during another run. The lease of a killed run must expire first.
func TestFetchKeepsOtherRuns(t *testing.T) {
	t.Parallel()
	o := newObjects(t, client(t), "others", 2)
	for i := range 250 {
		o.put(fmt.Sprint(i), 20)
		o.do("HSET", o.key(fmt.Sprint(i)), "age", "30")
	}
	fetched := false
	src := o.source
	report, err := o.index.Rebuild(t.Context(), Source[[]any]{All: src.All}, maintain.Options{Progress: func(maintain.Progress) {
		if !fetched {
			fetched = true
			if _, r := o.mustFetch(FetchOptions{Repair: true}); r.Repaired != 0 || r.Stale != 250 {
				t.Errorf("Fetch during a rebuild: %+v, want 250 stale, 0 repaired", r)
			}
		}
	}, Rate: 1_000_000})
	if err != nil || !fetched || report.Checked != 250 {
		t.Fatalf("Rebuild: %+v, %v, want 250 checked; fetched: %v", report, err, fetched)
	}
	if r := o.verify(); r.Problems() != 0 {
		t.Errorf("Verify: %+v, want no problems", r)
	}
	// Fetch repairs nothing until the lease of a killed run expires.
	o.do("HSET", o.key("7"), "age", "40")
	require.OK(t)(o.index.entries.Tracker.Begin(t.Context(), "killed"))
	if _, r := o.mustFetch(FetchOptions{Repair: true}); r.Repaired != 0 || r.Stale != 1 {
		t.Errorf("Fetch before the lease expires: %+v, want 1 stale, 0 repaired", r)
	}
	for _, k := range o.index.entries.Set.Keys {
		o.do("HSET", k.Meta, "until", "1")
	}
	if _, r := o.mustFetch(FetchOptions{Repair: true}); r.Repaired != 1 {
		t.Errorf("Fetch after the lease expired: %+v, want 1 repaired", r)
	}
}

// On a Cluster, Fetch repairs entries whose hashes are in other slots.
func TestFetchOnACluster(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, 3).Client(t)
	o := newObjects(t, c, "{far}", 3)
	for i := range 50 {
		o.put(fmt.Sprint(i), 20)
		if i%2 == 0 {
			o.do("HSET", o.key(fmt.Sprint(i)), "age", "30")
		}
	}
	if _, r := o.mustFetch(FetchOptions{Repair: true}); r.Repaired != 25 || r.Stale != 25 {
		t.Errorf("Fetch: %+v, want 25 stale and repaired", r)
	}
	if _, r := o.mustFetch(FetchOptions{}); r.Problems() != 0 {
		t.Errorf("second Fetch: %+v, want no problems", r)
	}
}
