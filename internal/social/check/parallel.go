package check

import (
	"context"
	"hash/crc32"
	"math"
	"sync"

	"github.com/redis/rueidis"

	"retwis/internal/social/storage"
)

// visitors is the number of goroutines that check a page of keys. A check mostly waits for replies,
// and concurrent visitors keep the pipelines to all masters full.
const visitors = 16

// unlockingClient is a client that releases the lock of a check while it waits for a reply. Only
// the goroutine that holds the lock runs, so the visitors share the state of the check without
// other locks.
type unlockingClient struct {
	rueidis.Client
	running *sync.Mutex
}

func (w unlockingClient) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	w.running.Unlock()
	defer w.running.Lock()
	return w.Client.Do(ctx, cmd)
}

func (w unlockingClient) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	w.running.Unlock()
	defer w.running.Lock()
	return w.Client.DoMulti(ctx, cmds...)
}

// visitAll runs visits: concurrently in a check, and one after the other in a repair.
func (c *checker) visitAll(ctx context.Context, visits []func(context.Context) error) error {
	workers := visitors
	if c.repair {
		workers = 1
	}
	var failed error
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			c.running.Lock()
			defer c.running.Unlock()
			for len(visits) > 0 && failed == nil {
				visit := visits[0]
				visits = visits[1:]
				if err := visit(ctx); err != nil && failed == nil {
					failed = err
				}
			}
		})
	}
	c.running.Unlock()
	wg.Wait()
	c.running.Lock()
	return failed
}

// inPart reports whether a key is in the part of the database to check. All keys with the same ID
// have the same answer.
func (c *checker) inPart(key string) bool {
	if c.opt.Part >= 1 {
		return true
	}
	if _, id, ok := storage.ParseKey(key); ok {
		key = storage.Itoa(id)
	}
	return float64(crc32.ChecksumIEEE([]byte(key))) < c.opt.Part*math.MaxUint32
}
