package redlock

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"retwis/internal/require"
)

// Locks that are left to expire leave nothing behind in the process.
func TestAbandonedLocksAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, schedule{length: time.Second})
		w.net.calm = true
		m := w.managers[0]
		for i := range 1000 {
			require.OK(t)(m.TryLock(t.Context(), fmt.Sprint("name", i)))
		}
		held, err := m.Lock(t.Context(), "held")
		require.OK(t)(err)
		for range 4 {
			time.Sleep(simTTL / 2)
			require.OK(t)(held.Extend(t.Context()))
		}
		if until := m.localQueues.heldUntil("held"); until.IsZero() {
			t.Error("the held lock was forgotten, too")
		}
		m.localQueues.mu.Lock()
		if n := len(m.localQueues.byName); n != 1 {
			t.Errorf("%d names are remembered; want only the held one", n)
		}
		m.localQueues.mu.Unlock()
		if err := held.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		for _, m := range w.managers {
			_ = m.Close()
		}
	})
}
