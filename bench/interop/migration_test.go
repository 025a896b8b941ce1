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

// TestMigration runs redsync and redlock clients side by side, as during a gradual migration, and
// checks that the clients exclude each other and that neither library starves.
func TestMigration(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hold, pause time.Duration
		oneManager  bool // redlock clients share a manager, like goroutines of one process
	}{
		"1 ms":                   {hold: time.Millisecond},
		"1 ms, one process":      {hold: time.Millisecond, oneManager: true},
		"100 ms, pause of 20 ms": {hold: 100 * time.Millisecond, pause: 20 * time.Millisecond},
		"100 ms, one process":    {hold: 100 * time.Millisecond, pause: 20 * time.Millisecond, oneManager: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const clients, minAcquired = 4, 5
			servers := redistest.Nodes(t, 3)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var redlockCount, redsyncCount, holders atomic.Int64
			hold := func(count *atomic.Int64) {
				if holders.Add(1) > 1 {
					t.Error("two clients hold the lock")
				}
				time.Sleep(test.hold)
				holders.Add(-1)
				count.Add(1)
			}
			var wg sync.WaitGroup
			var m *redlock.Manager
			for range clients {
				if m == nil || !test.oneManager {
					m = dial(t, servers, redlock.Options{})
				}
				manager := m
				wg.Go(func() {
					for ctx.Err() == nil {
						l, err := manager.Lock(ctx, "job")
						if err != nil {
							return
						}
						hold(&redlockCount)
						if err := l.Unlock(context.WithoutCancel(ctx)); err != nil {
							t.Error(err)
						}
						time.Sleep(test.pause)
					}
				})
				var pools []redsyncredis.Pool
				for _, s := range servers {
					client := redis.NewClient(&redis.Options{Network: "unix", Addr: s.Socket()})
					t.Cleanup(func() { _ = client.Close() })
					pools = append(pools, goredis.NewPool(client))
				}
				mutex := redsync.New(pools...).NewMutex("job", redsync.WithExpiry(10*time.Second))
				wg.Go(func() {
					for ctx.Err() == nil {
						if mutex.LockContext(ctx) != nil {
							continue
						}
						hold(&redsyncCount)
						if ok, err := mutex.Unlock(); !ok || err != nil {
							t.Errorf("redsync Unlock = %v, %v; want true", ok, err)
						}
						time.Sleep(test.pause)
					}
				})
			}
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for redlockCount.Load() < minAcquired || redsyncCount.Load() < minAcquired {
				<-tick.C
			}
			cancel()
			wg.Wait()
			t.Logf("redlock held the lock %d times, redsync %d times", redlockCount.Load(), redsyncCount.Load())
		})
	}
}
