package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// awaitSubscribers waits until every server has n listening managers.
func awaitSubscribers(t testing.TB, clients []rueidis.Client, n int) {
	t.Helper()
	wait(t, fmt.Sprint(n, " subscribers"), func() bool {
		for _, c := range clients {
			channels, err := c.Do(t.Context(), c.B().PubsubChannels().Pattern("redlock:*").Build()).AsStrSlice()
			if err != nil || len(channels) != n {
				return false
			}
		}
		return true
	})
}

// A waiter that was disconnected until its grant expired does not treat the late message as a lock,
// whatever the order of arrival.
func TestGrantArrivesLate(t *testing.T) {
	t.Parallel()
	const timeout = 150 * time.Millisecond
	const outage = 16 * timeout // a grant lives for 10 timeouts
	for _, n := range redistest.Cases([]int{3}, []int{1, 3, 5}) {
		for name, extra := range map[string][connections]time.Duration{
			"together":                {0, 0},
			"messages 100 ms later":   {0, 100 * time.Millisecond},
			"messages 200 ms later":   {0, 200 * time.Millisecond},
			"messages 100 ms earlier": {100 * time.Millisecond, 0},
		} {
			if !redistest.Long && name != "messages 100 ms later" {
				continue
			}
			t.Run(fmt.Sprintf("%d servers, %s", n, name), func(t *testing.T) {
				t.Parallel()
				servers := redistest.Nodes(t, n)
				clients := clientsOf(t, servers)
				var relays []*relay
				var relayURLs []string
				for _, s := range servers {
					r := startRelay(t, "unix", s.Socket())
					relays, relayURLs = append(relays, r), append(relayURLs, r.url())
				}
				opt := redlock.Options{TTL: time.Hour, RetryMax: 40 * time.Millisecond}
				opt.NodeTimeout = timeout
				a, c := dial(t, servers, opt), dial(t, servers, opt)
				b, err := redlock.Dial(relayURLs, opt)
				require.OK(t)(err)
				defer b.Close()

				first := lock(t, a, "job")
				ctx := t.Context()
				var heldByC atomic.Bool
				var waiting sync.WaitGroup
				for range 3 {
					waiting.Go(func() {
						err := b.Do(ctx, "job", func(ctx context.Context, _ *redlock.Lock) error {
							heldBefore := heldByC.Load()
							// Simulate some work.
							select {
							case <-ctx.Done():
							case <-time.After(3 * time.Millisecond):
							}
							if heldBefore && heldByC.Load() {
								t.Error("the function ran while another client held the lock")
							}
							return nil
						})
						if err != nil && !errors.Is(err, redlock.ErrLost) { // ErrLost is possible on a machine that stalls
							t.Errorf("Do: %v", err)
						}
					})
				}
				awaitWaiters(t, a, "job", 1)
				awaitListener(t, clients, b)
				for _, r := range relays {
					r.slow(commands, 5*time.Millisecond)
					r.slow(messages, 5*time.Millisecond)
					r.hold(commands, outage+extra[commands])
					r.hold(messages, outage+extra[messages])
				}
				unlock(t, first)
				var held *redlock.Lock
				wait(t, "the grant to expire", func() bool {
					held, err = c.TryLock(ctx, "job")
					if err != nil && !errors.Is(err, redlock.ErrHeld) && !errors.Is(err, redlock.ErrNoQuorum) {
						t.Fatal(err)
					}
					return err == nil
				})
				heldByC.Store(true)
				var before [connections]int
				for kind := range before {
					before[kind] = relays[0].chunks(kind)
				}
				// The waiter has received the grant and asked a few more times.
				wait(t, "the waiter to be connected again", func() bool {
					return relays[0].chunks(messages) > before[messages] && relays[0].chunks(commands) > before[commands]+20
				})
				heldByC.Store(false)
				unlock(t, held)
				waiting.Wait()
			})
		}
	}
}
