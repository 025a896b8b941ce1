package watched

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/store"
)

// newest is how many elements of a list are kept in memory.
const newest = 201

// list is a list on a server, which counts its reads.
type list struct {
	mu    sync.Mutex
	ids   []int64
	reads int
	away  bool
}

func (l *list) push(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append([]int64{id}, l.ids...)
}

func (l *list) read(ctx context.Context) ([]int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	if l.away {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return slices.Clone(l.ids[:min(len(l.ids), newest)]), nil
}

// link returns the link of a Cluster of which this server is one node.
func (l *list) link() *Link {
	return NewLink(true, func(context.Context) error {
		if l.away {
			return store.ErrPartly
		}
		return nil
	})
}

func with(id int64) func([]int64) []int64 {
	return func(ids []int64) []int64 {
		if slices.Contains(ids, id) {
			return ids
		}
		ids = append([]int64{id}, ids...)
		return ids[:min(len(ids), newest)]
	}
}

// Sixty processes read a list at most once a second each, at any rate of posts. Each shows its
// own posts immediately, and those of others at most a second later.
func TestRecentAtAnyRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const processes, rate, seconds = 60, 1000, 5
		var server list
		server.push(1)
		all := make([]*Recent[int64], processes)
		for i := range all {
			all[i] = NewRecent(server.link(), server.read)
		}
		written := map[int64]time.Time{}
		for n := range int64(rate * seconds) {
			id := n + 2
			server.push(id)
			written[id] = time.Now()
			own := all[n%processes]
			own.Change(with(id))
			for _, r := range []*Recent[int64]{own, all[n*7%processes]} {
				ids, err := r.Get(t.Context())
				if err != nil || !slices.IsSortedFunc(ids, func(a, b int64) int { return int(b - a) }) || len(ids) > newest {
					t.Fatalf("got %v, %v", ids, err)
				}
				if r == own && ids[0] != id {
					t.Fatalf("the list begins with %d after the process wrote %d", ids[0], id)
				}
				if late := time.Since(written[ids[0]+1]); ids[0] < id && late > recentFor {
					t.Fatalf("%d is missing after %v", ids[0]+1, late)
				}
			}
			time.Sleep(time.Second / rate)
		}
		if server.reads > processes*(seconds+1) {
			t.Errorf("%d reads in %d seconds by %d processes", server.reads, seconds, processes)
		}
	})
}

// A change that a read missed is not lost.
func TestRecentChangeDuringRead(t *testing.T) {
	t.Parallel()
	var r *Recent[int64]
	r = NewRecent(new(list).link(), func(context.Context) ([]int64, error) {
		r.Change(with(7)) // the server had already answered
		return []int64{5, 3}, nil
	})
	for _, what := range []string{"the read", "memory"} {
		if ids, err := r.Get(t.Context()); err != nil || !slices.Equal(ids, []int64{7, 5, 3}) {
			t.Errorf("%s: %v, %v", what, ids, err)
		}
	}
}

// While the server cannot be reached but others can, the list is shown for a minute, and requests
// wait a quarter of a second once a second; after that they get the error.
func TestRecentServerUnreachable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var server list
		server.push(1)
		link := server.link()
		r := NewRecent(link, server.read)
		get := func() (ids []int64, waited time.Duration, err error) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			began := time.Now()
			ids, err = r.Get(ctx)
			return ids, time.Since(began), err
		}
		if _, _, err := get(); err != nil {
			t.Fatal(err)
		}
		server.away = true
		if err := link.Probe(t.Context()); !errors.Is(err, store.ErrPartly) {
			t.Fatal(err)
		}
		waits, began := time.Duration(0), time.Now()
		for time.Since(began) < recentAway-2*recentFor {
			ids, waited, err := get()
			if err != nil || !slices.Equal(ids, []int64{1}) || waited > 250*time.Millisecond {
				t.Fatalf("got %v, %v after %v of waiting", ids, err, waited)
			}
			waits += waited
			time.Sleep(recentFor / 10)
		}
		if waits > recentAway/4 {
			t.Errorf("waited for %v", waits)
		}
		time.Sleep(3 * recentFor)
		if _, _, err := get(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after a minute: %v", err)
		}
		server.away = false
		server.push(2)
		if ids, _, err := get(); err != nil || !slices.Equal(ids, []int64{2, 1}) {
			t.Errorf("when the server is back: %v, %v", ids, err)
		}
	})
}

// Errors other than an unreachable server are not hidden.
func TestRecentError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := false
		r := NewRecent(new(list).link(), func(context.Context) ([]int64, error) {
			if broken {
				return nil, rueidis.Nil
			}
			return []int64{1}, nil
		})
		if _, err := r.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		broken = true
		time.Sleep(recentFor)
		if _, err := r.Get(t.Context()); !errors.Is(err, rueidis.Nil) {
			t.Errorf("got %v", err)
		}
	})
}
