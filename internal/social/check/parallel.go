package check

import (
	"context"
	"hash/crc32"
	"math"
	"slices"
	"sync"

	"github.com/redis/rueidis"

	"retwis/internal/social/layout"
)

// visitors is how many parts of a page of keys are checked at the same time. Most of a
// check is waiting for replies: together they fill the pipelines to all masters.
const visitors = 16

// waiting is a client that releases the lock of a check while it waits for a reply. Only the
// goroutine that holds the lock runs, so that all of them can share what the check knows
// without locks of their own.
type waiting struct {
	rueidis.Client
	running *sync.Mutex
}

func (w waiting) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	w.running.Unlock()
	defer w.running.Lock()
	return w.Client.Do(ctx, cmd)
}

func (w waiting) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	w.running.Unlock()
	defer w.running.Lock()
	return w.Client.DoMulti(ctx, cmds...)
}

// visitAll calls visit with parts of a page of keys, at the same time unless what it finds
// is repaired: repairs come one after the other.
func (c *checker) visitAll(ctx context.Context, keys []string, visit func(ctx context.Context, keys []string) error) error {
	if c.repair {
		return visit(ctx, keys)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failed error
	var all sync.WaitGroup
	for part := range slices.Chunk(keys, (len(keys)+visitors-1)/visitors) {
		all.Go(func() {
			c.running.Lock()
			defer c.running.Unlock()
			if ctx.Err() != nil {
				return
			}
			if err := visit(ctx, part); err != nil && failed == nil {
				failed = err
				cancel()
			}
		})
	}
	c.running.Unlock()
	all.Wait()
	c.running.Lock()
	if failed == nil {
		failed = ctx.Err()
	}
	return failed
}

// inPart reports whether a key is in the part that is checked: all keys of a user or of a
// post are, or none.
func (c *checker) inPart(key string) bool {
	if c.opt.Part >= 1 {
		return true
	}
	if _, id, ok := layout.ParseKey(key); ok {
		key = layout.Itoa(id)
	}
	return float64(crc32.ChecksumIEEE([]byte(key))) < c.opt.Part*math.MaxUint32
}
