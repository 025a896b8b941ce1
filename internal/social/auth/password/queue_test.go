package password

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/alexedwards/argon2id"
)

// joined starts a request of a place, and waits until it waits in the queue or is done.
func joined(t *testing.T, q *queue, ctx context.Context, place string, done func(err error)) {
	t.Helper()
	go func() { done(q.acquire(WithPlace(ctx, place))) }()
	synctest.Wait()
}

// However many requests of one place wait, the first of another place is next but one.
func TestPlacesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{slots: 1, max: 100, maxPlace: 50}
		var mu sync.Mutex
		var order []string
		served := func(name string) func(error) {
			return func(err error) {
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					name += "!"
				}
				order = append(order, name)
			}
		}
		if err := q.acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			joined(t, q, t.Context(), "flood", served(fmt.Sprint("f", i)))
		}
		joined(t, q, t.Context(), "ada", served("ada"))
		joined(t, q, t.Context(), "ben", served("ben"))
		gone, cancel := context.WithCancel(t.Context())
		joined(t, q, gone, "eve", served("eve"))
		cancel()
		synctest.Wait()
		for range 8 {
			q.release()
			synctest.Wait()
		}
		if got, want := strings.Join(order, " "), "eve! f0 ada ben f1 f2 f3 f4"; got != want {
			t.Errorf("served %s, want %s", got, want)
		}
		if q.running != 0 || q.length() != 0 || len(q.places) != 0 || len(q.turns) != 0 {
			t.Errorf("left over: %+v", q)
		}
	})
}

// A place has a bounded part of the queue, and a full queue turns away the last of the
// place with the most.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{slots: 1, max: 6, maxPlace: 4}
		if err := q.acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		busy := map[string]int{}
		join := func(place string) {
			joined(t, q, t.Context(), place, func(err error) {
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, ErrBusy) {
					busy[place]++
				}
			})
		}
		for range 6 {
			join("flood")
		}
		join("b")
		join("b")
		join("c") // the queue is full: the last of "flood" goes
		join("d")
		join("b") // it has as many as "flood": nobody goes for it
		if fmt.Sprint(busy) != "map[b:1 flood:4]" || q.length() != 6 {
			t.Errorf("turned away %v, %d wait", busy, q.length())
		}
		for range 7 {
			q.release()
			synctest.Wait()
		}
		if q.running != 0 || len(q.turns) != 0 {
			t.Errorf("left over: %+v", q)
		}
	})
}

// The hasher takes the place from the context.
func TestHasherIsFair(t *testing.T) {
	t.Parallel()
	h, err := NewHasher(&argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 8, KeyLength: 16}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.queue.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for range waitersPerPlace + 3 {
		wg.Go(func() {
			if _, err := h.Hash(WithPlace(t.Context(), "flood"), "password"); errors.Is(err, ErrBusy) {
				mu.Lock()
				defer mu.Unlock()
				refused++
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Go(func() {
		if _, _, err := h.Verify(WithPlace(t.Context(), "ada"), "password", ""); err != nil {
			t.Error(err)
		}
	})
	for {
		mu.Lock()
		all := refused == 3 && h.Waiting() == waitersPerPlace+1
		mu.Unlock()
		if all {
			break
		}
	}
	h.release()
	wg.Wait()
	if h.Waiting() != 0 {
		t.Errorf("%d still wait", h.Waiting())
	}
}
