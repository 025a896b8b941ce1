package redlock_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/redlock"
)

// A server that missed handovers within a process still has an earlier value of the lock.
// It is extended and released there as well.
func TestMissedHandovers(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct{ begin, end func(*relay) }{
		"connections broken": {
			func(r *relay) { r.change(func() { r.refuses = true }); r.cut() },
			func(r *relay) { r.change(func() { r.refuses = false }) },
		},
		"server slow": {
			func(r *relay) { r.hold(commands, time.Hour) },
			func(r *relay) { r.hold(commands, 0) },
		},
	} {
		for _, n := range redistest.Cases([]int{3}, []int{1, 3}) {
			for _, extends := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, %d servers, extends %v", name, n, extends), func(t *testing.T) {
					t.Parallel()
					servers := redistest.Nodes(t, n)
					var relays []*relay
					var through []string
					for _, s := range servers {
						r := relayed(t, "unix", s.Socket())
						relays, through = append(relays, r), append(through, r.url())
					}
					// Nothing expires during the test.
					opt := redlock.Options{TTL: 10 * time.Minute, NodeTimeout: nodeTimeout}
					other := dial(t, servers, opt)
					m, err := redlock.Dial(through, opt)
					if err != nil {
						t.Fatal(err)
					}
					defer m.Close()

					l := lock(t, m, "job")
					next := make(chan *redlock.Lock)
					for i := range 3 {
						go func() { next <- lock(t, m, "job") }()
						wait(t, "a waiter", func() bool { return redlock.LocalWaiters(m, "job") == i+1 })
					}
					for _, r := range relays[:n/2+1] {
						fault.begin(r)
					}
					if err := l.Extend(t.Context()); !errors.Is(err, redlock.ErrNoQuorum) {
						t.Fatal(err)
					}
					for range 3 {
						unlock(t, l)
						l = <-next
					}
					for _, r := range relays {
						fault.end(r)
					}
					if extends {
						wait(t, "an extension", func() bool {
							err := l.Extend(t.Context())
							if errors.Is(err, redlock.ErrLost) {
								t.Fatal(err)
							}
							return err == nil
						})
					}
					if err := l.Unlock(t.Context()); errors.Is(err, redlock.ErrLost) {
						t.Error(err)
					}
					unlock(t, lock(t, other, "job"))
				})
			}
		}
	}
}
