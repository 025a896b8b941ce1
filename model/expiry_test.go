package model_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

// waitUntil waits until the server's clock is past a moment.
func waitUntil(t *testing.T, client rueidis.Client, moment time.Time) {
	t.Helper()
	for {
		now, err := client.Do(t.Context(), client.B().Time().Build()).AsIntSlice()
		require.OK(t)(err)
		left := moment.Add(time.Millisecond).Sub(time.Unix(now[0], now[1]*1000))
		if left < 0 {
			return
		}
		time.Sleep(left)
	}
}

// Sweep removes everything of an expired record, whose unique values are free even before the
// sweep.
func TestExpiry(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[citizen](t, client, opt)
		end := time.Now().Add(300 * time.Millisecond)
		var wg sync.WaitGroup
		for i := range 250 {
			wg.Go(func() {
				checkErr(t, errOf(citizens.Create(t.Context(), citizen{Email: fmt.Sprint(i, "@x"), Tags: []string{"a", "b"}, Expires: end})))
			})
		}
		wg.Wait()
		for i := range 3 {
			mustCreate(t, citizens, citizen{Email: fmt.Sprint(i, "@stays")})
		}
		waitUntil(t, client, end)
		if _, err := citizens.Get(t.Context(), "1"); !errors.Is(err, model.ErrNotFound) {
			t.Fatalf("Get of an expired record: %v; want ErrNotFound", err)
		}
		// The address is free although the record has not been swept.
		mustCreate(t, citizens, citizen{Email: "7@X"})
		n, err := citizens.Sweep(t.Context())
		if want := 250; err != nil || n != want && n != want-1 {
			t.Fatalf("Sweep = %d, %v; want %d or %d", n, err, want, want-1)
		}
		if n := len(agree(t, client, opt, citizens)); n != 4 {
			t.Fatalf("%d records are left, want 4", n)
		}
		if n, err := citizens.Sweep(t.Context()); n != 0 || err != nil {
			t.Fatalf("second Sweep = %d, %v; want 0", n, err)
		}
	})
}

// A record whose expiry is postponed or removed stays.
func TestExpiryIsMoved(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[citizen](t, client, opt)
		var end time.Time
		for lease, moved := 100*time.Millisecond, false; !moved; lease *= 2 { // retry if a record expires before its expiry is moved
			_, err := citizens.Find().DeleteAll(t.Context(), nil)
			_, err2 := citizens.Sweep(t.Context())
			require.OK(t)(errors.Join(err, err2))
			end = time.Now().Add(lease)
			var ids []string
			for i := range 3 {
				ids = append(ids, mustCreate(t, citizens, citizen{Email: fmt.Sprint(i, "@x"), Expires: end}).ID)
			}
			moved = true
			for i, later := range []time.Time{{}, end.Add(time.Hour)} {
				_, err := citizens.Update(t.Context(), ids[i], func(c *citizen) error { c.Expires = later; return nil })
				if moved = moved && err == nil; err != nil && !errors.Is(err, model.ErrNotFound) {
					t.Fatal(err)
				}
			}
			if !moved {
				waitUntil(t, client, end)
			}
		}
		waitUntil(t, client, end)
		if n, err := citizens.Sweep(t.Context()); n != 1 || err != nil {
			t.Fatalf("Sweep = %d, %v; want 1", n, err)
		}
		if left := agree(t, client, opt, citizens); len(left) != 2 {
			t.Fatalf("records %v are left, want 2", left)
		}
	})
}

func TestSweepEvery(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[citizen](t, client, opt)
		if err := citizens.SweepEvery(t.Context(), 0); err == nil {
			t.Error("SweepEvery accepts an interval of 0")
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- citizens.SweepEvery(ctx, time.Millisecond) }()
		end := time.Now().Add(20 * time.Millisecond)
		mustCreate(t, citizens, citizen{Email: "a@x", Expires: end})
		waitUntil(t, client, end)
		for {
			keys, err := client.Do(t.Context(), client.B().Keys().Pattern("*.content").Build()).AsStrSlice()
			require.OK(t)(err)
			// Unique values in other partitions are released last.
			claims, err := client.Do(t.Context(), client.B().Keys().Pattern("*.by.email").Build()).AsStrSlice()
			require.OK(t)(err)
			if len(keys)+len(claims) == 0 {
				break
			}
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("SweepEvery: %v; want Canceled", err)
		}
		agree(t, client, opt, citizens)
	})
}

// visit does not expire.
type visit struct {
	ID    string     `redis:",id"`
	Until time.Time  `redis:"until"`
	Pages model.Set  `redis:"pages"`
	Steps model.List `redis:"steps"`
}

// expiringVisit is a visit that expires at its end.
type expiringVisit struct {
	ID    string     `redis:",id"`
	Until time.Time  `redis:"until,expires"`
	Pages model.Set  `redis:"pages"`
	Steps model.List `redis:"steps"`
}

// Records, sets and lists expire according to the declaration, even after a migration or repair
// has changed it.
func TestCollectionsExpireWithRecord(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "visit", func(t *testing.T, client rueidis.Client, opt model.Options) {
		ctx := t.Context()
		visits := store[visit](t, client, opt)
		v := mustCreate(t, visits, visit{Until: time.Now().Add(time.Hour)})
		require.OK(t)(visits.Set("pages", v.ID).Put(ctx, "home"))
		require.OK(t)(visits.List("steps", v.ID).PushBack(ctx, "home"))
		keys := []string{recordKey(opt, v.ID), collectionKey(opt, "pages", v.ID), collectionKey(opt, "steps", v.ID)}
		checkTTL := func(when string, want time.Duration) {
			t.Helper()
			for _, key := range keys {
				ms, err := client.Do(ctx, client.B().Pttl().Key(key).Build()).AsInt64()
				left := time.Duration(ms) * time.Millisecond
				if err != nil || want == 0 && ms != -1 || want > 0 && (left < want-time.Minute || left > want) {
					t.Errorf("%s: the TTL of %s is %d ms, want %v; %v", when, key, ms, want, err)
				}
			}
		}
		expiring := store[expiringVisit](t, client, opt)
		require.OK(t)(expiring.Migrate(ctx, maintain.Options{}))
		checkTTL("with an expiry", time.Hour)
		redisDo(t, client, "HSET", keys[0], "until", v.Until.Add(time.Hour).Format(time.RFC3339Nano))
		checkRepair := func(when string) {
			t.Helper()
			if r, err := expiring.Repair(ctx, maintain.Options{}); err != nil || r.Stale != 1 || r.Repaired != 1 {
				t.Errorf("%s: %+v, %v", when, r, err)
			}
			checkTTL(when, 2*time.Hour)
		}
		checkRepair("the record repaired")
		redisDo(t, client, "PERSIST", keys[1])
		checkRepair("a set repaired")
		visits = store[visit](t, client, opt)
		require.OK(t)(visits.Migrate(ctx, maintain.Options{}))
		checkTTL("without an expiry", 0)
		checkVerify(t, visits)
	})
}
