package redlock_test

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// Locking and unlocking a free name costs two round trips, and the script runs no more commands
// than it needs to check for waiters.
func TestCostOfAFreeName(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 1)
	m, client := dial(t, servers, redlock.Options{}), servers[0].Client(t)
	unlock(t, lock(t, m, "first")) // loads the scripts
	// The connection for messages may be opened meanwhile.
	wait(t, "a lock that costs no more", func() bool {
		require.OK(t)(client.Do(t.Context(), client.B().ConfigResetstat().Build()).Error())
		unlock(t, lock(t, m, "second"))
		return executed(t, client) == "del 1, evalsha 1, get 1, set 1, zpopmin 1"
	})
}

// executed returns the commands that a server has executed since its last CONFIG RESETSTAT, with
// their counts.
func executed(t *testing.T, client rueidis.Client) string {
	t.Helper()
	stats, err := client.Do(t.Context(), client.B().Info().Section("commandstats").Build()).ToString()
	require.OK(t)(err)
	var calls []string
	for line := range strings.Lines(stats) {
		if name, stat, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls="); ok && !strings.HasPrefix(name, "config") {
			n, _, _ := strings.Cut(stat, ",")
			calls = append(calls, name+" "+n)
		}
	}
	slices.Sort(calls)
	return strings.Join(calls, ", ")
}

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
			require.OK(b)(err)
			require.OK(b)(l.Unlock(b.Context()))
		}
	})
}
