package model_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/maintain"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// tally has a version; score has none.
type (
	tally struct {
		ID      string  `redis:",id"`
		N       int     `redis:"n,range"`
		Note    *string `redis:"note"`
		Version int64   `redis:",version"`
	}
	score struct {
		ID   string  `redis:",id"`
		N    int     `redis:"n,range"`
		Note *string `redis:"note"`
	}
)

// Concurrent Updates lose no increment. TestUpdateLarge covers models without a version.
func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	all := store[tally](t, redistest.DB(t).Client(t), model.Options{Name: "n"})
	mustCreate(t, all, tally{})
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 10 {
				checkErr(t, errOf(all.Update(t.Context(), "1", func(n *tally) error { n.N++; return nil })))
			}
		})
	}
	wg.Wait()
	if n, err := all.Get(t.Context(), "1"); err != nil || n.N != 100 || n.Version != 101 {
		t.Errorf("%+v, %v; want n 100, version 101", n, err)
	}
}

// meddling is a client that calls do before the first command for which before returns true.
type meddling struct {
	rueidis.Client
	before func(words []string) bool
	once   *sync.Once
	do     func()
}

func (m meddling) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if m.before(cmd.Commands()) {
		m.once.Do(m.do)
	}
	return m.Client.Do(ctx, cmd)
}

// Two concurrent Patches of the same fields do not mix their values.
func TestPatchesDoNotMix(t *testing.T) {
	t.Parallel()
	type point struct {
		ID   string `redis:",id"`
		X, Y int
	}
	client, ctx, opt := redistest.DB(t).Client(t), t.Context(), model.Options{Name: "n"}
	others := store[point](t, client, opt)
	require.OK(t)(others.Create(ctx, point{X: 1, Y: 9}))
	writes := func(words []string) bool { return words[0] == "EVALSHA" && slices.Contains(words, "n:1") }
	between := false
	points := store[point](t, meddling{client, writes, new(sync.Once), func() {
		_, err := others.Patch(ctx, "1", map[string]any{"x": 2, "y": 2})
		between = err == nil
	}}, opt)
	if _, err := points.Patch(ctx, "1", map[string]any{"x": 1, "y": 1}); err != nil || !between {
		t.Fatalf("Patch: %v; the other Patch ran between: %v", err, between)
	}
	if got, err := others.Get(ctx, "1"); err != nil || got.X != got.Y {
		t.Errorf("%+v, %v; want equal values", got, err)
	}
}

// Update of a record without a version starts again if another program has changed, added or
// removed a field.
func TestUpdateDetectsOtherWrites(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	all := store[score](t, client, model.Options{Name: "n"})
	mustCreate(t, all, score{})
	for _, command := range [][]string{{"HSET", "n:1", "note", ""}, {"HSET", "n:1", "note", "-"}, {"HDEL", "n:1", "note"}, {"HSET", "n:1", "n", "7"}} {
		calls := 0
		_, err := all.Update(t.Context(), "1", func(s *score) error {
			if calls++; calls == 1 {
				if err := client.Do(t.Context(), client.B().Arbitrary(command...).Build()).Error(); err != nil {
					return err
				}
			}
			s.N++
			return nil
		})
		if err != nil || calls != 2 {
			t.Errorf("%v: the function was called %d times, %v; want twice", command, calls, err)
		}
	}
}

// Update writes nothing if the function fails, changes the id, or only changes the version.
func TestUpdateAborted(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	all := store[tally](t, client, model.Options{Name: "n"})
	n := mustCreate(t, all, tally{N: 5})
	errFailed := errors.New("failed")
	for _, test := range []struct {
		change func(*tally) error
		want   error
	}{
		{func(n *tally) error { n.N = 6; return errFailed }, errFailed},
		{func(n *tally) error { n.ID = "2"; return nil }, model.ErrValue},
		{func(n *tally) error { n.Version = 99; return nil }, nil},
	} {
		if _, err := all.Update(t.Context(), n.ID, test.change); !errors.Is(err, test.want) {
			t.Errorf("%v; want %v", err, test.want)
		}
	}
	if got, err := all.Get(t.Context(), n.ID); err != nil || got != n {
		t.Errorf("read %+v, want %+v; %v", got, n, err)
	}
}

// Two writers that set the same unique value in the same record do not conflict.
func TestUniqueOfOneRecord(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "member", func(t *testing.T, client rueidis.Client, opt model.Options) {
		members := store[member](t, client, opt)
		m := mustCreate(t, members, member{Email: "a"})
		for round := range 20 {
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() {
					checkErr(t, errOf(members.Patch(t.Context(), m.ID, map[string]any{"phone": fmt.Sprint(round)})))
				})
			}
			wg.Wait()
			if id := ownerOf(t, client, opt, "phone", fmt.Sprint(round)); id != m.ID {
				t.Fatalf("the index leads to record %q, want %q", id, m.ID)
			}
		}
	})
}

// Patch accepts equivalent values of other types.
func TestPatchValues(t *testing.T) {
	t.Parallel()
	type cents int64
	type part struct{ A, B int }
	type shape struct{ A, B int }
	type thing struct {
		ID    string          `redis:",id"`
		Boss  model.Ref[user] `redis:"boss,index"`
		Price cents           `redis:"price"`
		Small *int8           `redis:"small"`
		At    time.Time       `redis:"at"`
		Tags  []string        `redis:"tags"`
		Part  part            `redis:"part"`
		Done  bool            `redis:"done"`
		Hits  int             `redis:"hits,counter"`
		V     int64           `redis:",version"`
	}
	s := store[thing](t, redistest.DB(t).Client(t), model.Options{Name: "thing"})
	x := mustCreate(t, s, thing{Tags: []string{"a"}, Done: true})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	patched, err := s.Patch(t.Context(), x.ID, map[string]any{
		"boss": 7, "price": 3, "small": 4, "at": at.Format(time.RFC3339), "tags": nil, "part": shape{1, 2}, "done": (*bool)(nil),
	})
	checkErr(t, err)
	got, err := s.Get(t.Context(), x.ID)
	want := thing{ID: x.ID, V: 2, Boss: model.To[user]("7"), Price: 3, Small: ptr(int8(4)), At: at, Part: part{1, 2}}
	if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(patched, want) {
		t.Errorf("read %+v, patched %+v, want %+v; %v", got, patched, want, err)
	}
	for field, test := range map[string]struct {
		value any
		text  string
	}{
		"price": {"3", "string"},
		"small": {300, "does not fit"},
		"at":    {"yesterday", "yesterday"},
		"boss":  {1.5, "float64"},
		"Price": {3, `stored as "price"`},
		"id":    {"x", "it is the id"},
		"v":     {7, ""},
		"hits":  {1, ""},
		"tags":  {7, ""},
		"none":  {1, ""},
	} {
		if _, err := s.Patch(t.Context(), x.ID, map[string]any{field: test.value}); !errors.Is(err, model.ErrValue) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v; want ErrValue and %q", field, err, test.text)
		}
	}
	if found, err := s.Find(model.Eq("boss", uint8(7))).IDs(t.Context()); err != nil || len(found) != 1 {
		t.Errorf("found %q, %v; want 1 record", found, err)
	}
}

// A program whose type lacks a part of a stored field, for example during a deployment, only
// writes the field if the function of Update changes the field.
func TestUpdateKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	type (
		newer struct {
			ID      string                       `redis:",id"`
			Addr    struct{ Street, Zip string } `redis:"addr"`
			All     []struct{ A, B int }         `redis:"all"`
			Data    map[string]any               `redis:"data"`
			At      time.Time                    `redis:"at,range"`
			Visits  int                          `redis:"visits,range"`
			Hits    int                          `redis:"hits,counter,range"`
			Version int64                        `redis:",version"`
		}
		older struct {
			ID      string                  `redis:",id"`
			Addr    struct{ Street string } `redis:"addr"`
			All     []struct{ A int }       `redis:"all"`
			Data    map[string]any          `redis:"data"`
			At      time.Time               `redis:"at,range"`
			Visits  int                     `redis:"visits,range"`
			Hits    int                     `redis:"hits,counter,range"`
			Version int64                   `redis:",version"`
		}
	)
	forEachLayout(t, "place", func(t *testing.T, client rueidis.Client, opt model.Options) {
		ctx := t.Context()
		now, old := store[newer](t, client, opt), store[older](t, client, opt)
		n := newer{Data: map[string]any{"big": int64(9007199254740993)}, All: []struct{ A, B int }{{1, 2}}}
		n.Addr.Street, n.Addr.Zip = "Main", "12345"
		id := mustCreate(t, now, n).ID
		key := baseOf(opt, id) + ":" + id
		redisDo(t, client, "HSET", key, "at", "2026-01-01T01:00:00+01:00") // as written by another program
		fields := func() map[string]string {
			all, err := client.Do(ctx, client.B().Hgetall().Key(key).Build()).AsStrMap()
			checkErr(t, err)
			return all
		}
		if r, err := now.Repair(ctx, maintain.Options{}); err != nil || r.Repaired != 1 {
			t.Fatalf("Repair: %+v, %v; want 1 repaired record", r, err)
		}
		before := fields()
		_, err := old.Update(ctx, id, func(*older) error { return nil })
		checkErr(t, err)
		if after := fields(); !maps.Equal(before, after) {
			t.Errorf("an Update without changes wrote %v, want %v", after, before)
		}
		visit := func(o *older) error { o.Visits++; return nil }
		_, err = old.Update(ctx, id, visit)
		checkErr(t, err)
		require.Gives(t, 1)(old.Find().UpdateAll(ctx, visit, nil))
		_, err = old.Incr(ctx, id, "hits", 1)
		checkErr(t, err)
		before["visits"], before["hits"], before["version"] = "2", "1", "3"
		if after := fields(); !maps.Equal(before, after) {
			t.Errorf("stored\n%v, want\n%v", after, before)
		}
		checkVerify(t, now)
		// A field that the function changes is written with the parts that the type has.
		_, err = old.Update(ctx, id, func(o *older) error { o.Addr.Street = "Side"; return nil })
		checkErr(t, err)
		if addr := fields()["addr"]; addr != `{"Street":"Side"}` {
			t.Errorf("addr is %s", addr)
		}
	})
}
