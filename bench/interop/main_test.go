// Package interop tests that packages of retwis work beside other libraries. It is part of
// the module bench, so that these libraries are not requirements of retwis.
package interop

import (
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/redlock"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// dial returns a manager of servers that may vote immediately. They have time to answer on
// a busy machine.
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

// waiters waits until n processes wait for a name, on all servers.
func waiters(t *testing.T, m *redlock.Manager, name string, n int64) {
	t.Helper()
	wait(t, "waiters", func() bool {
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
func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
