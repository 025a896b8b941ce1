package redlock_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// ttl returns the shortest remaining time of a name on the servers.
func ttl(t testing.TB, m *redlock.Manager, name string) time.Duration {
	t.Helper()
	status, err := m.Status(t.Context(), name)
	require.OK(t)(err)
	return status.Holder.TTL
}

// A lock can have a longer or shorter TTL than its manager. The servers record the longest TTL: a
// restarted server is quarantined for that time.
func TestLockOptionsTTL(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	m := dial(t, servers, redlock.Options{TTL: 2 * time.Hour, NodeTimeout: time.Minute})
	for name, acquire := range map[string]func(string, ...redlock.LockOptions) (*redlock.Lock, error){
		"Lock": func(name string, o ...redlock.LockOptions) (*redlock.Lock, error) {
			return m.Lock(t.Context(), name, o...)
		},
		"TryLock": func(name string, o ...redlock.LockOptions) (*redlock.Lock, error) {
			return m.TryLock(t.Context(), name, o...)
		},
	} {
		for _, want := range []time.Duration{5 * time.Hour, 2 * time.Hour, time.Hour} {
			opt := redlock.LockOptions{TTL: want}
			if want == 2*time.Hour {
				opt.TTL = 0
			}
			var l *redlock.Lock
			wait(t, "enough answers", func() (ok bool) {
				var err error
				if l, err = acquire(name, opt); err != nil && !errors.Is(err, redlock.ErrNoQuorum) {
					t.Fatal(err)
				}
				return err == nil
			})
			for range 2 { // as acquired, and as extended
				onServers, valid := ttl(t, m, name), time.Until(l.Until())
				if onServers > want || onServers < want*3/4 || valid >= onServers || valid < want*3/4 {
					t.Errorf("%s: TTL %v on the servers, valid for %v; want %v", name, onServers, valid, want)
				}
				extend(t, l)
			}
			unlock(t, l)
		}
	}
	// The lock is handed over within the process to a caller with another TTL.
	l := lock(t, m, "job", redlock.LockOptions{TTL: time.Hour})
	next := make(chan *redlock.Lock)
	go func() { next <- lock(t, m, "job", redlock.LockOptions{TTL: 5 * time.Hour}) }()
	wait(t, "the next waiter in the queue", func() bool { return redlock.LocalWaiters(m, "job") == 1 })
	unlock(t, l)
	l = <-next
	wait(t, "the longer time", func() bool {
		return ttl(t, m, "job") > 4*time.Hour && time.Until(l.Until()) > 4*time.Hour
	})
	unlock(t, l)
	status, err := m.Status(t.Context(), "")
	require.OK(t)(err)
	for _, h := range status.Servers {
		if h.LongestTTL != 5*time.Hour {
			t.Errorf("%s: the longest ttl on record is %v, want 5h", h.Node, h.LongestTTL)
		}
	}
	for want, opts := range map[string][]redlock.LockOptions{
		"LockOptions.TTL is 1ms":              {{TTL: time.Millisecond}},
		"LockOptions.TTL is 25h":              {{TTL: 25 * time.Hour}},
		"more than Options.NodeTimeout of 1m": {{TTL: time.Minute}},
		"LockOptions.MaxHold is -1":           {{MaxHold: -1}},
		"LockOptions.Owner has 201 bytes":     {{Owner: strings.Repeat("x", 201)}},
		"must be printable text":              {{Owner: "a\x1b[2J"}},
		"2 LockOptions given":                 {{}, {}},
	} {
		if _, err := m.TryLock(t.Context(), "job", opts...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// A lock that reaches MaxHold ends with ErrLost.
func TestMaxHold(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	m := dial(t, servers, redlock.Options{ExtendEvery: 50 * time.Millisecond})
	begun := time.Now()
	err := m.Do(t.Context(), "job", func(ctx context.Context, l *redlock.Lock) error {
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, redlock.ErrLost) || !strings.Contains(cause.Error(), "held for as long as MaxHold allows: 500ms") {
			t.Errorf("the cause is %v; want ErrLost that names MaxHold", cause)
		}
		if err := l.Extend(t.Context()); !errors.Is(err, redlock.ErrLost) {
			t.Errorf("Extend: %v; want ErrLost", err)
		}
		return nil
	}, redlock.LockOptions{MaxHold: 500 * time.Millisecond})
	if took := time.Since(begun); !errors.Is(err, redlock.ErrLost) || took < 500*time.Millisecond {
		t.Errorf("Do: %v after %v; want ErrLost after 500ms", err, took)
	}
	// The name is free immediately, because the work has ended.
	l, err := tryLock(t, m, "job")
	require.OK(t)(err)
	if time.Until(l.Until()) < time.Minute {
		t.Errorf("MaxHold of the first lock applies to the second: valid until %v", l.Until())
	}
	unlock(t, l)
}

// The owner is recorded as long as the lock lives, and no longer.
func TestOwner(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	clients := clientsOf(t, servers)
	m := dial(t, servers, redlock.Options{Owner: "importer"})
	watcher := dial(t, servers, redlock.Options{})
	owner := func() redlock.Owner {
		status, err := watcher.Status(t.Context(), "{a}job")
		require.OK(t)(err)
		return status.Holder.Owner
	}
	host, err := os.Hostname()
	require.OK(t)(err)
	l := lock(t, m, "{a}job")
	wait(t, "the owner", func() bool { return owner() != redlock.Owner{} })
	if o := owner(); o.Host != host || o.PID != os.Getpid() || time.Since(o.Since).Abs() > time.Hour || o.Text != "importer" {
		t.Errorf("owner %+v, want this process and importer", o)
	}
	since := owner().Since
	lockKeys := []string{"{a}job", "redlock:owner:={a}job"}
	wait(t, "both keys on the first server", func() bool { return countKeys(t, clients[:1], lockKeys[0])+countKeys(t, clients[:1], lockKeys[1]) == 2 })
	for _, key := range lockKeys {
		require.OK(t)(clients[0].Do(t.Context(), clients[0].B().Pexpire().Key(key).Milliseconds(600_000).Build()).Error())
	}
	extend(t, l)
	wait(t, "an owner that lives as long as the lock", func() bool {
		for _, key := range lockKeys {
			ms, err := clients[0].Do(t.Context(), clients[0].B().Pttl().Key(key).Build()).AsInt64()
			if err != nil || ms < 1_800_000 {
				return false
			}
		}
		return true
	})
	if o := owner(); !o.Since.Equal(since) {
		t.Errorf("held since %v after an extension, want %v", o.Since, since)
	}
	unlock(t, l)
	wait(t, "no owner", func() bool { return countKeys(t, clients, "redlock:owner:={a}job") == 0 })

	// The lock is handed over within the process, to a lock with another owner.
	l = lock(t, m, "{a}job")
	next := make(chan *redlock.Lock)
	go func() { next <- lock(t, m, "{a}job", redlock.LockOptions{Owner: "exporter"}) }()
	wait(t, "the next waiter in the queue", func() bool { return redlock.LocalWaiters(m, "{a}job") == 1 })
	unlock(t, l)
	l = <-next
	wait(t, "the next owner", func() bool { return owner().Text == "exporter" })
	unlock(t, l)
	wait(t, "no owner", func() bool { return countKeys(t, clients, "redlock:owner:={a}job") == 0 })

	// Status shows neither the owner of an earlier lock nor a malformed record.
	l = lock(t, watcher, "{a}job")
	for i, client := range clients {
		hset := client.B().Hset().Key("redlock:owner:={a}job").FieldValue().FieldValue("value", "other").FieldValue("text", "nobody").Build()
		if i == 1 {
			hset = client.B().Set().Key("redlock:owner:={a}job").Value("x").Build()
		}
		require.OK(t)(client.Do(t.Context(), hset).Error())
	}
	if o := owner(); o != (redlock.Owner{}) {
		t.Errorf("owner %+v, want none", o)
	}
	unlock(t, l)
}
