package turns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// joined starts a request of a place, and waits until it is queued or done.
func joined(t *testing.T, q *Queue, ctx context.Context, place string, done func(err error)) {
	t.Helper()
	go func() { done(q.Acquire(ctx, place, 1)) }()
	synctest.Wait()
}

// However many requests of one place wait, the first request of another place is next but one.
func TestPlacesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &Queue{Capacity: 1, Max: 100, MaxPlace: 50}
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
		if err := q.Acquire(t.Context(), "", 1); err != nil {
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
			q.Release(1)
			synctest.Wait()
		}
		if got, want := strings.Join(order, " "), "eve! f0 ada ben f1 f2 f3 f4"; got != want {
			t.Errorf("served %s, want %s", got, want)
		}
		if q.running != 0 || q.Waiting() != 0 || len(q.places) != 0 || len(q.turns) != 0 {
			t.Errorf("left over: %+v", q)
		}
	})
}

// A place can only use a bounded part of the queue, and a full queue rejects the last request of
// the place with the most.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &Queue{Capacity: 1, Max: 6, MaxPlace: 4}
		if err := q.Acquire(t.Context(), "", 1); err != nil {
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
		join("c") // the queue is full: the last of "flood" is rejected
		join("d")
		join("b") // it has as many as "flood": nobody is rejected for it
		if fmt.Sprint(busy) != "map[b:1 flood:4]" || q.Waiting() != 6 {
			t.Errorf("turned away %v, %d wait", busy, q.Waiting())
		}
		for range 7 {
			q.Release(1)
			synctest.Wait()
		}
		if q.running != 0 || len(q.turns) != 0 {
			t.Errorf("left over: %+v", q)
		}
	})
}

// A large request is not overtaken by small ones, and when it leaves, they continue immediately.
func TestLargeRequestsAreNotStarved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &Queue{Capacity: 10, Max: 100, MaxPlace: 50}
		var mu sync.Mutex
		var order []string
		join := func(ctx context.Context, name string, weight int64) {
			go func() {
				err := q.Acquire(ctx, name, weight)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					name += "!"
				}
				order = append(order, name)
			}()
			synctest.Wait()
		}
		join(t.Context(), "first", 6)
		join(t.Context(), "second", 4)
		join(t.Context(), "large", 9)
		gone, cancel := context.WithCancel(t.Context())
		join(gone, "larger", 10)
		join(t.Context(), "small", 1)
		q.Release(4) // room for small, but it is not its turn
		synctest.Wait()
		q.Release(6)
		synctest.Wait()
		cancel()
		synctest.Wait()
		slices.Sort(order[3:])
		if got, want := strings.Join(order, " "), "first second large larger! small"; got != want {
			t.Errorf("served %s, want %s", got, want)
		}
		q.Release(10)
		if q.running != 0 || q.Waiting() != 0 {
			t.Errorf("left over: %+v", q)
		}
	})
}
