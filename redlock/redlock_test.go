package redlock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// urls returns the URLs of servers.
func urls(servers []*redistest.Server) []string {
	all := make([]string, len(servers))
	for i, s := range servers {
		all[i] = s.URL()
	}
	return all
}

// generous returns options with locks that do not expire while a test runs, and a node timeout
// that is long enough for the busiest machine, unless the test has set them.
func generous(opt redlock.Options) redlock.Options {
	if opt.TTL == 0 {
		opt.TTL = time.Hour
	}
	if opt.NodeTimeout == 0 {
		opt.NodeTimeout = min(time.Minute, opt.TTL/4)
	}
	return opt
}

// nodeTimeout is the default of Options.NodeTimeout, for tests in which servers do not answer.
const nodeTimeout = 50 * time.Millisecond

// dial returns a manager on servers that may vote immediately.
func dial(t testing.TB, servers []*redistest.Server, opt redlock.Options) *redlock.Manager {
	t.Helper()
	m, err := redlock.Dial(urls(servers), generous(opt))
	require.OK(t)(err)
	t.Cleanup(func() { _ = m.Close() })
	wait(t, "the servers to vote", func() bool { return m.SkipQuarantine(t.Context()) == nil })
	return m
}

// lock acquires a lock, and ends the test on an error.
func lock(t testing.TB, m *redlock.Manager, name string, opts ...redlock.LockOptions) *redlock.Lock {
	t.Helper()
	l, err := m.Lock(t.Context(), name, opts...)
	require.OK(t)(err)
	return l
}

// tryLock retries until enough servers answer in time.
func tryLock(t testing.TB, m *redlock.Manager, name string) (*redlock.Lock, error) {
	t.Helper()
	for {
		l, err := m.TryLock(t.Context(), name)
		if !errors.Is(err, redlock.ErrNoQuorum) || t.Context().Err() != nil {
			return l, err
		}
	}
}

// unlock unlocks a lock. It ignores ErrNoQuorum: the manager asks servers that do not answer in
// time again.
func unlock(t testing.TB, l *redlock.Lock) {
	t.Helper()
	if err := l.Unlock(t.Context()); err != nil && !errors.Is(err, redlock.ErrNoQuorum) {
		t.Fatal(err)
	}
}

// extend extends a lock, and retries if too few servers answer in time.
func extend(t testing.TB, l *redlock.Lock) {
	t.Helper()
	require.OK(t)(tryExtend(t, l))
}

// tryExtend is like extend, but returns the error.
func tryExtend(t testing.TB, l *redlock.Lock) error {
	t.Helper()
	for {
		err := l.Extend(t.Context())
		if !errors.Is(err, redlock.ErrNoQuorum) || t.Context().Err() != nil {
			return err
		}
	}
}

func TestOneHolder(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 5)
	a, b := dial(t, servers, redlock.Options{}), dial(t, servers, redlock.Options{})
	l := lock(t, a, "job")
	if _, err := tryLock(t, b, "job"); !errors.Is(err, redlock.ErrHeld) {
		t.Fatalf("second TryLock: %v; want ErrHeld", err)
	}
	got := make(chan *redlock.Lock)
	go func() { got <- lock(t, b, "job") }()
	awaitWaiters(t, a, "job", 1)
	unlock(t, l)
	unlock(t, <-got)
}

// A recently started server may have forgotten a lock: it does not vote until that lock would
// have expired, or until SkipQuarantine.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	clients := make([]rueidis.Client, len(servers))
	for i, s := range servers {
		clients[i] = s.Client(t)
	}
	dialed, err := redlock.Dial(urls(servers), generous(redlock.Options{}))
	require.OK(t)(err)
	defer dialed.Close()
	shared, err := redlock.New(clients, generous(redlock.Options{}))
	require.OK(t)(err)
	defer shared.Close()
	for name, m := range map[string]*redlock.Manager{"Dial": dialed, "New": shared} {
		for range 2 { // the second attempt uses an existing connection
			_, err := m.TryLock(t.Context(), "job")
			if !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), "does not vote for another") {
				t.Errorf("%s: %v; want ErrNoQuorum and the reason", name, err)
			}
		}
	}
	quarantined := func() (n int) {
		status, err := dialed.Status(t.Context(), "job")
		require.OK(t)(err)
		for _, s := range status.Servers {
			if s.Quarantined > 0 {
				n++
			}
		}
		return n
	}
	if n := quarantined(); n != 3 {
		t.Errorf("%d servers are quarantined, want 3", n)
	}
	require.OK(t)(dialed.SkipQuarantine(t.Context()))
	if n := quarantined(); n != 0 {
		t.Errorf("%d servers are quarantined after SkipQuarantine, want none", n)
	}
	for name, m := range map[string]*redlock.Manager{"Dial": dialed, "New": shared} {
		l, err := tryLock(t, m, "job")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		unlock(t, l)
	}
}
