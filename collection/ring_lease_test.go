package collection

import (
	"errors"
	"testing"
	"time"
)

// A lease lasts at least as long as was asked for, whatever part of a millisecond it
// began in.
func TestLeaseLastsInFull(t *testing.T) {
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
			begin := time.Now()
			l := taken(t, r, lease)
			if i%2 == 1 {
				begin = time.Now()
				if err := l.Extend(ctx, lease); errors.Is(err, ErrLeaseOver) {
					continue
				} else if err != nil {
					t.Fatal(err)
				}
			}
			next := taken(t, r, time.Minute)
			if lasted := time.Since(begin); lasted < lease {
				t.Fatalf("a lease of %v was over after %v", lease, lasted)
			}
			if err := next.Return(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// taken takes the next item of a ring as soon as possible.
func taken(t *testing.T, r *Ring, lease time.Duration) *Lease {
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
