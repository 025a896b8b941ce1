package redlock

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
)

// A server that does not know a script, because it is new, was restarted or has flushed it,
// still executes a batch in the order of its ops.
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
	m, err := New([]rueidis.Client{client}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s := m.nodes[0].server.(*redisServer)
	run := func(batch ...*op) []reply {
		replies := make([]reply, len(batch))
		s.run(t.Context(), batch, replies)
		return replies
	}
	after := func(values ...string) *chain { return &chain{values: values, confirmed: []int{0}} }
	extend := func(name, from, to string) *op {
		return &op{kind: opExtend, name: name, value: to, chain: after(from, to), position: 1, ttl: time.Minute}
	}
	release := func(name, value string) *op {
		return &op{kind: opRelease, name: name, value: value, grant: time.Second}
	}
	acquire := func(name, value string) *op {
		return &op{
			kind: opAcquire, name: name, value: value, ttl: time.Minute, queue: true, since: time.Now().UnixMicro(),
			line: time.Minute, grant: time.Second, within: time.Minute,
		}
	}

	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		do("SCRIPT", "FLUSH")
		// Some scripts are known, some are not.
		for _, o := range []*op{extend("other", "a", "b"), release("other", "b"), acquire("other", "c")} {
			if rng.IntN(2) == 0 {
				run(o)
			}
		}
		do("FLUSHALL")
		name := fmt.Sprint("name", i)
		do("SET", name, "v1", "PX", "60000")
		// The life of a lock, and of a waiter that gives up, in one batch.
		run(
			extend(name, "v1", "v2"), extend("beside", "x", "y"), extend(name, "v2", "v3"),
			acquire(name, "w"), release(name, "v3"), extend(name, "w", "w2"), &op{kind: opRelease, name: name, value: "w2", chain: after("w", "w2"), position: 1, queue: true, grant: time.Second},
		)
		if left := do("GET", name); left != "" {
			t.Fatalf("batch %d: the lock is %q after its release", i, left)
		}
		if n, err := client.Do(t.Context(), client.B().Zcard().Key(waitersKey(name)).Build()).AsInt64(); err != nil || n != 0 {
			t.Fatalf("batch %d: %d wait (%v), after all have left", i, n, err)
		}
	}
}
