package redlock_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/redlock"
)

// waitInLine has a manager wait for a name until it is closed.
func waitInLine(all *sync.WaitGroup, m *redlock.Manager, name string) {
	all.Go(func() { _, _ = m.Lock(context.Background(), name) })
}

// Killed waiters do not delay the next one, regardless of their number.
func TestDeadWaiters(t *testing.T) {
	t.Parallel()
	for n, dead := range map[int]int{1: 5, 3: 20, 5: 5} {
		t.Run(fmt.Sprint(n, " servers"), func(t *testing.T) {
			t.Parallel()
			servers := redistest.Nodes(t, n)
			clients := clientsOf(t, servers)
			// A grant is for 20 s: the lock would not be had in time if one of them
			// went to the dead.
			opt := redlock.Options{NodeTimeout: 2 * time.Second, TTL: time.Minute}
			a := dial(t, servers, opt)
			var relays []*relay
			var through []string
			for _, s := range servers {
				r := relayed(t, "unix", s.Socket())
				relays, through = append(relays, r), append(through, r.url())
			}
			held := lock(t, a, "job")
			var all sync.WaitGroup
			defer all.Wait()
			var gone []*redlock.Manager
			defer func() {
				for _, m := range gone {
					all.Go(func() { _ = m.Close() })
				}
			}()
			for i := range dead {
				m, err := redlock.Dial(through, opt)
				if err != nil {
					t.Fatal(err)
				}
				gone = append(gone, m)
				waitInLine(&all, m, "job")
				waiters(t, a, "job", int64(i+1))
			}
			subscribers(t, clients, dead)
			listening(t, clients, "job", dead)
			// As when they are killed: the connections end, and nothing else is said.
			for _, r := range relays {
				r.change(func() { r.refuses = true })
				r.cut()
			}
			subscribers(t, clients, 0)
			b := dial(t, servers, opt)
			got := make(chan time.Time)
			go func() {
				l := lock(t, b, "job")
				now := time.Now()
				unlock(t, l)
				got <- now
			}()
			waiters(t, a, "job", int64(dead+1))
			subscribers(t, clients, 1)
			begun := time.Now()
			unlock(t, held)
			took := (<-got).Sub(begun)
			t.Logf("the next one got the lock %v after its release", took)
			if took > 5*time.Second {
				t.Errorf("the next one got the lock %v after its release", took)
			}
		})
	}
}

// attempts returns the records of the waiters of a name.
func attempts(t testing.TB, client rueidis.Client, name string) map[string][]string {
	t.Helper()
	all, err := client.Do(t.Context(), client.B().Hgetall().Key("redlock:attempts:{"+name+"}").Build()).AsStrMap()
	if err != nil {
		t.Fatal(err)
	}
	split := map[string][]string{}
	for member, text := range all {
		split[member] = strings.Fields(text)
	}
	return split
}

// listening waits until so many waiters have asked while they listened.
func listening(t testing.TB, clients []rueidis.Client, name string, n int) {
	t.Helper()
	wait(t, fmt.Sprint(n, " waiters that listen"), func() bool {
		for _, c := range clients {
			listen := 0
			for _, fields := range attempts(t, c, name) {
				if fields[2] == "1" {
					listen++
				}
			}
			if listen != n {
				return false
			}
		}
		return true
	})
}

// A node of a Cluster does not know which waiters listen. It skips those that have not asked
// again in time.
func TestDeadWaitersOnACluster(t *testing.T) {
	t.Parallel()
	const dead = 5
	cluster := redistest.Cluster(t, 3)
	client := cluster.Client(t)
	// A grant is for five seconds.
	opt := redlock.Options{TTL: 5 * time.Second, NodeTimeout: 500 * time.Millisecond, RetryMax: 100 * time.Millisecond}
	manager := func(client rueidis.Client) *redlock.Manager {
		m, err := redlock.New([]rueidis.Client{client}, opt)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close() })
		return m
	}
	a := manager(client)
	var held *redlock.Lock
	wait(t, "the masters to have been up for the ttl", func() bool {
		var err error
		held, err = a.TryLock(t.Context(), "job")
		return err == nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	defer cancel()
	all.Go(func() {
		for ctx.Err() == nil {
			select {
			case <-time.After(time.Second):
				_ = held.Extend(ctx)
			case <-ctx.Done():
			}
		}
	})
	for i := range dead {
		theirs := cluster.Client(t)
		waitInLine(&all, manager(theirs), "job")
		waiters(t, a, "job", int64(i+1))
		theirs.Close()
	}
	wait(t, "the time by which they should have asked", func() bool {
		now := time.Now().UnixMilli()
		known := attempts(t, client, "job")
		for _, fields := range known {
			if again, err := strconv.ParseInt(fields[1], 10, 64); err != nil || again >= now {
				return false
			}
		}
		return len(known) == dead
	})
	b := manager(client)
	got := make(chan time.Time)
	go func() {
		l := lock(t, b, "job")
		now := time.Now()
		unlock(t, l)
		got <- now
	}()
	waiters(t, a, "job", dead+1)
	begun := time.Now()
	unlock(t, held)
	if took := (<-got).Sub(begun); took > 3*time.Second {
		t.Errorf("the next one got the lock %v after its release", took)
	}
}
