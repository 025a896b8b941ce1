package redlock

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"retwis/internal/require"
)

// An abandoned lock that has expired leaves nothing behind in the process.
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
			t.Error("the held lock was forgotten")
		}
		m.localQueues.mu.Lock()
		if n := len(m.localQueues.byName); n != 1 {
			t.Errorf("%d names have a local queue; want only the held name", n)
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
