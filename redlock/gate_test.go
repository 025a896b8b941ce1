package redlock

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Locks that are left to expire leave nothing behind in the process.
func TestAbandonedLocksAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, schedule{length: time.Second})
		w.net.calm = true
		m := w.managers[0]
		for i := range 1000 {
			if _, err := m.TryLock(t.Context(), fmt.Sprint("name", i)); err != nil {
				t.Fatal(err)
			}
		}
		held, err := m.Lock(t.Context(), "held")
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			time.Sleep(simTTL / 2)
			if err := held.Extend(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if until := m.localQueues.heldUntil("held"); until.IsZero() {
			t.Error("the lock that is held was forgotten, too")
		}
		m.localQueues.mu.Lock()
		if n := len(m.localQueues.byName); n != 1 {
			t.Errorf("%d names are remembered; want the one that is held", n)
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
