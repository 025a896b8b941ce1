package redlock_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"retwis/internal/redistest"
	"retwis/redlock"
)

// BenchmarkFree locks and unlocks names without contention.
func BenchmarkFree(b *testing.B) {
	for _, n := range []int{1, 5} {
		b.Run(strconv.Itoa(n), func(b *testing.B) { benchmarkFree(b, n) })
	}
}

func benchmarkFree(b *testing.B, nodes int) {
	servers := redistest.Nodes(b, nodes)
	m := dial(b, servers, redlock.Options{})
	var n atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l, err := m.Lock(b.Context(), "free:"+strconv.FormatInt(n.Add(1), 10))
			if err != nil {
				b.Fatal(err)
			}
			if err := l.Unlock(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
