package redlock_test

import (
	"context"
	"errors"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// Waiters on servers that do not vote do not make a name held.
func TestStatusOfQuarantinedServers(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	for name, manager := range map[string]func() (*redlock.Manager, error){
		"Dial": func() (*redlock.Manager, error) { return redlock.Dial(urls(servers), generous(redlock.Options{})) },
		"New": func() (*redlock.Manager, error) {
			return redlock.New(clientsOf(t, servers), generous(redlock.Options{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := manager()
			require.OK(t)(err)
			defer m.Close()
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := m.Lock(ctx, name)
				ended <- err
			}()
			awaitListener(t, clientsOf(t, servers), m)
			cancel()
			if err := <-ended; !errors.Is(err, redlock.ErrNoQuorum) {
				t.Fatalf("Lock: %v; want ErrNoQuorum", err)
			}
			status, err := m.Status(t.Context(), name)
			require.OK(t)(err)
			if status.Held || status.Voting > 0 {
				t.Errorf("held %v by %+v, %d servers vote; want a free name and no votes", status.Held, status.Holder, status.Voting)
			}
			if !status.Undecided {
				t.Errorf("%+v; want an undecided status", status)
			}
			for _, n := range status.Servers {
				if n.Holder.Value != "" || n.Quarantined == 0 {
					t.Errorf("%+v; want a quarantined server without a value", n)
				}
			}
		})
	}
}

// The holder of a lock can call Status and Break with the name of the lock.
func TestStatusUnderTheLock(t *testing.T) {
	t.Parallel()
	m := dial(t, redistest.Nodes(t, 1), redlock.Options{})
	err := m.Do(t.Context(), "job", func(ctx context.Context, l *redlock.Lock) error {
		status, err := m.Status(ctx, "job")
		if err != nil || !status.Held || status.Holder.Value != redlock.Value(l) {
			t.Errorf("Status: %+v, %v; want this lock", status.Holder, err)
		}
		_, err = m.Break(ctx, "job")
		return err
	})
	if !errors.Is(err, redlock.ErrLost) {
		t.Errorf("Do: %v; want ErrLost", err)
	}
}
