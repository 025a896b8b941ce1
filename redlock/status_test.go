package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"retwis/internal/redistest"
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
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := m.Lock(ctx, name)
				ended <- err
			}()
			listensOn(t, clientsOf(t, servers), m)
			cancel()
			if err := <-ended; !errors.Is(err, redlock.ErrNoQuorum) {
				t.Fatalf("Lock: %v; want ErrNoQuorum", err)
			}
			status, err := m.Status(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			if holder, held := status.Holder(); held {
				t.Errorf("%+v holds it", holder)
			}
			if !status.Undecided() {
				t.Errorf("%+v: servers that do not vote decide", status)
			}
			for _, n := range status {
				if n.Value != "" || n.Quarantined == 0 {
					t.Errorf("%+v: a server that does not vote has a value", n)
				}
			}
		})
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	a := redlock.NodeStatus{Value: "a", TTL: 2 * time.Second, Waiters: 1}
	later := redlock.NodeStatus{Value: "a", TTL: 3 * time.Second, Waiters: 4}
	b := redlock.NodeStatus{Value: "b", TTL: time.Second}
	free := redlock.NodeStatus{}
	young := redlock.NodeStatus{Value: "a", TTL: time.Second, Quarantined: time.Second}
	silent := redlock.NodeStatus{Err: errors.New("silent")}
	list := redlock.NodeStatus{Err: redlock.ErrNotLock}
	for name, test := range map[string]struct {
		status          redlock.Status
		held, undecided bool
	}{
		"all":                      {redlock.Status{a, later, a}, true, false},
		"a majority":               {redlock.Status{a, b, later}, true, false},
		"a majority that answers":  {redlock.Status{a, silent, later}, true, false},
		"nobody":                   {redlock.Status{free, free, free}, false, false},
		"some votes":               {redlock.Status{a, b, free}, false, false},
		"one silent":               {redlock.Status{free, silent, free}, false, false},
		"one silent, one vote":     {redlock.Status{free, silent, a}, false, true},
		"all silent":               {redlock.Status{silent, silent, silent}, false, true},
		"one young":                {redlock.Status{young, a, free}, false, true},
		"one young, the rest free": {redlock.Status{young, free, free}, false, false},
		"all young":                {redlock.Status{young, young, young}, false, true},
		"half of an even number":   {redlock.Status{a, a, free, free}, false, false},
		"half, and a silent one":   {redlock.Status{a, a, free, silent}, false, true},
		"lists":                    {redlock.Status{list, list, list}, false, false},
		"one list":                 {redlock.Status{list, a, later}, true, false},
		"one list, one silent":     {redlock.Status{list, a, silent}, false, true},
	} {
		holder, held := test.status.Holder()
		if held != test.held || test.status.Undecided() != test.undecided {
			t.Errorf("%s: held %v, undecided %v; want %v, %v", name, held, test.status.Undecided(), test.held, test.undecided)
		}
		if held && (holder.Value != "a" || holder.TTL != 2*time.Second || holder.Waiters != 4) {
			t.Errorf("%s: %+v", name, holder)
		}
	}
}

// The holder of a name can ask for its status, and break it.
func TestStatusUnderTheLock(t *testing.T) {
	t.Parallel()
	m := dial(t, redistest.Nodes(t, 1), redlock.Options{})
	err := m.Do(t.Context(), "job", func(ctx context.Context, l *redlock.Lock) error {
		status, err := m.Status(ctx, "job")
		if holder, held := status.Holder(); err != nil || !held || holder.Value != l.Value() {
			t.Errorf("%+v %v", holder, err)
		}
		_, err = m.Break(ctx, "job")
		return err
	})
	if !errors.Is(err, redlock.ErrLost) {
		t.Errorf("%v; want ErrLost", err)
	}
}
