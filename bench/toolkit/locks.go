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
	waitTimeout = 2 * time.Second // the timeout of one attempt with rueidislock
)

// locker acquires a lock and returns a function that releases it.
type locker func(ctx context.Context, name string) (unlock func() error, err error)

// locks measures locks on several servers.
type locks struct {
	opt     measure.Options
	sockets []string
	rounds  int      // part of each lock name, so that no name is reused
	close   []func() // called in reverse order at the end
}

// Locks measures uncontended and contended locks.
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
	var redlocks, redsyncs, rueidislocks []locker // one per simulated process
	for range processes {
		redlockLocker, err := b.redlock(ctx)
		if err != nil {
			return "", err
		}
		rueidisLocker, err := b.rueidislock()
		if err != nil {
			return "", err
		}
		redlocks, redsyncs, rueidislocks = append(redlocks, redlockLocker), append(redsyncs, b.redsync()), append(rueidislocks, rueidisLocker)
	}
	var text strings.Builder
	fmt.Fprintf(&text, `## Locks

Compared with other Go packages on the same %d servers. The first columns are lock/unlock pairs per
second: uncontended locks by one goroutine and by %d, then a single lock for which these %d compete.
In the next test, %d goroutines compete for a single lock and hold it for %v. A hand-over is an
acquisition by another goroutine than the previous holder. Fairness is Jain's index of the number of
acquisitions; 1 means equal shares. The longest wait is measured with %d processes of %d goroutines
each.

`, lockServers, lockers, lockers, competitors, lockWork, processes, competitors)
	err := measure.Table{
		Rounds: opt.Rounds,
		Head: []string{
			"", "1 goroutine", "ratio", "64 goroutines", "ratio", "64 on one lock", "ratio",
			"hand-overs/s", "fairness", "longest wait, ms",
		},
		Formats: []string{"", "", "", "", "%.3f", ""},
		Sides: []measure.Side{
			{Name: "redlock", Base: 1, Measure: b.compare(ctx, redlocks)},
			{Name: "redsync over go-redis", Base: 1, Measure: b.compare(ctx, redsyncs)},
			{Name: "rueidislock, five keys on one server", Base: 1, Measure: b.compare(ctx, rueidislocks)},
		},
	}.Write(&text)
	return text.String(), err
}

// compare returns a function that measures uncontended and contended locks.
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

// contest is the result of competing goroutines.
type contest struct {
	rate    float64 // lock/unlock pairs per second
	changes float64 // changes of the holder per second
	jain    float64 // fairness
	longest time.Duration
}

// compete lets n goroutines acquire locks repeatedly and hold them for the duration of the work. The
// goroutines are spread over the processes in all.
func (b *locks) compete(ctx context.Context, all []locker, n int, work time.Duration, name func(g, i int) string) (contest, error) {
	ctx, cancel := context.WithTimeout(ctx, b.opt.Length+30*time.Second)
	defer cancel()
	warm := time.Now().Add(b.opt.Length / 10) // the end of the warm-up
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

// redlock returns a locker with its own manager, as in a separate process.
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

// redsync returns a locker of redsync over go-redis.
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

// rueidislock returns a locker of rueidislock. The locker uses a single server, with as many keys as
// the other sides have servers.
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
		for { // retries, because rueidislock can forget a waiter
			waiting, cancel := context.WithCancel(ctx)
			timer := time.AfterFunc(waitTimeout, cancel)
			_, unlock, err := l.WithContext(waiting, name)
			timer.Stop()
			if err == nil {
				return func() error { unlock(); cancel(); return nil }, nil
			}
			if cancel(); ctx.Err() != nil {
				return nil, err
			}
		}
	}, nil
}
