package server

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
)

// A server without a script, because it is new, was restarted or has flushed its scripts, still
// executes a batch in order.
func TestUnknownScriptsKeepTheOrder(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	client := own.Client(t)
	do := func(words ...string) string {
		t.Helper()
		text, err := client.Do(t.Context(), client.B().Arbitrary(words...).Build()).ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			t.Fatal(err)
		}
		return text
	}
	s := NewRedis(client, "server")
	Prepare([]*Redis{s}, "manager", NewRecords(1, 10*time.Second))
	run := func(batch ...*Op) []Reply {
		replies := make([]Reply, len(batch))
		s.Run(t.Context(), batch, replies)
		return replies
	}
	extend := func(name, value string) *Op {
		return &Op{Kind: Extend, Name: name, Value: value, TTL: time.Minute}
	}
	release := func(name, value string) *Op {
		return &Op{Kind: Release, Name: name, Value: value, Grant: time.Second}
	}
	acquire := func(name, value string) *Op {
		return &Op{
			Kind: Acquire, Name: name, Value: value, TTL: time.Minute, Queue: true, Since: time.Now().UnixMicro(),
			Line: time.Minute, Grant: time.Second, Within: time.Minute,
		}
	}

	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		do("SCRIPT", "FLUSH")
		// Load only some of the scripts.
		for _, o := range []*Op{extend("other", "a"), release("other", "a"), acquire("other", "c")} {
			if rng.IntN(2) == 0 {
				run(o)
			}
		}
		do("FLUSHALL")
		name := fmt.Sprint("name", i)
		do("SET", name, "v1", "PX", "60000")
		// The full life of a lock, and of a waiter that gives up, in one batch.
		run(
			extend(name, "v1"), extend("beside", "x"), extend(name, "v1"),
			acquire(name, "w"), release(name, "v1"), extend(name, "w"), &Op{Kind: Release, Name: name, Value: "w", Queue: true, Grant: time.Second},
		)
		if left := do("GET", name); left != "" {
			t.Fatalf("batch %d: the lock is %q after its release", i, left)
		}
		if n, err := client.Do(t.Context(), client.B().Zcard().Key(waitersKey(name)).Build()).AsInt64(); err != nil || n != 0 {
			t.Fatalf("batch %d: %d waiters are left (%v)", i, n, err)
		}
	}
}
