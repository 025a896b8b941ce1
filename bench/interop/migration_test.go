package interop

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"retwis/internal/redistest"
	"retwis/redlock"
)

// TestMigration runs contenders of redsync and of this package side by side, as during a gradual
// migration: they exclude each other and neither side starves.
func TestMigration(t *testing.T) {
	t.Parallel()
	for name, pace := range map[string]struct {
		hold, pause time.Duration
		oneManager  bool // our contenders share a manager, as goroutines of one process do
	}{
		"1 ms":                   {hold: time.Millisecond},
		"1 ms, one process":      {hold: time.Millisecond, oneManager: true},
		"100 ms, pause of 20 ms": {hold: 100 * time.Millisecond, pause: 20 * time.Millisecond},
		"100 ms, one process":    {hold: 100 * time.Millisecond, pause: 20 * time.Millisecond, oneManager: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const contenders, enough = 4, 5
			servers := redistest.Nodes(t, 3)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var ours, theirs, inside atomic.Int64
			hold := func(count *atomic.Int64) {
				if inside.Add(1) > 1 {
					t.Error("two clients hold the lock")
				}
				time.Sleep(pace.hold)
				inside.Add(-1)
				count.Add(1)
			}
			var all sync.WaitGroup
			var m *redlock.Manager
			for range contenders {
				if m == nil || !pace.oneManager {
					m = dial(t, servers, redlock.Options{})
				}
				own := m
				all.Go(func() {
					for ctx.Err() == nil {
						l, err := own.Lock(ctx, "job")
						if err != nil {
							return
						}
						hold(&ours)
						if err := l.Unlock(context.WithoutCancel(ctx)); err != nil {
							t.Error(err)
						}
						time.Sleep(pace.pause)
					}
				})
				var pools []redsyncredis.Pool
				for _, s := range servers {
					client := redis.NewClient(&redis.Options{Network: "unix", Addr: s.Socket()})
					t.Cleanup(func() { _ = client.Close() })
					pools = append(pools, goredis.NewPool(client))
				}
				mutex := redsync.New(pools...).NewMutex("job", redsync.WithExpiry(10*time.Second))
				all.Go(func() {
					for ctx.Err() == nil {
						if mutex.LockContext(ctx) != nil {
							continue
						}
						hold(&theirs)
						if ok, err := mutex.Unlock(); !ok || err != nil {
							t.Errorf("redsync: %v %v", ok, err)
						}
						time.Sleep(pace.pause)
					}
				})
			}
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for ours.Load() < enough || theirs.Load() < enough {
				<-tick.C
			}
			cancel()
			all.Wait()
			t.Logf("redlock held the lock %d times, redsync %d times", ours.Load(), theirs.Load())
		})
	}
}
