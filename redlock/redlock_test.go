package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/redlock"
)

// urls returns where servers listen.
func urls(servers []*redistest.Server) []string {
	all := make([]string, len(servers))
	for i, s := range servers {
		all[i] = s.URL()
	}
	return all
}

// generous gives servers more time to answer than the default of 50 ms, unless the test
// has set it: on a busy machine a server that works may take longer.
func generous(opt redlock.Options) redlock.Options {
	if opt.NodeTimeout == 0 {
		opt.NodeTimeout = 2 * time.Second
		if opt.TTL > 0 {
			opt.NodeTimeout = min(opt.NodeTimeout, opt.TTL/4)
		}
	}
	return opt
}

// nodeTimeout is the default, for tests in which servers do not answer.
const nodeTimeout = 50 * time.Millisecond

// dial returns a manager of servers that may vote immediately.
func dial(t testing.TB, servers []*redistest.Server, opt redlock.Options) *redlock.Manager {
	t.Helper()
	m, err := redlock.Dial(urls(servers), generous(opt))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	wait(t, "the servers to be trusted", func() bool { return m.SkipQuarantine(t.Context()) == nil })
	return m
}

func lock(t testing.TB, m *redlock.Manager, name string) *redlock.Lock {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	l, err := m.Lock(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func unlock(t testing.TB, l *redlock.Lock) {
	t.Helper()
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestOneHolder(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 5)
	a, b := dial(t, servers, redlock.Options{}), dial(t, servers, redlock.Options{})
	l := lock(t, a, "job")
	if _, err := b.TryLock(t.Context(), "job"); !errors.Is(err, redlock.ErrHeld) {
		t.Fatalf("second TryLock: %v; want ErrHeld", err)
	}
	got := make(chan *redlock.Lock)
	go func() {
		l, err := b.Lock(t.Context(), "job")
		if err != nil {
			t.Error(err)
		}
		got <- l
	}()
	time.Sleep(50 * time.Millisecond)
	unlock(t, l)
	begun := time.Now()
	l2 := <-got
	t.Logf("handed over in %v", time.Since(begun))
	unlock(t, l2)
	t.Logf("%+v", b.Stats())
}

// A recently started server may have forgotten a lock: it does not vote until that would have
// expired, or until SkipQuarantine.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	clients := make([]rueidis.Client, len(servers))
	for i, s := range servers {
		clients[i] = s.Client(t)
	}
	dialed, err := redlock.Dial(urls(servers), generous(redlock.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer dialed.Close()
	shared, err := redlock.New(clients, generous(redlock.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	for name, m := range map[string]*redlock.Manager{"Dial": dialed, "New": shared} {
		for range 2 { // the second over a connection that was used before
			_, err := m.TryLock(t.Context(), "job")
			if !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), "does not vote for another") {
				t.Errorf("%s: %v; want ErrNoQuorum, and why", name, err)
			}
		}
	}
	young := func() (n int) {
		status, err := dialed.Status(t.Context(), "job")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range status {
			if s.Quarantined > 0 {
				n++
			}
		}
		return n
	}
	if n := young(); n != 3 {
		t.Errorf("%d of 3 servers are quarantined", n)
	}
	if err := dialed.SkipQuarantine(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := young(); n != 0 {
		t.Errorf("%d servers are quarantined after SkipQuarantine", n)
	}
	for name, m := range map[string]*redlock.Manager{"Dial": dialed, "New": shared} {
		l, err := m.TryLock(t.Context(), "job")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		unlock(t, l)
	}
}
