package redlock_test

import (
	"fmt"
	"strconv"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// Tokens grow when a minority of the counters is lost, even within the second in which the
// counters of a name started.
func TestTokensOfNewNames(t *testing.T) {
	t.Parallel()
	names := redistest.Cases(15, 5000)
	servers := redistest.Nodes(t, 5)
	clients := clientsOf(t, servers)
	opt := redlock.Options{Fencing: true}
	managers := []*redlock.Manager{dial(t, servers, opt), dial(t, servers, opt), dial(t, servers, opt)}
	for i := range names {
		name := fmt.Sprint("young", i)
		var last uint64
		next := func(m *redlock.Manager) {
			t.Helper()
			l := lock(t, m, name)
			if l.Token() <= last {
				t.Errorf("%s: token %d after %d", name, l.Token(), last)
			}
			last = l.Token()
			unlock(t, l)
		}
		for j := range 10 {
			next(managers[j%3])
		}
		for _, j := range []int{i % 5, (i/5 + i + 1) % 5} {
			clients[j].Do(t.Context(), clients[j].B().Del().Key("redlock:token:{"+name+"}").Build())
		}
		next(managers[i%3])
	}
}

// Tokens grow even if all counters have lost their last increments, as after a restart.
func TestTokensAfterCountersWentBack(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	clients := clientsOf(t, servers)
	m := dial(t, servers, redlock.Options{Fencing: true})
	var last, first uint64
	for i := range 5 {
		l := lock(t, m, "job")
		last = l.Token()
		if i == 0 {
			first = last
		}
		unlock(t, l)
	}
	wait(t, "a later second on the servers' clocks", func() bool {
		seconds, err := clients[0].Do(t.Context(), clients[0].B().Time().Build()).AsStrSlice()
		return err == nil && seconds[0]+"000000" > strconv.FormatUint(last, 10)
	})
	for _, client := range clients {
		set := client.B().Set().Key("redlock:token:{job}").Value(strconv.FormatUint(first, 10)).Build()
		require.OK(t)(client.Do(t.Context(), set).Error())
	}
	l := lock(t, m, "job")
	if l.Token() <= last {
		t.Errorf("token %d after %d", l.Token(), last)
	}
	unlock(t, l)
}

// Tokens grow regardless of the client and of lost counters.
func TestTokens(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 5)
	clients := clientsOf(t, servers)
	opt := redlock.Options{Fencing: true}
	managers := []*redlock.Manager{dial(t, servers, opt), dial(t, servers, opt), dial(t, servers, opt)}
	var last uint64
	next := func(m *redlock.Manager) {
		t.Helper()
		l := lock(t, m, "job")
		if l.Token() <= last {
			t.Errorf("token %d after %d", l.Token(), last)
		}
		last = l.Token()
		unlock(t, l)
	}
	for i := range 10 {
		next(managers[i%3])
	}
	for range redistest.Cases(2, 5) { // any two servers may lose their counters if the others have the last token
		wait(t, "all servers to have the token", func() bool {
			for _, client := range clients {
				counter, err := client.Do(t.Context(), client.B().Get().Key("redlock:token:{job}").Build()).AsInt64()
				if err != nil || uint64(counter) < last {
					return false
				}
			}
			return true
		})
		for _, client := range clients[:2] {
			client.Do(t.Context(), client.B().Del().Key("redlock:token:{job}").Build())
		}
		next(managers[0])
		clients = append(clients[2:], clients[:2]...)
	}
	// Use another majority each time. Two majorities have a server in common.
	for i := range servers {
		servers[i].Freeze(t)
		servers[(i+1)%5].Freeze(t)
		next(managers[i%3])
		servers[i].Thaw(t)
		servers[(i+1)%5].Thaw(t)
		for _, m := range managers {
			awaitAnswers(t, m)
		}
	}
	wait(t, "a later second on the servers' clocks", func() bool {
		seconds, err := clients[0].Do(t.Context(), clients[0].B().Time().Build()).AsStrSlice()
		return err == nil && seconds[0]+"000000" > strconv.FormatUint(last, 10)
	})
	for _, client := range clients {
		client.Do(t.Context(), client.B().Del().Key("redlock:token:{job}").Build())
	}
	next(managers[1])
}

// Tokens grow when all servers restart with counters that lack the last tokens, as an append-only
// file or a snapshot may, and vote within the same second.
func TestTokensAfterRestart(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			servers := redistest.Nodes(t, n)
			m := dial(t, servers, redlock.Options{Fencing: true})
			var last uint64
			next := func() {
				t.Helper()
				l := lock(t, m, "job")
				if l.Token() <= last {
					t.Errorf("token %d after %d", l.Token(), last)
				}
				last = l.Token()
				unlock(t, l)
			}
			next()
			for _, client := range clientsOf(t, servers) {
				require.OK(t)(client.Do(t.Context(), client.B().Save().Build()).Error())
			}
			for range 5 {
				next()
			}
			for range 2 {
				for _, server := range servers {
					server.Restart(t, true)
				}
				wait(t, "the servers to vote", func() bool { return m.SkipQuarantine(t.Context()) == nil })
				for range 5 {
					next()
				}
			}
		})
	}
}
