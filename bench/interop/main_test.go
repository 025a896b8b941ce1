// Package interop tests that retwis packages work alongside other libraries. It is in the bench
// module so that retwis does not require these libraries.
package interop

import (
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/redlock"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// dial returns a manager for new servers after it has skipped their quarantine. The node timeout is
// long enough for a busy machine.
func dial(t *testing.T, servers []*redistest.Server, opt redlock.Options) *redlock.Manager {
	t.Helper()
	opt.NodeTimeout = 2 * time.Second
	urls := make([]string, len(servers))
	for i, s := range servers {
		urls[i] = s.URL()
	}
	m, err := redlock.Dial(urls, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	wait(t, "the end of the quarantine", func() bool { return m.SkipQuarantine(t.Context()) == nil })
	return m
}

func lock(t *testing.T, m *redlock.Manager, name string) *redlock.Lock {
	t.Helper()
	l, err := m.Lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func unlock(t *testing.T, l *redlock.Lock) {
	t.Helper()
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// waitForWaiters waits until all servers report n processes waiting for a name.
func waitForWaiters(t *testing.T, m *redlock.Manager, name string, n int64) {
	t.Helper()
	wait(t, "all servers to report the waiters", func() bool {
		status, err := m.Status(t.Context(), name)
		for _, s := range status.Servers {
			if s.Err != nil || s.Holder.Waiters != n {
				return false
			}
		}
		return err == nil
	})
}

// wait polls until a condition holds.
func wait(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}
