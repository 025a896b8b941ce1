package redlock_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// run runs a command on a server.
func run(t testing.TB, client rueidis.Client, command ...string) rueidis.RedisResult {
	t.Helper()
	result := client.Do(t.Context(), client.B().Arbitrary(command...).Build())
	if err := result.Error(); err != nil && !rueidis.IsRedisNil(err) {
		t.Fatal(command, err)
	}
	return result
}

// contents returns the DUMP of each key of a server, except its boot marker.
func contents(t testing.TB, client rueidis.Client) map[string]string {
	t.Helper()
	names, err := run(t, client, "KEYS", "*").AsStrSlice()
	require.OK(t)(err)
	all := map[string]string{}
	for _, name := range names {
		if name != "redlock:boot" {
			all[name], _ = run(t, client, "DUMP", name).ToString()
		}
	}
	return all
}

// otherKeys are commands that make "job" a key that is not a lock.
var otherKeys = map[string][]string{
	"a counter":        {"SET", "job", "17"},
	"empty text":       {"SET", "job", ""},
	"text of 35 bytes": {"SET", "job", strings.Repeat("x", 35)},
	"text of 27 bytes": {"SET", "job", strings.Repeat("x", 27)},
	"long text":        {"SET", "job", strings.Repeat("x", 10_000)},
	"a list":           {"RPUSH", "job", "a"},
	"a hash":           {"HSET", "job", "a", "b"},
	"a set":            {"SADD", "job", "a"},
	"a sorted set":     {"ZADD", "job", "1", "a"},
	"a stream":         {"XADD", "job", "1-1", "a", "b"},
}

// A name whose key is not a lock is not locked, broken or written.
func TestKeyOfAnotherProgram(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		for _, fencing := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d servers, fencing %v", n, fencing), func(t *testing.T) {
				t.Parallel()
				servers := redistest.Nodes(t, n)
				clients := clientsOf(t, servers)
				m := dial(t, servers, redlock.Options{Fencing: fencing, Owner: "test"})
				for what, command := range otherKeys {
					var before []map[string]string
					for _, client := range clients {
						run(t, client, "DEL", "job")
						run(t, client, command...)
						before = append(before, contents(t, client))
					}
					for act, do := range map[string]func() error{
						"Lock":    func() error { _, err := m.Lock(t.Context(), "job"); return err },
						"TryLock": func() error { _, err := m.TryLock(t.Context(), "job"); return err },
						"Break":   func() error { _, err := m.Break(t.Context(), "job"); return err },
					} {
						if err := do(); !errors.Is(err, redlock.ErrNotLock) {
							t.Errorf("%s of %s: %v; want ErrNotLock", act, what, err)
						}
						for i, client := range clients {
							if after := contents(t, client); !maps.Equal(after, before[i]) {
								t.Fatalf("%s of %s: the server has %q; want %q", act, what, after, before[i])
							}
						}
					}
				}
			})
		}
	}
}

// An attempt that finds a related key of the wrong kind fails before it writes anything.
func TestRelatedKeysOfWrongKind(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 1)
	client := servers[0].Client(t)
	m, other := dial(t, servers, redlock.Options{Fencing: true}), dial(t, servers, redlock.Options{})
	for what, command := range map[string][]string{
		"a list of waiters":    {"RPUSH", "redlock:waiters:{job}", "a"},
		"attempts as text":     {"SET", "redlock:attempts:{job}", "a"},
		"tokens as a list":     {"RPUSH", "redlock:token:{job}", "a"},
		"tokens as other text": {"SET", "redlock:token:{job}", "a"},
	} {
		run(t, client, "DEL", command[1])
		run(t, client, command...)
		before := contents(t, client)
		if _, err := m.Lock(t.Context(), "job"); !errors.Is(err, redlock.ErrNotLock) || strings.Contains(err.Error(), redlock.ErrNotLock.Error()) || !strings.Contains(err.Error(), `"redlock:"`) {
			t.Errorf("Lock beside %s: %v; want an ErrNotLock that does not blame the name", what, err)
		}
		l, err := m.TryLock(t.Context(), "job") // does not join the queue
		if after := contents(t, client); err != nil && !maps.Equal(after, before) {
			t.Errorf("TryLock beside %s: the server has %q; want %q", what, after, before)
		}
		if err == nil {
			run(t, client, "DEL", command[1])
			unlock(t, l)
		}
		run(t, client, "DEL", command[1])
	}
	unlock(t, lock(t, other, "job"))
}

// A holder does not change the key of its lock if another program has overwritten the key.
func TestOverwrittenLock(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 1)
	client := servers[0].Client(t)
	m := dial(t, servers, redlock.Options{Owner: "test"})
	for what, command := range otherKeys {
		for act, do := range map[string]func(*redlock.Lock) error{
			"Extend": func(l *redlock.Lock) error { return l.Extend(t.Context()) },
			"Unlock": func(l *redlock.Lock) error { return l.Unlock(t.Context()) },
		} {
			l := lock(t, m, "job")
			run(t, client, "DEL", "job")
			run(t, client, command...)
			want, _ := run(t, client, "DUMP", "job").ToString()
			if err := do(l); !errors.Is(err, redlock.ErrLost) {
				t.Errorf("%s where the key is %s: %v; want ErrLost", act, what, err)
			}
			if got, _ := run(t, client, "DUMP", "job").ToString(); got != want {
				t.Errorf("%s changed %s", act, what)
			}
			run(t, client, "DEL", "job")
			_ = l.Unlock(t.Context())
		}
	}
}

// Lock waits for the lock of another library, and Break does not remove it.
func TestLockOfAnotherLibrary(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	clients := clientsOf(t, servers)
	m := dial(t, servers, redlock.Options{})
	const foreignValue = "q0gTbZ0VXk9YbX5oUu2zFg=="
	for _, client := range clients {
		run(t, client, "SET", "job", foreignValue, "PX", "3600000")
	}
	if _, err := m.TryLock(t.Context(), "job"); !errors.Is(err, redlock.ErrHeld) {
		t.Errorf("TryLock: %v; want ErrHeld", err)
	}
	_, err := m.Break(t.Context(), "job")
	if !errors.Is(err, redlock.ErrNotLock) || !strings.Contains(err.Error(), `DEL "job"`) {
		t.Errorf("Break: %v; want ErrNotLock and the command that deletes the key", err)
	}
	if n := countKeys(t, clients, "job"); n != 3 {
		t.Errorf("%d servers have the key after Break, want 3", n)
	}
	status, err := m.Status(t.Context(), "job")
	if err != nil || !status.Servers[0].Foreign || status.Holder.Value != foreignValue || status.Holder.TTL < time.Minute {
		t.Errorf("%+v, %v; want a foreign holder", status, err)
	}
	got := make(chan *redlock.Lock)
	go func() { got <- lock(t, m, "job") }()
	awaitWaiters(t, m, "job", 1)
	// A majority is enough for a lock: the key stays on one server.
	for _, client := range clients[1:] {
		run(t, client, "DEL", "job")
	}
	l := <-got
	if _, err := m.Break(t.Context(), "job"); err != nil {
		t.Error(err)
	}
	if n := countKeys(t, clients, "job"); n != 1 {
		t.Errorf("%d servers have the key; want only that of the other library", n)
	}
	if err := tryExtend(t, l); !errors.Is(err, redlock.ErrLost) {
		t.Errorf("Extend of a lock that was broken: %v; want ErrLost", err)
	}
}
