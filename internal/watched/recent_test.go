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

// maxCached is the maximum number of cached elements of a list.
const maxCached = 201

// list is a list on a server, which counts its reads.
type list struct {
	mu    sync.Mutex
	ids   []int64
	reads int
	away  bool // the server is unreachable
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
	return slices.Clone(l.ids[:min(len(l.ids), maxCached)]), nil
}

// link returns a link to a Cluster in which the server of the list is one node.
func (l *list) link() *Link {
	return NewLink(true, func(context.Context) error {
		if l.away {
			return store.ErrPartly
		}
		return nil
	})
}

// with returns a change that adds an ID to a list.
func with(id int64) func([]int64) []int64 {
	return func(ids []int64) []int64 {
		if slices.Contains(ids, id) {
			return ids
		}
		ids = append([]int64{id}, ids...)
		return ids[:min(len(ids), maxCached)]
	}
}

// Each of sixty processes reads a list at most once a second, at any rate of posts. A process shows
// its own posts immediately, and posts of other processes at most a second later.
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
				if err != nil || !slices.IsSortedFunc(ids, func(a, b int64) int { return int(b - a) }) || len(ids) > maxCached {
					t.Fatalf("Get = %v, %v; want at most %d sorted IDs", ids, err, maxCached)
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
			t.Errorf("%d reads in %d seconds by %d processes, want at most one per second and process", server.reads, seconds, processes)
		}
	})
}

// A change that a concurrent read missed is not lost.
func TestRecentChangeDuringRead(t *testing.T) {
	t.Parallel()
	var r *Recent[int64]
	r = NewRecent(new(list).link(), func(context.Context) ([]int64, error) {
		r.Change(with(7)) // the server had already answered
		return []int64{5, 3}, nil
	})
	for _, source := range []string{"the server", "the cache"} {
		if ids, err := r.Get(t.Context()); err != nil || !slices.Equal(ids, []int64{7, 5, 3}) {
			t.Errorf("Get from %s = %v, %v; want [7 5 3]", source, ids, err)
		}
	}
}

// While the server of a list is unreachable but other servers are not, Get returns the cached list
// for a minute, and at most one request per second waits for a quarter of a second. After the
// minute, Get returns the error.
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
				t.Fatalf("Get = %v, %v after %v, want [1] within 250ms", ids, err, waited)
			}
			waits += waited
			time.Sleep(recentFor / 10)
		}
		if waits > recentAway/4 {
			t.Errorf("requests waited for %v in total, want at most %v", waits, recentAway/4)
		}
		time.Sleep(3 * recentFor)
		if _, _, err := get(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Get after a minute: %v, want DeadlineExceeded", err)
		}
		server.away = false
		server.push(2)
		if ids, _, err := get(); err != nil || !slices.Equal(ids, []int64{2, 1}) {
			t.Errorf("Get when the server is reachable again = %v, %v; want [2 1]", ids, err)
		}
	})
}

// Get returns errors other than an unreachable server immediately.
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
			t.Errorf("Get: %v, want Nil", err)
		}
	})
}
