package toolkit

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"retwis/bench/measure"
	"retwis/redlock"
)

const (
	lockServers = 5
	lockers     = 64 // goroutines of one process
	competitors = 16
	processes   = 4
	lockWork    = time.Millisecond
	lockTTL     = 8 * time.Second // the same for every side
	patience    = 2 * time.Second // with rueidislock
)

// locker waits for a name and returns a function that unlocks it.
type locker func(ctx context.Context, name string) (unlock func() error, err error)

// locks measures locks on separate servers.
type locks struct {
	opt     measure.Options
	sockets []string
	rounds  int      // so that no name is used twice
	close   []func() // what was opened
}

// Locks measures uncontended and contended names.
func Locks(ctx context.Context, opt measure.Options) (string, error) {
	b := &locks{opt: opt}
	defer func() {
		for _, end := range slices.Backward(b.close) {
			end()
		}
	}()
	for i := range lockServers {
		server := measure.NewServer(filepath.Join(opt.Dir, fmt.Sprint(i)), 0)
		b.close = append(b.close, server.End)
		if err := server.Start(ctx); err != nil {
			return "", err
		}
		b.sockets = append(b.sockets, server.Socket())
	}
	var ours, theirs, others []locker // a process each
	for range processes {
		own, err := b.redlock(ctx)
		if err != nil {
			return "", err
		}
		other, err := b.rueidislock()
		if err != nil {
			return "", err
		}
		ours, theirs, others = append(ours, own), append(theirs, b.redsync()), append(others, other)
	}
	var text strings.Builder
	fmt.Fprintf(&text, `## Locks

Compared with other Go packages, on the same %d servers: pairs of lock and unlock per second of
uncontended names, by one goroutine and by %d; of one name that these %d want; and of one name that
%d want and hold for %v, how often per second another one acquired it than the time before: one
that unlocks and locks again at once hands nothing over. Fairness is Jain's index of how often each
had it; 1 means equal shares. The longest wait is that of %d processes with %d goroutines each.

`, lockServers, lockers, lockers, competitors, lockWork, processes, competitors)
	err := measure.Table{
		Rounds: opt.Rounds,
		Head: []string{
			"", "alone", "ratio", "64 goroutines", "ratio", "64 on one name", "ratio",
			"one name, by another/s", "fairness", "longest wait, ms",
		},
		Formats: []string{"", "", "", "", "%.3f", ""},
		Sides: []measure.Side{
			{Name: "redlock", Base: 1, Measure: b.compare(ctx, ours)},
			{Name: "redsync over go-redis", Base: 1, Measure: b.compare(ctx, theirs)},
			{Name: "rueidislock, five keys on one server", Base: 1, Measure: b.compare(ctx, others)},
		},
	}.Write(&text)
	return text.String(), err
}

// compare measures uncontended names, and one that all want.
func (b *locks) compare(ctx context.Context, all []locker) func() ([]float64, error) {
	return func() ([]float64, error) {
		free := func(g, i int) string { return fmt.Sprintf("free:%d:%d:%d", b.rounds, g, i) }
		same := func(int, int) string { return fmt.Sprint("wanted:", b.rounds) }
		var results []contest
		for _, c := range []struct {
			processes, goroutines int
			work                  time.Duration
			name                  func(g, i int) string
		}{
			{1, 1, 0, free},
			{1, lockers, 0, free},
			{1, lockers, 0, same},
			{1, competitors, lockWork, same},
			{processes, processes * competitors, 0, same},
		} {
			b.rounds++
			result, err := b.compete(ctx, all[:c.processes], c.goroutines, c.work, c.name)
			if err != nil {
				return nil, err
			}
			results = append(results, result)
		}
		return []float64{
			results[0].rate, results[1].rate, results[2].rate, results[3].changes, results[3].jain,
			float64(results[4].longest.Milliseconds()),
		}, nil
	}
}

// contest is how goroutines fared.
type contest struct {
	rate    float64 // pairs of lock and unlock per second
	changes float64 // per second, how often the holder changed
	jain    float64 // fairness
	longest time.Duration
}

// compete lets n goroutines of some processes lock names again and again, and work.
func (b *locks) compete(ctx context.Context, all []locker, n int, work time.Duration, name func(g, i int) string) (contest, error) {
	ctx, cancel := context.WithTimeout(ctx, b.opt.Length+30*time.Second)
	defer cancel()
	warm := time.Now().Add(b.opt.Length / 10) // skips the rush at the start
	stop := warm.Add(b.opt.Length)
	times, waits := make([]float64, n), make([]time.Duration, n)
	var holder, changes atomic.Int64
	err := measure.Concurrently(n, n, func(g int) error {
		for i := 0; time.Now().Before(stop); i++ {
			begun := time.Now()
			unlock, err := all[g%len(all)](ctx, name(g, i))
			if err != nil {
				return err
			}
			waits[g] = max(waits[g], time.Since(begun))
			if begun.After(warm) {
				times[g]++
				if holder.Swap(int64(g)) != int64(g) {
					changes.Add(1)
				}
			}
			time.Sleep(work)
			if err := unlock(); err != nil {
				return err
			}
		}
		return nil
	})
	elapsed := time.Since(warm).Seconds()
	var sum, squares float64
	for _, t := range times {
		sum += t
		squares += t * t
	}
	return contest{
		sum / elapsed, float64(changes.Load()) / elapsed, sum * sum / (float64(n) * squares), slices.Max(waits),
	}, err
}

// redlock locks with a manager, as a process has it.
func (b *locks) redlock(ctx context.Context) (locker, error) {
	urls := make([]string, len(b.sockets))
	for i, socket := range b.sockets {
		urls[i] = "unix://" + socket
	}
	m, err := redlock.Dial(urls, redlock.Options{TTL: lockTTL})
	if err != nil {
		return nil, err
	}
	b.close = append(b.close, func() { _ = m.Close() })
	return func(ctx context.Context, name string) (func() error, error) {
		l, err := m.Lock(ctx, name)
		if err != nil {
			return nil, err
		}
		return func() error { return l.Unlock(context.Background()) }, nil
	}, m.SkipQuarantine(ctx)
}

// redsync locks with redsync over go-redis.
func (b *locks) redsync() locker {
	var pools []redsyncredis.Pool
	for _, socket := range b.sockets {
		client := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
		b.close = append(b.close, func() { _ = client.Close() })
		pools = append(pools, goredis.NewPool(client))
	}
	rs := redsync.New(pools...)
	return func(ctx context.Context, name string) (func() error, error) {
		mutex := rs.NewMutex(name, redsync.WithExpiry(lockTTL), redsync.WithTries(1000))
		if err := mutex.LockContext(ctx); err != nil {
			return nil, err
		}
		return func() error {
			_, err := mutex.UnlockContext(context.Background())
			return err
		}, nil
	}
}

// rueidislock locks with rueidislock, which uses one server and sets several keys on it, as many
// as there would be servers.
func (b *locks) rueidislock() (locker, error) {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: b.sockets[:1], DialCtxFn: measure.DialUnix, ForceSingleClient: true},
		KeyMajority:  lockServers/2 + 1, KeyValidity: lockTTL, NoLoopTracking: true,
	})
	if err != nil {
		return nil, err
	}
	b.close = append(b.close, l.Close)
	return func(ctx context.Context, name string) (func() error, error) {
		for { // a waiter that it forgets waits for good
			waiting, giveUp := context.WithCancel(ctx)
			timer := time.AfterFunc(patience, giveUp)
			_, unlock, err := l.WithContext(waiting, name)
			timer.Stop()
			if err == nil {
				return func() error { unlock(); giveUp(); return nil }, nil
			}
			if giveUp(); ctx.Err() != nil {
				return nil, err
			}
		}
	}, nil
}
