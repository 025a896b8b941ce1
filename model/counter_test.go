package model_test

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

type wikiPage struct {
	ID     string `redis:",id"`
	Title  string `redis:"title,index"`
	Visits int64  `redis:"visits,counter"`
	Small  int8   `redis:"small,counter"`
	Likes  *int32 `redis:"likes,counter"`
	Plain  int64
}

// refLayouts returns the options of a model without and with partitions.
func refLayouts(t *testing.T) map[string]model.Options {
	t.Helper()
	return map[string]model.Options{
		"one":        {Name: "m"},
		"partitions": {Name: "m", Partitions: 3},
	}
}

func TestIncr(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "m", func(t *testing.T, client rueidis.Client, opt model.Options) {
		opt.Cache = time.Minute
		pages := store[wikiPage](t, client, opt)
		p := mustCreate(t, pages, wikiPage{Title: "a"})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 50 {
					checkErr(t, errOf(pages.Incr(t.Context(), p.ID, "visits", 2)))
					if _, err := pages.Update(t.Context(), p.ID, func(p *wikiPage) error { p.Plain++; p.Visits = 7; return nil }); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		require.Gives(t, 799)(pages.Incr(t.Context(), p.ID, "visits", -1))
		require.Gives(t, 3)(pages.Incr(t.Context(), p.ID, "likes", 3))
		require.OK(t)(pages.Save(t.Context(), wikiPage{ID: p.ID, Title: "b", Visits: 5}))
		awaitPage(t, pages, p.ID, func(p wikiPage) bool {
			return p.Visits == 799 && p.Title == "b" && p.Plain == 0 && p.Likes != nil && *p.Likes == 3
		})
		require.OK(t)(pages.Incr(t.Context(), p.ID, "visits", 1))
		awaitPage(t, pages, p.ID, func(p wikiPage) bool { return p.Visits == 800 })
	})
}

// awaitPage reads a wikiPage through the cache until ok accepts it: invalidations may arrive late.
func awaitPage(t *testing.T, pages *model.Store[wikiPage], id string, ok func(wikiPage) bool) {
	t.Helper()
	for {
		p, err := pages.Get(t.Context(), id)
		require.OK(t)(err)
		if ok(p) {
			return
		}
	}
}

func TestIncrRefuses(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	pages := store[wikiPage](t, client, model.Options{Name: "m"})
	p := mustCreate(t, pages, wikiPage{Visits: math.MaxInt64 - 1, Small: 127})
	for _, test := range []struct {
		id, field string
		by        int64
		want      error
		text      string
	}{
		{p.ID, "visits", 2, model.ErrValue, "64 bits"},
		{p.ID, "small", 1, model.ErrValue, "8 bits"},
		{p.ID, "small", math.MaxInt64, model.ErrValue, "8 bits"},
		{p.ID, "small", -256, model.ErrValue, "8 bits"},
		{p.ID, "likes", 1 << 31, model.ErrValue, "32 bits"},
		{p.ID, "plain", 1, model.ErrValue, "`redis:\"plain,counter\"`"},
		{p.ID, "nothing", 1, model.ErrValue, "nothing"},
		{p.ID, "Visits", 1, model.ErrValue, `stored as "visits"`},
		{"9", "visits", 1, model.ErrNotFound, "9"},
		{"", "visits", 1, model.ErrValue, "empty"},
	} {
		if _, err := pages.Incr(t.Context(), test.id, test.field, test.by); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%+v: %v", test, err)
		}
	}
	for field, want := range map[string]int64{"visits": math.MaxInt64, "small": -128} {
		by := int64(1)
		if field == "small" {
			by = -255
		}
		if n, err := pages.Incr(t.Context(), p.ID, field, by); n != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", field, n, err, want)
		}
	}
	redisDo(t, client, "HSET", "m:1", "visits", "many")
	require.Fails(t, model.ErrCorrupt, "visits")(pages.Incr(t.Context(), p.ID, "visits", 1))
	redisDo(t, client, "SET", "m:2", "text")
	for _, field := range []string{"visits", "small"} {
		require.Fails(t, model.ErrCorrupt, "m:2")(pages.Incr(t.Context(), "2", field, 1))
	}
	if exists := redisDo(t, client, "EXISTS", "m:9"); exists != "0" {
		t.Error("Incr created a record")
	}
}

type ratedPage struct {
	ID     string `redis:",id"`
	Text   string
	Visits int64 `redis:"visits,counter,range,min=-5,max=1000"`
	Small  int8  `redis:"small,counter"`
	Plain  int64
}

func (ratedPage) Indexes() []model.Index[ratedPage] {
	return []model.Index[ratedPage]{
		model.Computed("popular", func(p ratedPage) bool { return p.Visits >= 2 }),
		model.Computed("medal", func(p ratedPage) *int8 {
			if p.Small == 0 {
				return nil
			}
			return &p.Small
		}).Unique(),
	}
}

// Incr updates the index entries of the counter, and of values computed from the counter.
func TestIncrOfComputed(t *testing.T) {
	t.Parallel()
	for name, opt := range refLayouts(t) {
		for _, size := range []int{10, 20_000} {
			t.Run(name+strconv.Itoa(size), func(t *testing.T) {
				t.Parallel()
				pages, ctx := store[ratedPage](t, redistest.DB(t).Client(t), opt), t.Context()
				for range 2 {
					require.OK(t)(pages.Create(ctx, ratedPage{Text: strings.Repeat("a", size), Visits: 1}))
				}
				checkCounts := func(popular, frequent int64) {
					t.Helper()
					conds := []model.Cond{model.Eq("popular", true), model.Eq("popular", false), model.AtLeast("visits", 100)}
					for i, want := range []int64{popular, 2 - popular, frequent} {
						if n, err := pages.Find(conds[i]).Count(ctx); n != want || err != nil {
							t.Errorf("condition %d: %d, %v, want %d", i, n, err, want)
						}
					}
					if r, err := pages.Verify(ctx, maintain.Options{}); err != nil || r.Problems() != 0 {
						t.Errorf("Verify: %+v, %v; want no problems", r, err)
					}
				}
				incr := func(id, field string, by, want int64, wantErr error) {
					t.Helper()
					if n, err := pages.Incr(ctx, id, field, by); n != want || !errors.Is(err, wantErr) {
						t.Errorf("%s of %s by %d: %d, %v, want %d, %v", field, id, by, n, err, want, wantErr)
					}
				}
				checkCounts(0, 0)
				incr("1", "visits", 1, 2, nil)
				checkCounts(1, 0)
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() {
						for range 25 {
							checkErr(t, errOf(pages.Incr(ctx, "1", "visits", 1)))
							checkErr(t, errOf(pages.Patch(ctx, "1", map[string]any{"plain": 7})))
						}
					})
				}
				wg.Wait()
				checkCounts(1, 1)
				incr("1", "visits", -101, 1, nil)
				checkCounts(0, 0)
				incr("1", "small", 1, 1, nil)
				incr("2", "small", 1, 0, model.ErrTaken)
				incr("2", "small", 2, 2, nil)
				incr("1", "visits", -7, 1, model.ErrBound)
				incr("1", "visits", 1000, 1, model.ErrBound)
				incr("1", "small", 127, 0, model.ErrValue)
				incr("1", "small", math.MinInt64, 0, model.ErrValue)
				incr("3", "small", 1, 0, model.ErrNotFound)
				checkCounts(0, 0)
			})
		}
	}
}

type (
	plainHits struct {
		ID   string `redis:",id"`
		Hits int64  `redis:"hits,counter"`
	}
	rangedHits struct {
		ID   string `redis:",id"`
		Hits int64  `redis:"hits,counter,range"`
	}
)

// After the migration, Incr of a program that does not declare the index of the counter returns
// ErrSchema.
func TestIncrOfOldProgram(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "m", func(t *testing.T, client rueidis.Client, opt model.Options) {
		ctx := t.Context()
		before := store[plainHits](t, client, opt)
		require.OK(t)(before.Create(ctx, plainHits{}))
		now := store[rangedHits](t, client, opt)
		require.Gives(t, 1)(before.Incr(ctx, "1", "hits", 1))
		require.OK(t)(now.Migrate(ctx, maintain.Options{}))
		if n, err := before.Incr(ctx, "1", "hits", 1); n != 0 || !errors.Is(err, model.ErrSchema) {
			t.Errorf("%d, %v, want ErrSchema", n, err)
		}
		require.Gives(t, 2)(now.Incr(ctx, "1", "hits", 1))
		require.Gives(t, 1)(now.Find(model.Eq("hits", 2)).Count(ctx))
	})
}

// redisDo runs a command and returns its reply as text.
func redisDo(t *testing.T, client rueidis.Client, words ...string) string {
	t.Helper()
	b := client.B().Arbitrary(words[0])
	if len(words) > 1 {
		b = b.Keys(words[1]).Args(words[2:]...)
	}
	m, err := client.Do(t.Context(), b.Build()).ToMessage()
	if rueidis.IsRedisNil(err) {
		return ""
	}
	if err != nil {
		t.Fatalf("%v: %v", words, err)
	}
	if n, err := m.AsInt64(); err == nil {
		return strconv.FormatInt(n, 10)
	}
	s, _ := m.ToString()
	return s
}
