package suggest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"retwis/index"
	"retwis/internal/redistest"
)

// collect starts callers and waits until all are queued, as if a round were under way.
func collect(t *testing.T, x *Index, n int, call func(i int)) (wait func()) {
	t.Helper()
	x.writers[0].mu.Lock()
	x.writers[0].busy = true
	x.writers[0].mu.Unlock()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { call(i) })
	}
	for queued := 0; queued < n; {
		x.writers[0].mu.Lock()
		queued = len(x.writers[0].queue)
		x.writers[0].mu.Unlock()
		runtime.Gosched()
	}
	return wg.Wait
}

// Concurrent callers share a round trip, and each gets its own count.
func TestCallersShareRound(t *testing.T) {
	t.Parallel()
	db := redistest.Own(t)
	client, ctx := db.Client(t), t.Context()
	x := open(t, client, "words", Options{})
	if err := x.Block(ctx, "damn"); err != nil {
		t.Fatal(err)
	}
	addAll(t, x, "put")
	calls := func() int64 {
		text, err := client.Do(ctx, client.B().Info().Section("commandstats").Build()).ToString()
		if err != nil {
			t.Fatal(err)
		}
		var n int64
		if _, rest, ok := strings.Cut(text, "cmdstat_evalsha:calls="); ok {
			_, err = fmt.Sscan(strings.SplitN(rest, ",", 2)[0], &n)
		}
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := calls()
	const n = 300
	wait := collect(t, x, n, func(i int) {
		term := fmt.Sprint("term ", i/2)
		switch i {
		case 0:
			if stored, err := x.Put(ctx, Suggestion{"put", 7, "id"}); !stored || err != nil {
				t.Error(stored, err)
			}
		case 1:
			if count, err := x.Add(ctx, "Damn!", 3); count != 0 || err != nil {
				t.Error(count, err)
			}
		default:
			if count, err := x.Add(ctx, term, 2); count != 4 || err != nil {
				t.Error(term, count, err)
			}
		}
	})
	x.updates().rounds(&x.writers[0], x.writers[0].next())
	wait()
	if got := calls() - before; got != 2 {
		t.Errorf("%d scripts for %d terms, want 2", got, n/2)
	}
	if s, err := x.Get(ctx, "put"); err != nil || s != (Suggestion{"put", 7, "id"}) {
		t.Error(s, err)
	}
	if total, err := x.Len(ctx); err != nil || total != n/2 {
		t.Error(total, err)
	}
	// The next caller is alone.
	if count, err := x.Add(ctx, "term 9", 1); count != 5 || err != nil {
		t.Error(count, err)
	}
	verified(t, x)
}

// Many callers lose no search.
func TestConcurrentAdds(t *testing.T) {
	t.Parallel()
	x, _, ctx := testIndex(t, Options{Partitions: 3})
	const callers, each = 32, 40
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for j := range each {
				if _, err := x.Add(ctx, fmt.Sprint("term ", (i+j)%7), 1); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	sum := int64(0)
	for _, n := range counts(t, x) {
		sum += n
	}
	if sum != callers*each {
		t.Errorf("%d searches, want %d", sum, callers*each)
	}
	verified(t, x)
	for i := range x.writers {
		w := &x.writers[i]
		for busy := true; busy; { // the last round ends after its callers
			w.mu.Lock()
			busy = w.busy
			w.mu.Unlock()
			runtime.Gosched()
		}
	}
}

// Callers do not wait for the round of another partition, whose server may not answer.
func TestPartitionsDoNotWait(t *testing.T) {
	t.Parallel()
	x, _, ctx := testIndex(t, Options{Partitions: 3})
	for i := range x.writers[1:] {
		x.writers[i].busy = true
	}
	n := 0
	for i := range 30 {
		r, err := x.updates().request(Suggestion{Term: fmt.Sprint("term ", i), Count: 1}, false)
		if err != nil {
			t.Fatal(err)
		}
		if r.part != 2 {
			continue
		}
		n++
		if count, err := x.updates().submit(ctx, r); count != 1 || err != nil {
			t.Fatal(count, err)
		}
	}
	if n == 0 {
		t.Fatal("no term is in partition 2")
	}
}

// A caller who leaves before its round is not counted; the others are.
func TestCallerLeavesBeforeRound(t *testing.T) {
	t.Parallel()
	x, _, ctx := testIndex(t, Options{})
	cause := errors.New("no longer needed")
	leaving, leave := context.WithCancelCause(ctx)
	left := make(chan struct{})
	wait := collect(t, x, 2, func(i int) {
		if i == 0 {
			defer close(left)
			if _, err := x.Add(leaving, "left", 1); !errors.Is(err, cause) || !strings.Contains(err.Error(), "not counted") {
				t.Error(err)
			}
		} else if count, err := x.Add(ctx, "stays", 1); count != 1 || err != nil {
			t.Error(count, err)
		}
	})
	leave(cause)
	<-left
	x.updates().rounds(&x.writers[0], x.writers[0].next())
	wait()
	if _, err := x.Get(ctx, "left"); !errors.Is(err, index.ErrNotFound) {
		t.Error(err)
	}
	if _, err := x.Add(leaving, "left", 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Callers return when their context ends, though the server does not answer; the round
// ends with the last of them. An invalid term is the error of its caller alone.
func TestServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	db := redistest.Own(t)
	client, other, ctx := db.Client(t), db.Client(t), t.Context()
	x := open(t, client, "words", Options{})
	addAll(t, x, "first")
	do(t, other, "CLIENT", "PAUSE", "600000", "WRITE")
	ended, end := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := x.Add(ended, fmt.Sprint("term ", i), 1); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	for queued := 0; queued < 19; { // one is under way
		x.writers[0].mu.Lock()
		queued = len(x.writers[0].queue)
		x.writers[0].mu.Unlock()
		runtime.Gosched()
	}
	if _, err := x.Add(ctx, "!", 1); !errors.Is(err, index.ErrValue) {
		t.Error(err)
	}
	end()
	wg.Wait()
	do(t, other, "CLIENT", "UNPAUSE")
	if count, err := x.Add(ctx, "first", 1); count != 2 || err != nil {
		t.Error(count, err)
	}
	verified(t, x)
}

// The last callers of a round under way cancel it.
func TestRoundEndsWithItsCallers(t *testing.T) {
	t.Parallel()
	db := redistest.Own(t)
	client, other, ctx := db.Client(t), db.Client(t), t.Context()
	x := open(t, client, "words", Options{})
	addAll(t, x, "first")
	ended, end := context.WithCancel(ctx)
	wait := collect(t, x, 3, func(i int) {
		if _, err := x.Add(ended, fmt.Sprint("term ", i), 1); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "may have been counted") {
			t.Error(err)
		}
	})
	do(t, other, "CLIENT", "PAUSE", "600000", "WRITE")
	batch := x.writers[0].next()
	done := make(chan struct{})
	go func() {
		x.updates().rounds(&x.writers[0], batch)
		close(done)
	}()
	for sent := false; !sent; {
		x.writers[0].mu.Lock()
		sent = batch[0].round != nil
		x.writers[0].mu.Unlock()
		runtime.Gosched()
	}
	end()
	wait()
	<-done
	do(t, other, "CLIENT", "UNPAUSE")
}

// Every caller of a round gets its error.
func TestRoundFails(t *testing.T) {
	t.Parallel()
	x, client, ctx := testIndex(t, Options{})
	do(t, client, "ZADD", "words", "0", "banana:1:Banana")
	wait := collect(t, x, 300, func(i int) {
		if _, err := x.Add(ctx, fmt.Sprint("term ", i), 1); !errors.Is(err, index.ErrForeign) {
			t.Error(err)
		}
	})
	x.updates().rounds(&x.writers[0], x.writers[0].next())
	wait()
}
