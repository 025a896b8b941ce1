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
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/maintain"
	"retwis/model"
)

// ledger has counters and times with indexes.
type ledger struct {
	ID      string    `redis:",id"`
	Name    string    `redis:"name,unique"`
	Group   string    `redis:"group,index"`
	Hits    int       `redis:"hits,counter,range,min=-3,max=9"`
	Seen    *int64    `redis:"seen,counter,range"`
	Plain   int       `redis:"plain,counter"`
	Created time.Time `redis:"made,created,range"`
	Updated time.Time `redis:",updated"`
	Expires time.Time `redis:",expires,ttl=1h"`
	Version int64     `redis:",version"`
}

func (ledger) Indexes() []model.Index[ledger] {
	return []model.Index[ledger]{model.Composite[ledger]("group", "hits desc"), model.Composite[ledger]("made", "plain")}
}

// ledgers does things with a store and with a map.
type ledgers struct {
	t    *testing.T
	s    *model.Store[ledger]
	want map[string]ledger
}

func drawnLedger(r *rapid.T) ledger {
	return ledger{
		Name: rapid.StringMatching(`[a-f]`).Draw(r, "name"), Group: rapid.SampledFrom([]string{"", "x", "y"}).Draw(r, "group"),
		Hits: rapid.IntRange(-3, 9).Draw(r, "hits"), Plain: rapid.IntRange(0, 3).Draw(r, "plain"),
	}
}

func (l *ledgers) id(r *rapid.T) string {
	return rapid.SampledFrom(append(slices.Sorted(maps.Keys(l.want)), "none", "other")).Draw(r, "id")
}

// wrote compares a written record with what it should be, and remembers it.
func (l *ledgers) wrote(r *rapid.T, given, got ledger, err error) {
	old, there := l.want[given.ID]
	for id, other := range l.want {
		if id != given.ID && other.Name == given.Name {
			if !errors.Is(err, model.ErrTaken) {
				r.Fatalf("%q is taken: %v", given.Name, err)
			}
			return
		}
	}
	if err != nil {
		r.Fatal(err)
	}
	if there {
		given.Hits, given.Seen, given.Plain, given.Created = old.Hits, old.Seen, old.Plain, old.Created
	}
	given.Version = old.Version + 1
	now := time.Now()
	near := func(what string, at, want time.Time) {
		if d := at.Sub(want); d < -time.Minute || d > time.Minute {
			r.Fatalf("%s is %v, not about %v", what, at, want)
		}
	}
	near("updated", got.Updated, now)
	near("expires", got.Expires, now.Add(time.Hour))
	if given.Updated, given.Expires = got.Updated, got.Expires; !there {
		near("created", got.Created, now)
		given.Created = got.Created
	}
	if !reflect.DeepEqual(got, given) {
		r.Fatalf("written %+v, not %+v", got, given)
	}
	l.want[given.ID] = given
}

func (l *ledgers) put(r *rapid.T) {
	given := drawnLedger(r)
	given.ID, given.Version = l.id(r), 77
	got, err := l.s.Put(l.t.Context(), given)
	l.wrote(r, given, got, err)
}

func (l *ledgers) putMany(r *rapid.T) {
	given := make([]ledger, rapid.IntRange(0, 6).Draw(r, "records"))
	for i := range given {
		given[i] = drawnLedger(r)
		given[i].ID = l.id(r)
		given[i].Name = "of " + given[i].ID // others may be written before or after it
	}
	got, err := l.s.PutMany(l.t.Context(), given)
	var many *model.ManyError
	refused := map[int]error{}
	if errors.As(err, &many) {
		for _, x := range many.Refused {
			refused[x.Position] = x.Err
		}
	} else if err != nil {
		r.Fatal(err)
	}
	for i := range given {
		l.wrote(r, given[i], got[i], refused[i])
	}
}

func (l *ledgers) save(r *rapid.T) {
	given := drawnLedger(r)
	given.ID = l.id(r)
	old, there := l.want[given.ID]
	given.Version = old.Version
	got, err := l.s.Save(l.t.Context(), given)
	if !there {
		if !errors.Is(err, model.ErrNotFound) {
			r.Fatal(err)
		}
		return
	}
	l.wrote(r, given, got, err)
}

func (l *ledgers) update(r *rapid.T) {
	given := drawnLedger(r)
	given.ID = l.id(r)
	old, there := l.want[given.ID]
	patches := rapid.Bool().Draw(r, "patch")
	var got ledger
	var err error
	if patches {
		got, err = l.s.Patch(l.t.Context(), given.ID, map[string]any{"name": given.Name, "group": given.Group, "expires": time.Hour})
	} else {
		got, err = l.s.Update(l.t.Context(), given.ID, func(stored *ledger) error { *stored = given; return nil })
	}
	switch {
	case !there:
		if !errors.Is(err, model.ErrNotFound) {
			r.Fatal(err)
		}
		return
	case err == nil && got.Version == old.Version: // nothing new
		if got.Name != given.Name || got.Group != given.Group {
			r.Fatalf("%+v was not written", given)
		}
		return
	}
	l.wrote(r, given, got, err)
}

func (l *ledgers) incr(r *rapid.T) {
	id, field, by := l.id(r), rapid.SampledFrom([]string{"hits", "seen", "plain"}).Draw(r, "field"), rapid.Int64Range(-8, 8).Draw(r, "by")
	if field == "seen" {
		by *= 1 << 59
	}
	old, there := l.want[id]
	sum, err := l.s.Incr(l.t.Context(), id, field, by)
	now := map[string]int64{"hits": int64(old.Hits), "plain": int64(old.Plain)}[field]
	if field == "seen" && old.Seen != nil {
		now = *old.Seen
	}
	next := now + by
	var bound *model.BoundError
	switch {
	case !there:
		if !errors.Is(err, model.ErrNotFound) {
			r.Fatal(err)
		}
		return
	case field == "hits" && (next < -3 || next > 9):
		if !errors.As(err, &bound) || !errors.Is(err, model.ErrBound) || bound.Value != now || sum != now {
			r.Fatalf("%d+%d: %v", now, by, err)
		}
		return
	case by > 0 && next < now || by < 0 && next > now:
		if !errors.Is(err, model.ErrValue) {
			r.Fatalf("%d+%d: %v", now, by, err)
		}
		return
	case err != nil || sum != next:
		r.Fatalf("%d+%d is %d, %v", now, by, sum, err)
	}
	switch field {
	case "hits":
		old.Hits = int(sum)
	case "seen":
		old.Seen = &sum
	default:
		old.Plain = int(sum)
	}
	l.want[id] = old
}

func (l *ledgers) touch(r *rapid.T) {
	id := l.id(r)
	old, there := l.want[id]
	err := l.s.Touch(l.t.Context(), id, time.Hour)
	if !there && !errors.Is(err, model.ErrNotFound) || there && err != nil {
		r.Fatal(err)
	}
	if there {
		got, err := l.s.Get(l.t.Context(), id)
		if d := time.Until(got.Expires); err != nil || d < 59*time.Minute || d > 61*time.Minute {
			r.Fatal(d, err)
		}
		old.Expires = got.Expires
		l.want[id] = old
	}
}

func (l *ledgers) remove(r *rapid.T) {
	id := l.id(r)
	if err := l.s.Delete(l.t.Context(), id); err != nil && !errors.Is(err, model.ErrNotFound) {
		r.Fatal(err)
	}
	delete(l.want, id)
}

// check compares all records, the indexes, and an order by a counter.
func (l *ledgers) check(r *rapid.T) {
	ctx := l.t.Context()
	all, err := l.s.Find().Slice(ctx)
	got := map[string]ledger{}
	for _, x := range all {
		got[x.ID] = x
	}
	if err != nil || !reflect.DeepEqual(got, l.want) {
		r.Fatalf("the records are\n%+v, and should be\n%+v (%v)", got, l.want, err)
	}
	if report, err := l.s.Verify(ctx, maintain.Options{Examples: 5}); err != nil || report.Problems() != 0 {
		r.Fatalf("%+v, %v", report, err)
	}
	sorted, err := l.s.Find(model.Eq("group", "x")).OrderBy("hits desc").Slice(ctx)
	n := 0
	for _, x := range l.want {
		if x.Group == "x" {
			n++
		}
	}
	if err != nil || len(sorted) != n || !slices.IsSortedFunc(sorted, func(a, b ledger) int { return b.Hits - a.Hits }) {
		r.Fatalf("%d of %d, %v", len(sorted), n, err)
	}
}

// Whatever is put, counted and touched, the records are those of a map in memory, and the
// indexes agree. The model has no computed index, as that of TestAgainstMaps has: counters and
// times of expiry are changed by scripts of their own.
func TestPutAgainstMap(t *testing.T) {
	t.Parallel()
	layouts(t, "ledger", func(t *testing.T, client rueidis.Client, opt model.Options) {
		opt.IDs = model.ClientAssigned
		rapid.Check(t, func(r *rapid.T) {
			if err := client.Do(t.Context(), client.B().Flushdb().Build()).Error(); err != nil {
				r.Fatal(err)
			}
			l := &ledgers{t: t, s: store[ledger](t, client, opt), want: map[string]ledger{}}
			r.Repeat(map[string]func(*rapid.T){
				"put": l.put, "putMany": l.putMany, "save": l.save, "update": l.update,
				"incr": l.incr, "touch": l.touch, "remove": l.remove,
			})
			l.check(r)
		})
	})
}

// Many writers leave indexes that agree, and counters lose nothing and keep their bounds.
func TestPutAmongWriters(t *testing.T) {
	t.Parallel()
	layouts(t, "ledger", func(t *testing.T, client rueidis.Client, opt model.Options) {
		opt.IDs = model.ClientAssigned
		s := store[ledger](t, client, opt)
		ids := []string{"a", "b", "c"}
		for _, id := range ids {
			if _, err := s.Put(t.Context(), ledger{ID: id, Name: id, Hits: 9}); err != nil {
				t.Fatal(err)
			}
		}
		var taken, given atomic.Int64
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := range 25 {
					id := ids[(w+i)%3]
					var err error
					switch (w + i) % 5 {
					case 0:
						_, err = s.Put(t.Context(), ledger{ID: id, Name: id, Group: fmt.Sprint(i % 2), Hits: 5})
					case 1:
						_, err = s.Update(t.Context(), id, func(l *ledger) error { l.Group = fmt.Sprint("u", i%2); return nil })
					case 2:
						_, err = s.PutMany(t.Context(), []ledger{{ID: id, Name: id}, {ID: ids[i%3], Name: ids[i%3]}})
					case 3:
						if _, err = s.Incr(t.Context(), id, "hits", -2); err == nil {
							taken.Add(2)
						} else if errors.Is(err, model.ErrBound) {
							err = nil
						}
					case 4:
						if _, err = s.Incr(t.Context(), id, "hits", 1); err == nil {
							given.Add(1)
						} else if errors.Is(err, model.ErrBound) {
							err = nil
						}
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		sum := int64(0)
		for _, id := range ids {
			l, err := s.Get(t.Context(), id)
			if sum += int64(l.Hits); err != nil || l.Hits < -3 || l.Hits > 9 {
				t.Error(l, err)
			}
		}
		if want := 27 - taken.Load() + given.Load(); sum != want {
			t.Errorf("the counters sum up to %d, not %d", sum, want)
		}
		if r, err := s.Verify(t.Context(), maintain.Options{Examples: 5}); err != nil || r.Problems() != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// Put without an id creates a record, and with one that the counter has not given yet
// inserts it; the counter does not give it again.
func TestPutWithCounter(t *testing.T) {
	t.Parallel()
	layouts(t, "member", func(t *testing.T, client rueidis.Client, opt model.Options) {
		members := store[member](t, client, opt)
		m, err := members.Put(t.Context(), member{Email: "a"})
		if err != nil || m.ID != "1" {
			t.Fatal(m, err)
		}
		if _, err := members.Put(t.Context(), member{ID: "2", Email: "b"}); err != nil {
			t.Fatal(err)
		}
		if _, err := members.Put(t.Context(), member{ID: "2", Email: "B2"}); err != nil {
			t.Fatal(err)
		}
		if _, err := members.Put(t.Context(), member{ID: "02", Email: "c"}); !errors.Is(err, model.ErrValue) {
			t.Error(err)
		}
		all, err := members.PutMany(t.Context(), []member{{Email: "c"}, {ID: "1", Email: "a1"}, {Email: "d"}, {ID: "x", Email: "e"}, {Email: "b2"}})
		var many *model.ManyError
		if !errors.As(err, &many) || len(many.Refused) != 2 || many.Refused[0].Position != 3 || many.Refused[1].Position != 4 {
			t.Fatal(all, err)
		}
		got := map[string]string{}
		for m, err := range members.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got[m.Email] = m.ID
		}
		if len(got) != 4 || got["a1"] != "1" || got["B2"] != "2" || got["c"] != all[0].ID || got["d"] != all[2].ID {
			t.Error(got, all)
		}
		if r, err := members.Verify(t.Context(), maintain.Options{}); err != nil || r.Problems() != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// A Touch between what Update reads and what it writes is not lost, although the version stays.
func TestTouchWhileUpdated(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := store[ledger](t, client, model.Options{Name: "ledger"})
	l := createdOf(t, s, ledger{Name: "a"})
	touched := false
	_, err := s.Update(t.Context(), l.ID, func(l *ledger) error {
		l.Group = "x"
		if touched {
			return nil
		}
		touched = true
		return s.Touch(t.Context(), l.ID, 10*time.Hour)
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(t.Context(), l.ID)
	lives, err2 := client.Do(t.Context(), client.B().Pttl().Key("ledger:"+l.ID).Build()).AsInt64()
	if err != nil || err2 != nil || got.Group != "x" || time.Until(got.Expires) < 9*time.Hour || lives < (9*time.Hour).Milliseconds() {
		t.Errorf("%+v lives for %v ms; %v, %v", got, lives, err, err2)
	}
	l.Version = got.Version
	if _, err := s.Save(t.Context(), l); err != nil {
		t.Error(err)
	}
	if got, err = s.Get(t.Context(), l.ID); err != nil || time.Until(got.Expires) > time.Hour {
		t.Errorf("Save writes the whole record: %+v, %v", got, err)
	}
	if report, err := s.Verify(t.Context(), maintain.Options{Examples: 5}); err != nil || report.Problems() != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// Touch needs a record and a time, and nothing else of the record changes.
func TestTouchRefuses(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := store[ledger](t, client, model.Options{Name: "ledger"})
	l := createdOf(t, s, ledger{Name: "a"})
	if err := s.Touch(t.Context(), l.ID, 0); !errors.Is(err, model.ErrValue) {
		t.Error(err)
	}
	if err := store[member](t, client, model.Options{Name: "member"}).Touch(t.Context(), "1", time.Hour); !errors.Is(err, model.ErrValue) {
		t.Error(err)
	}
	if err := s.Touch(t.Context(), "99", time.Hour); !errors.Is(err, model.ErrNotFound) {
		t.Error(err)
	}
	if err := s.Touch(t.Context(), l.ID, 30*time.Millisecond); err != nil {
		t.Error(err)
	}
	if _, err := s.Save(t.Context(), l); err != nil && !errors.Is(err, model.ErrNotFound) {
		t.Error("Touch has changed the version:", err)
	}
	m := createdOf(t, s, ledger{Name: "b"})
	if err := s.Touch(t.Context(), m.ID, 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for there := true; there; {
		var err error
		if there, err = s.Has(t.Context(), m.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Create(context.Background(), ledger{Name: "b"}); err != nil {
		t.Error("the unique value of an expired record is free:", err)
	}
	if _, err := s.Patch(t.Context(), l.ID, map[string]any{"made": time.Now()}); !errors.Is(err, model.ErrValue) || !strings.Contains(err.Error(), "made") {
		t.Error(err)
	}
}
