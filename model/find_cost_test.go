package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

type flat struct {
	ID   string `redis:",id"`
	City string `redis:"city,index"`
	Kind string `redis:"kind,index"`
	Lang string `redis:"lang,index"`
	Open bool   `redis:"open,index"`
	Size int    `redis:"size,range"`
	Code string `redis:"code,unique"`
}

// commandStats returns the server's statistics of the commands that f sends.
func commandStats(t *testing.T, client rueidis.Client, f func()) string {
	t.Helper()
	require.OK(t)(client.Do(t.Context(), client.B().ConfigResetstat().Build()).Error())
	f()
	stats, err := client.Do(t.Context(), client.B().Info().Section("commandstats").Build()).ToString()
	require.OK(t)(err)
	return stats
}

// The first page of a selective query intersects the sets, as the query without a limit does. If
// most records match, the page only reads the first members of the smallest set.
func TestFindFirstOfAnIntersection(t *testing.T) {
	t.Parallel()
	client, ctx := redistest.Own(t).Client(t), t.Context()
	flats := store[flat](t, client, model.Options{Name: "flat"})
	all := make([]flat, 10_000)
	for i := range all {
		all[i] = flat{City: fmt.Sprint(i % 10), Kind: fmt.Sprint(i / 10 % 7), Lang: fmt.Sprint(i / 70 % 5), Open: i%9 > 0, Size: i / 5000, Code: fmt.Sprint("c", i)}
	}
	require.OK(t)(flats.CreateMany(ctx, all))
	three := flats.Find(model.Eq("city", "3"), model.Eq("kind", "2"), model.Eq("lang", "4"))
	for name, test := range map[string]struct {
		q          *model.Query[flat]
		calls      int
		intersects bool
	}{
		"three":           {three, 1, true},
		"newest":          {three.Newest(), 1, true},
		"three and range": {three.And(model.Between("size", 0, 5)), 1, true},
		"two":             {flats.Find(model.Eq("city", "3"), model.Eq("kind", "2")), 1, true},
		"most match":      {flats.Find(model.Eq("city", "3"), model.Eq("open", true)), 2, false},
	} {
		want, err := test.q.Slice(ctx)
		require.OK(t)(err)
		stats := commandStats(t, client, func() {
			got, err := test.q.Limit(20).Slice(ctx)
			if err != nil || len(got) != 20 || got[0].ID != want[0].ID || got[19].ID != want[19].ID {
				t.Errorf("%s: %d records, %v; want the first 20 of the full result", name, len(got), err)
			}
		})
		if calls := callsOf(t, stats, "evalsha"); calls > test.calls {
			t.Errorf("%s: %d scripts, want at most %d", name, calls, test.calls)
		}
		if strings.Contains(stats, "cmdstat_zinter:") != test.intersects {
			t.Errorf("%s: want ZINTER %v: %s", name, test.intersects, stats)
		}
	}
}

// A query for a unique value reads the index and the record, as GetBy does.
func TestFindByUniqueValue(t *testing.T) {
	t.Parallel()
	client, ctx := redistest.Own(t).Client(t), t.Context()
	for _, partitions := range []int{1, 3} {
		flats := store[flat](t, client, model.Options{Name: fmt.Sprint("flat", partitions), Partitions: partitions})
		for i := range 100 {
			mustCreate(t, flats, flat{City: fmt.Sprint(i % 10), Code: fmt.Sprint("c", i)})
		}
		for want, q := range map[string]*model.Query[flat]{
			"7": flats.Find(model.Eq("code", "c7")),
			"8": flats.Find(model.Eq("code", "c8"), model.Eq("city", "8"), model.Not(model.Eq("kind", "x"))),
			"9": flats.Find(model.Eq("code", "c9")).Newest(),
			"":  flats.Find(model.Eq("code", "c9"), model.Eq("city", "8")),
		} {
			stats := commandStats(t, client, func() {
				f, err := q.First(ctx)
				if want == "" != (err != nil) || want != "" && f.Code != "c"+want {
					t.Errorf("First: %+v, %v; want c%s", f, err, want)
				}
			})
			if strings.Contains(stats, "cmdstat_eval") && want != "" {
				t.Errorf("c%s: the query ran a script: %s", want, stats)
			}
		}
		// The query returns the error of an unreadable record.
		redisDo(t, client, "HSET", recordKey(model.Options{Name: fmt.Sprint("flat", partitions), Partitions: partitions}, "5"), "size", "wide")
		if _, err := flats.Find(model.Eq("code", "c4")).First(ctx); err == nil || !strings.Contains(err.Error(), "size") {
			t.Errorf("First of an unreadable record: %v; want an error that names size", err)
		}
	}
}
