package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// A lock is not reentrant: a caller that already holds the name gets an error immediately instead
// of waiting for itself.
func TestNested(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 1)
	m, other := dial(t, servers, redlock.Options{}), dial(t, redistest.Nodes(t, 1), redlock.Options{})
	nothing := func(context.Context, *redlock.Lock) error { return nil }
	check := func(ctx context.Context) {
		t.Helper()
		_, tried := m.TryLock(ctx, "job")
		_, locked := m.Lock(ctx, "job")
		for what, err := range map[string]error{
			"Do": m.Do(ctx, "job", nothing), "TryLock": tried, "Lock": locked,
		} {
			if !errors.Is(err, redlock.ErrNested) || !errors.Is(err, redlock.ErrHeld) {
				t.Errorf("%s within a lock of the same name: %v; want ErrNested and ErrHeld", what, err)
			}
		}
	}
	err := m.Do(t.Context(), "job", func(ctx context.Context, _ *redlock.Lock) error {
		check(ctx)
		// Locks on other servers are unaffected, and so are other names.
		if err := other.Do(ctx, "job", nothing); err != nil {
			t.Errorf("Do with the name on other servers: %v", err)
		}
		return m.Do(ctx, "another", func(ctx context.Context, _ *redlock.Lock) error {
			check(ctx) // the context has an outer lock of the name
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
	l := lock(t, m, "job")
	ctx := l.Context()
	check(ctx)
	unlock(t, l)
	unlock(t, lock(t, m, "job"))
	if _, err := m.Lock(ctx, "job"); errors.Is(err, redlock.ErrNested) {
		t.Errorf("Lock after the outer lock was unlocked: %v", err)
	}
}

type valueKey struct{}

// The context of a lock has the values of its caller's context, but does not end with it.
func TestContextValues(t *testing.T) {
	t.Parallel()
	m := dial(t, redistest.Nodes(t, 1), redlock.Options{})
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), valueKey{}, "trace"))
	first, err := m.Lock(ctx, "job")
	require.OK(t)(err)
	handed := make(chan *redlock.Lock)
	go func() {
		l, err := m.Lock(context.WithValue(t.Context(), valueKey{}, "other"), "job")
		if err != nil {
			t.Error(err)
		}
		handed <- l
	}()
	tried, err := m.TryLock(ctx, "tried")
	require.OK(t)(err)
	cancel()
	for what, l := range map[string]*redlock.Lock{"Lock": first, "TryLock": tried} {
		if got := l.Context().Value(valueKey{}); got != "trace" {
			t.Errorf("%s: the context has value %v, want trace", what, got)
		}
		if err := l.Context().Err(); err != nil {
			t.Errorf("%s: the context of the lock ended with the context of the call: %v", what, err)
		}
		unlock(t, l)
	}
	l := <-handed
	if got := l.Context().Value(valueKey{}); got != "other" {
		t.Errorf("handed over: the context has value %v, want other", got)
	}
	unlock(t, l)
}

// Valid reports whether the lock is still held.
func TestValid(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 1)
	m := dial(t, servers, shortTTL())
	l := lock(t, m, "job")
	if !l.Valid() {
		t.Error("a lock that was just acquired is not valid")
	}
	unlock(t, l)
	if l.Valid() {
		t.Error("an unlocked lock is valid")
	}
	l = lock(t, m, "job")
	<-l.Context().Done()
	if l.Valid() {
		t.Error("an expired lock is valid")
	}
}

// A second Unlock is a mistake of the caller, not a lost lock.
func TestUnlockTwice(t *testing.T) {
	t.Parallel()
	m := dial(t, redistest.Nodes(t, 1), redlock.Options{})
	l := lock(t, m, "job")
	unlock(t, l)
	for what, err := range map[string]error{"Unlock": l.Unlock(t.Context()), "Extend": l.Extend(t.Context())} {
		if !errors.Is(err, redlock.ErrUnlocked) || errors.Is(err, redlock.ErrLost) {
			t.Errorf("%s after Unlock: %v; want ErrUnlocked", what, err)
		}
	}
	if lost := redlock.CountsOf(m).Lost; lost != 0 {
		t.Errorf("%d locks count as lost, want none", lost)
	}
	if err := m.Do(t.Context(), "job", func(ctx context.Context, l *redlock.Lock) error {
		return l.Unlock(ctx)
	}); err != nil {
		t.Errorf("Do with a function that unlocks: %v", err)
	}
}

// The error is the same whether another process or another goroutine holds the name.
func TestErrHeldFromAnyHolder(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	clients := clientsOf(t, servers)
	local, remote := dial(t, servers, redlock.Options{}), dial(t, servers, redlock.Options{})
	impatient := dial(t, servers, redlock.Options{NodeTimeout: 10 * nodeTimeout})
	enough := errors.New("enough")
	// waitThree makes three goroutines wait for the name while it calls until, and returns their
	// errors.
	waitThree := func(m *redlock.Manager, until func()) (all []error) {
		ctx, cancel := context.WithCancelCause(t.Context())
		errs := make(chan error)
		for range 3 {
			go func() {
				_, err := m.Lock(ctx, "job")
				errs <- err
			}()
		}
		until()
		cancel(enough)
		for range 3 {
			all = append(all, <-errs)
		}
		return all
	}
	for _, c := range []struct {
		name   string
		holder *redlock.Manager
		until  func()
	}{
		{"this process", local, func() {
			wait(t, "all in the queue", func() bool { return redlock.LocalWaiters(local, "job") == 3 })
		}},
		// One goroutine asks the servers, and the others wait in the local queue.
		{"another process", remote, func() {
			wait(t, "all but one in the queue", func() bool { return redlock.LocalWaiters(local, "job") == 2 })
			awaitListener(t, clients, local)
		}},
	} {
		l := lock(t, c.holder, "job")
		for _, err := range waitThree(local, c.until) {
			if !errors.Is(err, redlock.ErrHeld) || !errors.Is(err, enough) {
				t.Errorf("held by %s: %v; want ErrHeld and the cause of the context", c.name, err)
			}
		}
		unlock(t, l)
	}
	for _, s := range servers[:2] {
		s.Freeze(t)
		defer s.Thaw(t)
	}
	for _, err := range waitThree(impatient, func() {
		wait(t, "all but one in the queue", func() bool { return redlock.LocalWaiters(impatient, "job") == 2 })
		awaitListener(t, clients[2:], impatient)
	}) {
		if !errors.Is(err, redlock.ErrNoQuorum) || errors.Is(err, redlock.ErrHeld) {
			t.Errorf("two of three servers frozen: %v; want ErrNoQuorum", err)
		}
	}
}

// A lock on too few servers is lost, even if the other servers were never asked.
func TestNeverAsked(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	clients := clientsOf(t, servers)
	m := dial(t, servers, redlock.Options{NodeTimeout: nodeTimeout})
	servers[2].Freeze(t)
	unlock(t, lock(t, m, "before")) // the frozen server does not answer, and gets no new requests
	// A timeout is not enough: a request to the server may still be waiting to be sent.
	wait(t, "the frozen server to be skipped", func() bool {
		status, err := m.Status(t.Context(), "job")
		return err == nil && status.Servers[2].Err != nil && strings.Contains(status.Servers[2].Err.Error(), "no answer for ")
	})
	l := lock(t, m, "job")
	servers[2].Thaw(t)
	wait(t, "the server to be back", func() bool {
		status, err := m.Status(t.Context(), "job")
		return err == nil && status.Servers[2].Err == nil
	})
	require.OK(t)(clients[0].Do(t.Context(), clients[0].B().Del().Key("job").Build()).Error())
	if n := countKeys(t, clients, "job"); n != 1 {
		t.Fatalf("%d servers have the lock, want 1", n)
	}
	if err := tryExtend(t, l); !errors.Is(err, redlock.ErrLost) {
		t.Errorf("Extend of a lock that one of three servers has: %v; want ErrLost", err)
	}
}
