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

// startAcquire starts a request of a place, and waits until the request is queued or done.
func startAcquire(t *testing.T, q *Queue, ctx context.Context, place string, done func(err error)) {
	t.Helper()
	go func() { done(q.Acquire(ctx, place, 1)) }()
	synctest.Wait()
}

// Places take turns, so that the first request of a place does not wait for all requests of another
// place.
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
			startAcquire(t, q, t.Context(), "flood", served(fmt.Sprint("f", i)))
		}
		startAcquire(t, q, t.Context(), "ada", served("ada"))
		startAcquire(t, q, t.Context(), "ben", served("ben"))
		ctx, cancel := context.WithCancel(t.Context())
		startAcquire(t, q, ctx, "eve", served("eve"))
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
			t.Errorf("the queue is not empty at the end: %+v", q)
		}
	})
}

// A place can use only a part of the queue, and a full queue rejects the last request of the place
// with the most requests.
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
			startAcquire(t, q, t.Context(), place, func(err error) {
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
		join("c") // the queue is full, so the last request of "flood" is rejected
		join("d")
		join("b") // "b" already has as many requests as "flood", so its request is rejected
		if fmt.Sprint(busy) != "map[b:1 flood:4]" || q.Waiting() != 6 {
			t.Errorf("rejected %v, %d waiting", busy, q.Waiting())
		}
		for range 7 {
			q.Release(1)
			synctest.Wait()
		}
		if q.running != 0 || len(q.turns) != 0 {
			t.Errorf("the queue is not empty at the end: %+v", q)
		}
	})
}

// Small requests do not overtake a large request, and continue immediately when the large request
// is canceled.
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
		ctx, cancel := context.WithCancel(t.Context())
		join(ctx, "larger", 10)
		join(t.Context(), "small", 1)
		q.Release(4) // enough for "small", but "large" comes first
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
			t.Errorf("the queue is not empty at the end: %+v", q)
		}
	})
}
