package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/redlock"
)

// Lock does not wait for what waiting does not change.
func TestLockEndsWhereServersRefuse(t *testing.T) {
	t.Parallel()
	server := redistest.TCP(t)
	do := func(command ...string) {
		t.Helper()
		client := server.Client(t)
		if err := client.Do(t.Context(), client.B().Arbitrary(command...).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	do("ACL", "SETUSER", "reader", "on", ">secret", "~*", "&*", "-@all", "+@read", "+@connection")
	replica := redistest.TCP(t, "replicaof 127.0.0.1 1")
	for name, test := range map[string]struct{ url, want string }{
		"no right":       {fmt.Sprintf("redis://reader:secret@127.0.0.1:%d", server.Port()), "NOPERM"},
		"wrong password": {fmt.Sprintf("redis://reader:wrong@127.0.0.1:%d", server.Port()), "WRONGPASS"},
		"a replica":      {fmt.Sprintf("redis://127.0.0.1:%d", replica.Port()), "READONLY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := redlock.Dial([]string{test.url}, generous(redlock.Options{}))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			_, err = m.Lock(ctx, "job")
			if !errors.Is(err, redlock.ErrRefused) || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want ErrRefused at once, and %s", err, test.want)
			}
		})
	}
}

// What passes is waited for, and said at the end: not that the last attempt was cut
// short by it.
func TestLockEndsWithTheReason(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	m, err := redlock.Dial(urls(servers), redlock.Options{NodeTimeout: 2 * time.Second, RetryMax: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var all sync.WaitGroup
	defer all.Wait()
	for i := range 50 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second+time.Duration(i)*time.Millisecond)
			defer cancel()
			_, err := m.Lock(ctx, fmt.Sprint("job", i))
			if !errors.Is(err, redlock.ErrNoQuorum) || strings.Count(err.Error(), "quarantined") < 2 {
				t.Errorf("%v; want that a majority is quarantined", err)
			}
		})
	}
}
