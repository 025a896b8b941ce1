package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// queueUp makes a manager wait for a name until the manager is closed.
func queueUp(all *sync.WaitGroup, m *redlock.Manager, name string) {
	all.Go(func() { _, _ = m.Lock(context.Background(), name) })
}

// Killed waiters do not delay the next waiter, regardless of their number.
func TestDeadWaiters(t *testing.T) {
	t.Parallel()
	for n, dead := range redistest.Cases(map[int]int{1: 3, 3: 4}, map[int]int{1: 5, 3: 20, 5: 5}) {
		t.Run(fmt.Sprint(n, " servers"), func(t *testing.T) {
			t.Parallel()
			servers := redistest.Nodes(t, n)
			clients := clientsOf(t, servers)
			// A grant lasts ten minutes: if a dead waiter got a grant, the lock could not be
			// acquired.
			opt := redlock.Options{}
			a := dial(t, servers, opt)
			var relays []*relay
			var relayURLs []string
			for _, s := range servers {
				r := startRelay(t, "unix", s.Socket())
				relays, relayURLs = append(relays, r), append(relayURLs, r.url())
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
				m, err := redlock.Dial(relayURLs, generous(opt))
				require.OK(t)(err)
				gone = append(gone, m)
				queueUp(&all, m, "job")
				awaitWaiters(t, a, "job", int64(i+1))
			}
			awaitSubscribers(t, clients, dead)
			awaitListening(t, clients, "job", dead)
			// Simulate that the waiters were killed: their connections end without another
			// command.
			for _, r := range relays {
				r.change(func() { r.refuses = true })
				r.cut()
			}
			awaitSubscribers(t, clients, 0)
			b := dial(t, servers, opt)
			got := make(chan *redlock.Lock)
			go func() { got <- lock(t, b, "job") }()
			awaitWaiters(t, a, "job", int64(dead+1))
			awaitSubscribers(t, clients, 1)
			unlock(t, held)
			unlock(t, <-got)
		})
	}
}

// attempts returns the fields of the attempt record of each waiter of a name.
func attempts(t testing.TB, client rueidis.Client, name string) map[string][]string {
	t.Helper()
	all, err := client.Do(t.Context(), client.B().Hgetall().Key("redlock:attempts:{"+name+"}").Build()).AsStrMap()
	require.OK(t)(err)
	split := map[string][]string{}
	for member, text := range all {
		split[member] = strings.Fields(text)
	}
	return split
}

// awaitListening waits until n waiters have asked while they listen for a grant.
func awaitListening(t testing.TB, clients []rueidis.Client, name string, n int) {
	t.Helper()
	wait(t, fmt.Sprint(n, " waiters that listen"), func() bool {
		for _, c := range clients {
			listen := 0
			for _, fields := range attempts(t, c, name) {
				if fields[1] == "1" {
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

// On a Cluster, the scripts cannot detect which waiters listen. They skip waiters that have not
// asked again in time.
func TestDeadWaitersOnACluster(t *testing.T) {
	t.Parallel()
	const dead = 5
	client := redistest.Cluster(t, 3).Client(t)
	// A grant lasts two seconds.
	opt := redlock.Options{TTL: 2 * time.Second, NodeTimeout: 400 * time.Millisecond, RetryMax: 100 * time.Millisecond}
	managers := make([]*redlock.Manager, 2)
	for i := range managers {
		m, err := redlock.New([]rueidis.Client{client}, opt)
		require.OK(t)(err)
		t.Cleanup(func() { _ = m.Close() })
		managers[i] = m
	}
	a, b := managers[0], managers[1]
	var held *redlock.Lock
	wait(t, "the masters to have been up for the ttl", func() bool {
		var err error
		held, err = a.TryLock(t.Context(), "job")
		return err == nil
	})
	// Keep the lock from expiring, however long the test takes.
	require.OK(t)(client.Do(t.Context(), client.B().Persist().Key("job").Build()).Error())
	got := make(chan *redlock.Lock)
	go func() { got <- lock(t, b, "job") }()
	wait(t, "the waiter behind the dead waiters", func() bool {
		for i := range dead {
			addAbandonedWaiter(t, client, "job", fmt.Sprint("dead", i))
		}
		status, err := a.Status(t.Context(), "job")
		return err == nil && status.Servers[0].Holder.Waiters == dead+1
	})
	if err := held.Unlock(t.Context()); err != nil && !errors.Is(err, redlock.ErrLost) && !errors.Is(err, redlock.ErrNoQuorum) {
		t.Fatal(err)
	}
	// A dead waiter that was not skipped would hold the name for two seconds.
	value, err := client.Do(t.Context(), client.B().Get().Key("job").Build()).ToString()
	if err != nil && !rueidis.IsRedisNil(err) || strings.HasPrefix(value, "dead") {
		t.Errorf("the name was granted to %q (%v)", value, err)
	}
	_ = (<-got).Unlock(t.Context())
}

// addAbandonedWaiter adds a waiter that came first and is overdue to ask again.
func addAbandonedWaiter(t *testing.T, client rueidis.Client, name, value string) {
	t.Helper()
	member := "manager:" + value
	for _, command := range [][]string{
		{"ZADD", "redlock:waiters:{" + name + "}", "1", member},
		{"HSET", "redlock:attempts:{" + name + "}", member, "1 0"},
	} {
		require.OK(t)(client.Do(t.Context(), client.B().Arbitrary(command[0]).Keys(command[1]).Args(command[2:]...).Build()).Error())
	}
}
