package model_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// ledger has indexed counters and times.
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

// Concurrent writers leave consistent indexes, and counters lose no increments and stay within
// their bounds.
func TestPutDuringWrites(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "ledger", func(t *testing.T, client rueidis.Client, opt model.Options) {
		opt.IDs = model.ClientAssigned
		s := store[ledger](t, client, opt)
		ids := []string{"a", "b", "c"}
		for _, id := range ids {
			require.OK(t)(s.Put(t.Context(), ledger{ID: id, Name: id, Hits: 9}))
		}
		var subtracted, added atomic.Int64
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
							subtracted.Add(2)
						} else if errors.Is(err, model.ErrBound) {
							err = nil
						}
					case 4:
						if _, err = s.Incr(t.Context(), id, "hits", 1); err == nil {
							added.Add(1)
						} else if errors.Is(err, model.ErrBound) {
							err = nil
						}
					}
					checkErr(t, err)
				}
			})
		}
		wg.Wait()
		sum := int64(0)
		for _, id := range ids {
			l, err := s.Get(t.Context(), id)
			if sum += int64(l.Hits); err != nil || l.Hits < -3 || l.Hits > 9 {
				t.Errorf("record %s: %+v, %v; want hits between -3 and 9", id, l, err)
			}
		}
		if want := 27 - subtracted.Load() + added.Load(); sum != want {
			t.Errorf("sum of the counters = %d, want %d", sum, want)
		}
		checkVerify(t, s)
	})
}

// Put without an id creates a record. Put with an id that the counter has not reached inserts the
// record, and the counter skips that id.
func TestPutWithCounter(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "member", func(t *testing.T, client rueidis.Client, opt model.Options) {
		members := store[member](t, client, opt)
		m, err := members.Put(t.Context(), member{Email: "a"})
		if err != nil || m.ID != "1" {
			t.Fatalf("Put: %+v, %v; want id 1", m, err)
		}
		require.OK(t)(members.Put(t.Context(), member{ID: "2", Email: "b"}))
		require.OK(t)(members.Put(t.Context(), member{ID: "2", Email: "B2"}))
		require.Fails(t, model.ErrValue)(members.Put(t.Context(), member{ID: "02", Email: "c"}))
		all, err := members.PutMany(t.Context(), []member{{Email: "c"}, {ID: "1", Email: "a1"}, {Email: "d"}, {ID: "x", Email: "e"}, {Email: "b2"}})
		var many *model.ManyError
		if !errors.As(err, &many) || len(many.Refused) != 2 || many.Refused[0].Position != 3 || many.Refused[1].Position != 4 {
			t.Fatalf("PutMany: %+v, %v; want positions 3 and 4 refused", all, err)
		}
		got := map[string]string{}
		for m, err := range members.All(t.Context()) {
			require.OK(t)(err)
			got[m.Email] = m.ID
		}
		if len(got) != 4 || got["a1"] != "1" || got["B2"] != "2" || got["c"] != all[0].ID || got["d"] != all[2].ID {
			t.Errorf("ids by e-mail address: %v, after PutMany returned %+v", got, all)
		}
		checkVerify(t, members)
	})
}

// Put with the id of an expired record can claim the unique values of that record, even if another
// record has had these values since.
func TestPutAfterExpiry(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(ctx context.Context, s *model.Store[citizen], c citizen) error{
		"Put": func(ctx context.Context, s *model.Store[citizen], c citizen) error { return errOf(s.Put(ctx, c)) },
		"PutMany": func(ctx context.Context, s *model.Store[citizen], c citizen) error {
			return errOf(s.PutMany(ctx, []citizen{c}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
				opt.IDs = model.ClientAssigned
				citizens := store[citizen](t, client, opt)
				mustCreate(t, citizens, citizen{ID: "a", Email: "e@x", Phone: ptr("1"), Expires: time.Now().Add(-time.Minute)})
				mustCreate(t, citizens, citizen{ID: "b", Email: "e@x", Phone: ptr("1")})
				require.OK(t)(citizens.Delete(t.Context(), "b"))
				require.OK(t)(put(t.Context(), citizens, citizen{ID: "a", Email: "e@x", Phone: ptr("1")}))
				require.Fails(t, model.ErrTaken)(citizens.Create(t.Context(), citizen{ID: "b", Email: "e@x"}))
				agree(t, client, opt, citizens)
			})
		})
	}
}

// A record that has expired, or that another program has deleted, can be written again, whichever
// of its unique values it still has.
func TestWriteAfterEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(ctx context.Context, c rueidis.Client, key string) error{
		"expired": func(ctx context.Context, c rueidis.Client, key string) error { return nil },
		"deleted": func(ctx context.Context, c rueidis.Client, key string) error {
			return c.Do(ctx, c.B().Del().Key(key).Build()).Error()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
				opt.IDs = model.ClientAssigned
				citizens := store[citizen](t, client, opt)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // Put retries without end
				defer cancel()
				put := func(c citizen) error { return errOf(citizens.Put(ctx, c)) }
				putMany := func(c citizen) error { return errOf(citizens.PutMany(ctx, []citizen{c})) }
				create := func(c citizen) error { return errOf(citizens.Create(ctx, c)) }
				for i, next := range slices.Repeat([]citizen{
					{Email: "e@x", Phone: ptr("1")},
					{Email: "e@x", Phone: ptr("2")},
					{Email: "f@x", Phone: ptr("1")},
					{Email: "f@x"},
					{Email: "f@x", Phone: ptr("2")},
				}, 3) {
					first := citizen{ID: fmt.Sprint("a", i), Email: "e@x", Phone: ptr("1")}
					if name == "expired" {
						first.Expires = time.Now().Add(-time.Minute)
					}
					mustCreate(t, citizens, first)
					require.OK(t)(end(ctx, client, recordKey(opt, first.ID)))
					next.ID = first.ID
					if err := []func(citizen) error{put, putMany, create}[i/5](next); err != nil {
						t.Fatalf("write %d: %v", i, err)
					}
					agree(t, client, opt, citizens)
					require.OK(t)(citizens.Delete(ctx, first.ID))
				}
			})
		})
	}
}

// A Touch between the read and the write of an Update is not lost, although the version does
// not change.
func TestTouchWhileUpdated(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := store[ledger](t, client, model.Options{Name: "ledger"})
	l := mustCreate(t, s, ledger{Name: "a"})
	touched := false
	_, err := s.Update(t.Context(), l.ID, func(l *ledger) error {
		l.Group = "x"
		if touched {
			return nil
		}
		touched = true
		return s.Touch(t.Context(), l.ID, 10*time.Hour)
	})
	require.OK(t)(err)
	got, err := s.Get(t.Context(), l.ID)
	ttl, err2 := client.Do(t.Context(), client.B().Pttl().Key("ledger:"+l.ID).Build()).AsInt64()
	if err != nil || err2 != nil || got.Group != "x" || time.Until(got.Expires) < 9*time.Hour || ttl < (9*time.Hour).Milliseconds() {
		t.Errorf("%+v, %v; TTL %d ms, %v; want group x and about 10h", got, err, ttl, err2)
	}
	l.Version = got.Version
	checkErr(t, errOf(s.Save(t.Context(), l)))
	if got, err = s.Get(t.Context(), l.ID); err != nil || time.Until(got.Expires) > time.Hour {
		t.Errorf("Save did not overwrite the expiry: %+v, %v", got, err)
	}
	checkVerify(t, s)
}

// Touch needs an existing record and a valid time, and changes nothing else.
func TestTouchRefuses(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := store[ledger](t, client, model.Options{Name: "ledger"})
	l := mustCreate(t, s, ledger{Name: "a"})
	require.Fails(t, model.ErrValue)(s.Touch(t.Context(), l.ID, 0))
	require.Fails(t, model.ErrValue)(store[member](t, client, model.Options{Name: "member"}).Touch(t.Context(), "1", time.Hour))
	require.Fails(t, model.ErrNotFound)(s.Touch(t.Context(), "99", time.Hour))
	checkErr(t, s.Touch(t.Context(), l.ID, 30*time.Millisecond))
	if _, err := s.Save(t.Context(), l); err != nil && !errors.Is(err, model.ErrNotFound) {
		t.Error("Touch has changed the version:", err)
	}
	m := mustCreate(t, s, ledger{Name: "b"})
	require.OK(t)(s.Touch(t.Context(), m.ID, 20*time.Millisecond))
	for there := true; there; {
		var err error
		if there, err = s.Has(t.Context(), m.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Create(context.Background(), ledger{Name: "b"}); err != nil {
		t.Error("the unique value of an expired record is not free:", err)
	}
	require.Fails(t, model.ErrValue, "made")(s.Patch(t.Context(), l.ID, map[string]any{"made": time.Now()}))
}
