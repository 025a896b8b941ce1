package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/redlock"
)

// While the memory of the servers is full, a lock can be extended, handed over and unlocked, but no
// new lock is granted.
func TestMemoryFull(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	clients := clientsOf(t, servers)
	opt := redlock.Options{TTL: 2 * time.Second, NodeTimeout: 500 * time.Millisecond}
	a, b := dial(t, servers, opt), dial(t, servers, opt)
	var until time.Time
	next := make(chan *redlock.Lock)
	err := a.Do(t.Context(), "job", func(ctx context.Context, l *redlock.Lock) error {
		until = l.Until()
		go func() { next <- lock(t, b, "job") }()
		awaitWaiters(t, b, "job", 1)
		for _, client := range clients {
			run(t, client, "CONFIG", "SET", "maxmemory", "1")
		}
		if _, err := b.TryLock(ctx, "new"); !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("TryLock: %v; want ErrNoQuorum and OOM", err)
		}
		wait(t, "an extension", func() bool { return ctx.Err() != nil || l.Until().After(until) })
		return context.Cause(ctx)
	})
	if err != nil {
		t.Error(err)
	}
	l := <-next
	extend(t, l)
	unlock(t, l)
}

// The error of a lost lock states why the last extension failed.
func TestErrLostStatesCause(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	m := dial(t, []*redistest.Server{server}, shortTTL())
	run(t, server.Client(t), "ACL", "SETUSER", "default", "-pexpire")
	err := m.Do(t.Context(), "job", func(ctx context.Context, _ *redlock.Lock) error {
		<-ctx.Done()
		return nil
	})
	if !errors.Is(err, redlock.ErrLost) || !strings.Contains(err.Error(), "its time ran out; the last extension failed (") ||
		!strings.Contains(err.Error(), " script") { // "the user executing the script …" or, on Valkey 8, "ACL failure in script"
		t.Errorf("Do: %v; want ErrLost and the error of the server", err)
	}
}
