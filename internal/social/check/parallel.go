package check

import (
	"context"
	"hash/crc32"
	"math"
	"sync"

	"github.com/redis/rueidis"

	"retwis/internal/social/storage"
)

// visitors is how many parts of a page of keys are checked concurrently. A check mostly waits for
// replies, and together the visitors fill the pipelines to all masters.
const visitors = 16

// unlockingClient is a client that releases the lock of a check while it waits for a reply. Only
// the goroutine that holds the lock runs, so all of them can share the state of the check without
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

// visitAll runs visits, concurrently unless this is a repair: repairs run one after the other.
func (c *checker) visitAll(ctx context.Context, visits []func(context.Context) error) error {
	workers := visitors
	if c.repair {
		workers = 1
	}
	var failed error
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
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
	all.Wait()
	c.running.Lock()
	return failed
}

// inPart reports whether a key is in the part that is checked: either all keys of a user or post
// are, or none.
func (c *checker) inPart(key string) bool {
	if c.opt.Part >= 1 {
		return true
	}
	if _, id, ok := storage.ParseKey(key); ok {
		key = storage.Itoa(id)
	}
	return float64(crc32.ChecksumIEEE([]byte(key))) < c.opt.Part*math.MaxUint32
}
