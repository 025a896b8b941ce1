package model_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/model"
)

// wait waits until the server's clock has passed a moment, by asking it.
func passed(t *testing.T, client rueidis.Client, moment time.Time) {
	t.Helper()
	for {
		now, err := client.Do(t.Context(), client.B().Time().Build()).AsIntSlice()
		if err != nil {
			t.Fatal(err)
		}
		left := moment.Add(time.Millisecond).Sub(time.Unix(now[0], now[1]*1000))
		if left < 0 {
			return
		}
		time.Sleep(left)
	}
}

// An expired record leaves nothing once it is swept, and its unique values are free
// before that.
func TestExpiry(t *testing.T) {
	t.Parallel()
	layouts(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[citizen](t, client, opt)
		end := time.Now().Add(300 * time.Millisecond)
		var wg sync.WaitGroup
		for i := range 250 {
			wg.Go(func() {
				if _, err := citizens.Create(t.Context(), citizen{Email: fmt.Sprint(i, "@x"), Tags: []string{"a", "b"}, Expires: end}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i := range 3 {
			if _, err := citizens.Create(t.Context(), citizen{Email: fmt.Sprint(i, "@stays")}); err != nil {
				t.Fatal(err)
			}
		}
		passed(t, client, end)
		if _, err := citizens.Get(t.Context(), "1"); !errors.Is(err, model.ErrNotFound) {
			t.Fatalf("it is there still: %v", err)
		}
		// Not swept yet, and its address is free.
		if _, err := citizens.Create(t.Context(), citizen{Email: "7@X"}); err != nil {
			t.Fatal(err)
		}
		n, err := citizens.Sweep(t.Context())
		if want := 250; err != nil || n != want && n != want-1 {
			t.Fatalf("%d were swept, %v", n, err)
		}
		if n := len(agree(t, client, opt, citizens)); n != 4 {
			t.Fatalf("%d records are left", n)
		}
		if n, err := citizens.Sweep(t.Context()); n != 0 || err != nil {
			t.Fatalf("%d were swept again, %v", n, err)
		}
	})
}

// A record whose expiry is postponed or removed stays.
func TestExpiryIsMoved(t *testing.T) {
	t.Parallel()
	layouts(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[citizen](t, client, opt)
		end := time.Now().Add(3 * time.Second) // the changes before it take a while on a busy machine
		var ids []string
		for i := range 3 {
			c, err := citizens.Create(t.Context(), citizen{Email: fmt.Sprint(i, "@x"), Expires: end})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, c.ID)
		}
		for i, later := range []time.Time{{}, end.Add(time.Hour)} {
			if _, err := citizens.Update(t.Context(), ids[i], func(c *citizen) error { c.Expires = later; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		passed(t, client, end)
		if n, err := citizens.Sweep(t.Context()); n != 1 || err != nil {
			t.Fatalf("%d were swept, %v", n, err)
		}
		if left := agree(t, client, opt, citizens); len(left) != 2 {
			t.Fatalf("%v are left", left)
		}
	})
}

// A record that was already at its end when it was written was never there.
func TestExpiredWhenWritten(t *testing.T) {
	t.Parallel()
	layouts(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[citizen](t, client, opt)
		for range 2 {
			c, err := citizens.Create(t.Context(), citizen{Email: "a@x", Expires: time.Unix(-5, 0)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := citizens.Get(t.Context(), c.ID); !errors.Is(err, model.ErrNotFound) {
				t.Fatal(err)
			}
			if err := citizens.Delete(t.Context(), c.ID); !errors.Is(err, model.ErrNotFound) {
				t.Fatal(err)
			}
		}
		if _, err := citizens.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		agree(t, client, opt, citizens)
	})
}

func TestSweepEvery(t *testing.T) {
	t.Parallel()
	layouts(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		citizens := store[citizen](t, client, opt)
		if err := citizens.SweepEvery(t.Context(), 0); err == nil {
			t.Error("it sweeps all the time")
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- citizens.SweepEvery(ctx, time.Millisecond) }()
		end := time.Now().Add(20 * time.Millisecond)
		if _, err := citizens.Create(t.Context(), citizen{Email: "a@x", Expires: end}); err != nil {
			t.Fatal(err)
		}
		passed(t, client, end)
		for {
			keys, err := client.Do(t.Context(), client.B().Keys().Pattern("*.content").Build()).AsStrSlice()
			if err != nil {
				t.Fatal(err)
			}
			// What it had in another partition is given back last.
			claims, err := client.Do(t.Context(), client.B().Keys().Pattern("*.by.email").Build()).AsStrSlice()
			if err != nil {
				t.Fatal(err)
			}
			if len(keys)+len(claims) == 0 {
				break
			}
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
		agree(t, client, opt, citizens)
	})
}
