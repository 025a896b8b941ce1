package collection

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
)

// TestLeaseIsNeverShort checks that rounding to milliseconds does not shorten a lease.
func TestLeaseIsNeverShort(t *testing.T) {
	t.Parallel()
	r, err := NewRing(client(t), "ring")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := r.Put(ctx, "item"); err != nil {
		t.Fatal(err)
	}
	for _, lease := range []time.Duration{3 * time.Millisecond, 3900 * time.Microsecond} {
		for i := range 60 {
			start := time.Now()
			l := takeNext(t, r, lease)
			if i%2 == 1 {
				start = time.Now()
				if err := l.Extend(ctx, lease); errors.Is(err, ErrLeaseOver) {
					continue
				} else if err != nil {
					t.Fatal(err)
				}
			}
			next := takeNext(t, r, time.Minute)
			if lasted := time.Since(start); lasted < lease {
				t.Fatalf("a lease of %v ended after %v", lease, lasted)
			}
			if err := next.Return(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestLeasedWithAWrongClock checks that the clock of the server decides whether a lease is over. In
// the test, the clock of this machine is off by 26 years.
func TestLeasedWithAWrongClock(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	synctest.Test(t, func(t *testing.T) {
		c := db.Client(t)
		r, err := NewRing(c, "ring")
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Put(t.Context(), "item"); err != nil {
			t.Fatal(err)
		}
		for lease, want := range map[time.Duration]int{time.Millisecond: 0, time.Hour: 1} {
			l := takeNext(t, r, lease)
			if want == 0 {
				waitOver(t, c, r)
			}
			if items, err := r.Leased(t.Context(), ""); err != nil || len(items) != want {
				t.Errorf("after a lease of %v, Leased = %v, %v; want %d items", lease, items, err, want)
			}
			if want == 1 {
				if err := l.Return(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// waitOver waits until the lease of the only item is over by the clock of the server.
func waitOver(t *testing.T, c rueidis.Client, r *Ring) {
	t.Helper()
	for {
		expiry, err := c.Do(t.Context(), c.B().Zscore().Key(r.set.Key).Member("item").Build()).AsFloat64()
		if err != nil {
			t.Fatal(err)
		}
		now, err := c.Do(t.Context(), c.B().Time().Build()).AsIntSlice()
		if err != nil {
			t.Fatal(err)
		}
		if float64(now[0]*1000+now[1]/1000) >= expiry {
			return
		}
	}
}

// takeNext takes the next item of a ring. It polls while all items are leased.
func takeNext(t *testing.T, r *Ring, lease time.Duration) *Lease {
	t.Helper()
	for {
		l, err := r.Take(t.Context(), lease)
		if empty := (*EmptyError)(nil); errors.As(err, &empty) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}

// TestLeaseOver checks that an expired lease cannot be used, even if no other worker has taken the
// item, and that the item is handed out again.
func TestLeaseOver(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	for name, use := range map[string]func(*Lease) error{
		"extend": func(l *Lease) error { return l.Extend(ctx, time.Hour) },
		"return": func(l *Lease) error { return l.Return(ctx) },
		"remove": func(l *Lease) error { return l.Remove(ctx) },
	} {
		r, err := NewRing(c, "ring:"+name)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Put(ctx, "item"); err != nil {
			t.Fatal(err)
		}
		l := takeNext(t, r, time.Millisecond)
		waitOver(t, c, r)
		for range 2 {
			if err := use(l); !errors.Is(err, ErrLeaseOver) {
				t.Errorf("%s: %v, want ErrLeaseOver", name, err)
			}
		}
		if n, err := r.Len(ctx); n != 1 || err != nil {
			t.Errorf("%s: Len = %d, %v; want 1", name, n, err)
		}
		if again, err := r.Take(ctx, time.Minute); err != nil || again.Item != "item" {
			t.Errorf("%s: Take = %+v, %v; want item", name, again, err)
		}
	}
}
