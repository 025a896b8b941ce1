package redlock_test

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
	"retwis/redlock/internal/server"
)

// A broken lock goes to the next waiter immediately, and Extend of the broken lock returns ErrLost.
func TestBreak(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	a, b, operator := dial(t, servers, redlock.Options{}), dial(t, servers, patient()), dial(t, servers, redlock.Options{})
	l := lock(t, a, "job")
	next := make(chan *redlock.Lock)
	go func() {
		l, err := b.Lock(t.Context(), "job")
		if err != nil {
			t.Error(err)
		}
		next <- l
	}()
	awaitWaiters(t, operator, "job", 1)
	before, err := operator.Break(t.Context(), "job")
	require.OK(t)(err)
	if !before.Held || before.Holder.Value != redlock.Value(l) {
		t.Errorf("Break removed %+v, want %s", before.Holder, redlock.Value(l))
	}
	other := <-next // long before the lock expires or the waiter asks again
	if err := tryExtend(t, l); !errors.Is(err, redlock.ErrLost) {
		t.Errorf("Extend of a broken lock: %v; want ErrLost", err)
	}
	unlock(t, other)

	// Break of a free name does nothing.
	if before, err := operator.Break(t.Context(), "job"); err != nil || before.Undecided {
		t.Errorf("Break of a free name: %+v, %v", before, err)
	}
	// Break also removes a value that only a minority has.
	client := servers[1].Client(t)
	client.Do(t.Context(), client.B().Set().Key("job").Value(server.NewValue()).Build())
	if _, err := operator.Break(t.Context(), "job"); err != nil {
		t.Error(err)
	}
	if n := countKeys(t, clientsOf(t, servers), "job"); n != 0 {
		t.Errorf("%d servers still have the key", n)
	}
	servers[0].Kill(t)
	servers[1].Kill(t)
	if _, err := operator.Break(t.Context(), "job"); !errors.Is(err, redlock.ErrNoQuorum) {
		t.Errorf("Break with a majority unreachable: %v; want ErrNoQuorum", err)
	}
}

// Status without a name reports which servers vote.
func TestStatusOfServers(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	m, err := redlock.Dial(urls(servers), generous(redlock.Options{}))
	require.OK(t)(err)
	defer m.Close()
	one, err := redlock.Dial(urls(servers[:1]), generous(redlock.Options{}))
	require.OK(t)(err)
	defer one.Close()
	wait(t, "the server to vote", func() bool { return one.SkipQuarantine(t.Context()) == nil })
	unlock(t, lock(t, one, "job"))
	servers[2].Kill(t)
	var status redlock.Status
	wait(t, "the end of a connection", func() bool {
		var err error
		status, err = m.Status(t.Context(), "")
		s := status.Servers
		return err == nil && s[2].Err != nil && s[0].Err == nil && s[1].Err == nil
	})
	if status.Voting != 1 || status.Quorum != 2 || status.Held {
		t.Errorf("%+v; want one voting server", status)
	}
	if h := status.Servers[0]; !h.Votes || h.Quarantined != 0 || time.Since(h.Since).Abs() > time.Hour || h.LongestTTL != time.Hour || h.Err != nil {
		t.Errorf("a voting server with a lock: %+v", h)
	}
	// Status declares no TTL.
	if h := status.Servers[1]; h.Votes || h.Quarantined <= 0 || !h.Since.IsZero() || h.LongestTTL != 0 || h.Err != nil {
		t.Errorf("a new server: %+v", h)
	}
	if h := status.Servers[2]; h.Votes || h.Err == nil {
		t.Errorf("a dead server: %+v", h)
	}
}

// Status reports how many servers vote, and the log reports changes.
func TestVoting(t *testing.T) {
	t.Parallel()
	own := redistest.Own(t)
	var log lockedBuffer
	m, err := redlock.Dial([]string{own.URL()}, generous(redlock.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}))
	require.OK(t)(err)
	defer m.Close()
	voting := func(want int, message string) {
		t.Helper()
		wait(t, message, func() bool {
			status, err := m.Status(t.Context(), "")
			return err == nil && status.Voting == want && strings.Contains(log.String(), message)
		})
	}
	voting(0, `msg="redlock: server does not vote"`)
	require.OK(t)(m.SkipQuarantine(t.Context()))
	voting(1, `msg="redlock: server votes"`)
	own.Kill(t)
	if _, err := m.TryLock(t.Context(), "job"); !errors.Is(err, redlock.ErrNoQuorum) {
		t.Errorf("TryLock: %v; want ErrNoQuorum", err)
	}
	voting(0, `msg="redlock: server disconnected"`)
	if n := strings.Count(log.String(), "\n"); n != 3 {
		t.Errorf("%d log lines, want 3: %s", n, log.String())
	}
}

// lockedBuffer is a buffer for concurrent use.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
