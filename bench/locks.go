package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"retwis/internal/redis/redisserver"
	"retwis/redlock"
)

const (
	lockServers     = 5
	lockGoroutines  = 64
	lockCompetitors = 16
	lockWork        = time.Millisecond
)

// lockResult is what one side did in one round.
type lockResult struct {
	result
	jain    float64 // fairness among competitors; 1 means equal shares
	changes float64 // per second, how often the holder changed
}

// lockBench measures locks on its own servers.
type lockBench struct {
	opt     options
	servers []*redisserver.Server
	sockets []string
	names   int // counts the names used, so that none is used twice
}

func measureLocks(ctx context.Context, dir string, opt options) (string, error) {
	b := &lockBench{opt: opt}
	defer b.stop()
	for i := range lockServers {
		server, err := redisserver.Start(ctx, redisserver.Options{
			Dir:    filepath.Join(dir, "lock"+strconv.Itoa(i)),
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
			Config: []string{`save ""`},
		})
		if err != nil {
			return "", err
		}
		b.servers = append(b.servers, server)
		b.sockets = append(b.sockets, server.Socket())
	}
	m, _, err := ours(b.sockets, redlock.Options{})
	if err != nil {
		return "", err
	}
	defer m.Close()
	if err := m.SkipQuarantine(ctx); err != nil {
		return "", err
	}
	var text strings.Builder
	text.WriteString("## Locks\n\nCompared with other Go packages, on the same servers.\n\n")
	for _, part := range []func(context.Context, io.Writer) error{b.free, b.single, b.contended, b.faults} {
		if err := part(ctx, &text); err != nil {
			return "", err
		}
	}
	return text.String(), nil
}

func (b *lockBench) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, s := range b.servers {
		_ = s.Thaw()
		_ = s.Stop(ctx)
	}
}

// named is a side of a comparison.
type named struct {
	name string
	locker
}

// sides opens the lockers, in the order of their names.
func open(makers ...func() (string, locker, error)) ([]named, func(), error) {
	var sides []named
	end := func() {
		for _, s := range sides {
			s.close()
		}
	}
	for _, maker := range makers {
		name, l, err := maker()
		if err != nil {
			end()
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		sides = append(sides, named{name, l})
	}
	return sides, end, nil
}

// free measures uncontended names.
func (b *lockBench) free(ctx context.Context, out io.Writer) error {
	sides, end, err := open(
		func() (string, locker, error) {
			_, l, err := ours(b.sockets, redlock.Options{})
			return "redlock.Dial", l, err
		},
		func() (string, locker, error) {
			l, err := oursShared(b.sockets)
			return "redlock.New", l, err
		},
		func() (string, locker, error) {
			_, l, err := ours(b.sockets, redlock.Options{Fencing: true})
			return "redlock.Dial, with fencing tokens", l, err
		},
		func() (string, locker, error) {
			l, err := overGoRedis(b.sockets)
			return "redsync over go-redis", l, err
		},
		func() (string, locker, error) {
			l, err := overRueidis(b.sockets)
			return "redsync over rueidis", l, err
		},
		func() (string, locker, error) {
			l, err := withRueidislock(b.sockets, lockServers/2+1)
			return "rueidislock, five keys on one server", l, err
		},
	)
	if err != nil {
		return err
	}
	defer end()
	fmt.Fprintf(out, `### Uncontended names, %d servers

Pairs of lock and unlock per second. The ratios are to redsync over go-redis.

| | alone | p99 | ratio | %d goroutines | p99 | ratio |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
`, lockServers, lockGoroutines)
	alone, err := b.rounds(ctx, sides, 1)
	if err != nil {
		return err
	}
	many, err := b.rounds(ctx, sides, lockGoroutines)
	if err != nil {
		return err
	}
	base := slices.IndexFunc(sides, func(s named) bool { return s.name == "redsync over go-redis" })
	for i, s := range sides {
		fmt.Fprintf(out, "| %s | %s | %s | **%.2f** | %s | %s | **%.2f** |\n", s.name,
			thousands(int(alone[i].perSecond)), milliseconds(alone[i].p99), alone[i].perSecond/alone[base].perSecond,
			thousands(int(many[i].perSecond)), milliseconds(many[i].p99), many[i].perSecond/many[base].perSecond)
	}
	fmt.Fprintln(out)
	return nil
}

// single measures uncontended names on one server.
func (b *lockBench) single(ctx context.Context, out io.Writer) error {
	sides, end, err := open(
		func() (string, locker, error) {
			_, l, err := ours(b.sockets[:1], redlock.Options{})
			return "redlock.Dial", l, err
		},
		func() (string, locker, error) {
			l, err := withRedislock(b.sockets[:1])
			return "bsm/redislock", l, err
		},
		func() (string, locker, error) {
			l, err := withRueidislock(b.sockets[:1], 1)
			return "rueidislock, one key", l, err
		},
	)
	if err != nil {
		return err
	}
	defer end()
	many, err := b.rounds(ctx, sides, lockGoroutines)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `### Uncontended names, one server

| | %d goroutines | p99 | ratio to bsm/redislock |
| --- | ---: | ---: | ---: |
`, lockGoroutines)
	for i, s := range sides {
		fmt.Fprintf(out, "| %s | %s | %s | **%.2f** |\n", s.name, thousands(int(many[i].perSecond)),
			milliseconds(many[i].p99), many[i].perSecond/many[1].perSecond)
	}
	fmt.Fprintln(out)
	return nil
}

// rounds measures the sides in turn and returns the medians of each.
func (b *lockBench) rounds(ctx context.Context, sides []named, goroutines int) ([]result, error) {
	seen := make([][]result, len(sides))
	for range b.opt.rounds {
		for i, s := range sides {
			r, err := b.pairs(ctx, s.locker, goroutines)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			seen[i] = append(seen[i], r)
		}
	}
	medians := make([]result, len(sides))
	for i := range sides {
		medians[i] = middle(seen[i])
	}
	return medians, nil
}

// pairs locks and unlocks uncontended names.
func (b *lockBench) pairs(ctx context.Context, l locker, goroutines int) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, b.opt.length+30*time.Second)
	defer cancel()
	began := time.Now()
	stop := began.Add(b.opt.length)
	took := make([][]time.Duration, goroutines)
	errs := make([]error, goroutines)
	b.names++
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			name := fmt.Sprintf("free:%d:%d:", b.names, g)
			for i := 0; time.Now().Before(stop); i++ {
				begun := time.Now()
				unlock, err := l.lock(ctx, name+strconv.Itoa(i))
				if err == nil {
					err = unlock()
				}
				if err != nil {
					errs[g] = err
					return
				}
				took[g] = append(took[g], time.Since(begun))
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return result{}, err
	}
	return summarize(slices.Concat(took...), time.Since(began))
}

// middle returns the median round by throughput, with the median p99.
func middle(rounds []result) result {
	slices.SortFunc(rounds, func(a, b result) int { return int(a.perSecond - b.perSecond) })
	r := rounds[len(rounds)/2]
	slices.SortFunc(rounds, func(a, b result) int { return int(a.p99 - b.p99) })
	r.p99 = rounds[len(rounds)/2].p99
	return r
}

// contended measures one name that all competitors want.
func (b *lockBench) contended(ctx context.Context, out io.Writer) error {
	one := func(name string, maker func() (locker, error)) func() (string, []locker, error) {
		return func() (string, []locker, error) {
			l, err := maker()
			return name, slices.Repeat([]locker{l}, lockCompetitors), err
		}
	}
	each := func(name string, maker func() (locker, error)) func() (string, []locker, error) {
		return func() (string, []locker, error) {
			var all []locker
			for range lockCompetitors {
				l, err := maker()
				if err != nil {
					return name, all, err
				}
				all = append(all, l)
			}
			return name, all, nil
		}
	}
	dial := func() (locker, error) {
		_, l, err := ours(b.sockets, redlock.Options{})
		return l, err
	}
	makers := []func() (string, []locker, error){
		one("a mutex in memory", func() (locker, error) { return inMemory(), nil }),
		one("redlock, one process", dial),
		each("redlock, as 16 processes", dial),
		one("redsync over go-redis", func() (locker, error) { return overGoRedis(b.sockets) }),
		one("rueidislock, five keys on one server", func() (locker, error) { return withRueidislock(b.sockets, lockServers/2+1) }),
	}
	fmt.Fprintf(out, `### One name, %d competitors, %v of work each, %d servers

How often per second the lock was acquired, and acquired by another competitor than the
time before: one that unlocks and locks again at once hands nothing over. Fairness is Jain's
index of how often each had the lock; 1 means equal shares.

| | acquired/s | of the mutex | by another/s | fairness | wait, p50 | wait, p99 |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
`, lockCompetitors, lockWork, lockServers)
	seen := make([][]lockResult, len(makers))
	names := make([]string, len(makers))
	sides := make([][]locker, len(makers))
	defer func() {
		for _, side := range sides {
			for i, l := range side {
				if i == 0 || len(side) > 1 && &side[i] != &side[0] {
					l.close()
				}
			}
		}
	}()
	for i, maker := range makers {
		var err error
		if names[i], sides[i], err = maker(); err != nil {
			return fmt.Errorf("%s: %w", names[i], err)
		}
	}
	for range b.opt.rounds {
		for i := range makers {
			r, err := b.compete(ctx, sides[i])
			if err != nil {
				return fmt.Errorf("%s: %w", names[i], err)
			}
			seen[i] = append(seen[i], r)
		}
	}
	var limit float64
	for i := range makers {
		slices.SortFunc(seen[i], func(a, b lockResult) int { return int(a.perSecond - b.perSecond) })
		middle := seen[i][len(seen[i])/2]
		if i == 0 {
			limit = middle.perSecond
		}
		fmt.Fprintf(out, "| %s | %s | **%.2f** | %s | %.3f | %s | %s |\n", names[i], thousands(int(middle.perSecond)),
			middle.perSecond/limit, thousands(int(middle.changes)), middle.jain, milliseconds(middle.p50), milliseconds(middle.p99))
	}
	fmt.Fprintln(out)
	return nil
}

// compete lets all competitors lock the same name again and again.
func (b *lockBench) compete(ctx context.Context, competitors []locker) (lockResult, error) {
	ctx, cancel := context.WithTimeout(ctx, b.opt.length+30*time.Second)
	defer cancel()
	b.names++
	name := fmt.Sprintf("wanted:%d", b.names)
	warm := time.Now().Add(b.opt.length / 10) // skips the rush at the start
	stop := warm.Add(b.opt.length)
	waits := make([][]time.Duration, len(competitors))
	errs := make([]error, len(competitors))
	var holder, changes atomic.Int64
	var all sync.WaitGroup
	for i, l := range competitors {
		all.Go(func() {
			for time.Now().Before(stop) {
				begun := time.Now()
				unlock, err := l.lock(ctx, name)
				if err != nil {
					errs[i] = err
					return
				}
				if begun.After(warm) {
					waits[i] = append(waits[i], time.Since(begun))
					if holder.Swap(int64(i)) != int64(i) {
						changes.Add(1)
					}
				}
				time.Sleep(lockWork)
				if err := unlock(); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return lockResult{}, err
	}
	r, err := summarize(slices.Concat(waits...), time.Since(warm))
	return lockResult{result: r, jain: jain(waits), changes: float64(changes.Load()) / time.Since(warm).Seconds()}, err
}

// jain is Jain's fairness index of how often each had the lock.
func jain(waits [][]time.Duration) float64 {
	var sum, squares float64
	for _, w := range waits {
		sum += float64(len(w))
		squares += math.Pow(float64(len(w)), 2)
	}
	return sum * sum / (float64(len(waits)) * squares)
}

// faults measures locks while servers have failed.
func (b *lockBench) faults(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, `### Failed servers, %d servers, %d goroutines

Uncontended names. The ratio compares the p99 with that of the run with all servers
just before it; medians of %d rounds.

| | lock and unlock/s | p99 | healthy p99 | ratio |
| --- | ---: | ---: | ---: | ---: |
`, lockServers, lockCompetitors, b.opt.rounds)
	_, l, err := ours(b.sockets, redlock.Options{})
	if err != nil {
		return err
	}
	defer l.close()
	last := b.servers[lockServers-1]
	for _, fault := range []struct {
		name       string
		begin, end func() error
		forever    bool
	}{
		{"one of five frozen", last.Freeze, last.Thaw, false},
		{"one of five killed", last.Kill, func() error { <-last.Done(); return nil }, true},
	} {
		var healthy, hurt []result
		var ratios []float64
		for range b.opt.rounds {
			if !fault.forever || len(healthy) == 0 {
				r, err := b.pairs(ctx, l, lockCompetitors)
				if err != nil {
					return err
				}
				healthy = append(healthy, r)
			}
			if !fault.forever || len(hurt) == 0 {
				if err := fault.begin(); err != nil {
					return err
				}
			}
			r, err := b.pairs(ctx, l, lockCompetitors)
			if err = errors.Join(err, fault.end()); err != nil {
				return fmt.Errorf("%s: %w", fault.name, err)
			}
			hurt = append(hurt, r)
			ratios = append(ratios, float64(r.p99)/float64(healthy[len(healthy)-1].p99))
		}
		slices.Sort(ratios)
		r, h := middle(hurt), middle(healthy)
		fmt.Fprintf(out, "| %s | %s | %s | %s | **%.2f** |\n", fault.name, thousands(int(r.perSecond)),
			milliseconds(r.p99), milliseconds(h.p99), ratios[len(ratios)/2])
	}
	return b.noQuorum(ctx, out)
}

// noQuorum measures how soon the loss of a majority is reported.
func (b *lockBench) noQuorum(ctx context.Context, out io.Writer) error {
	m, _, err := ours(b.sockets, redlock.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	for _, s := range b.servers[1:3] {
		if err := s.Freeze(); err != nil {
			return err
		}
		defer func() { _ = s.Thaw() }()
	}
	var took []time.Duration
	for i := range 20 {
		begun := time.Now()
		if _, err := m.TryLock(ctx, "gone:"+strconv.Itoa(i)); !errors.Is(err, redlock.ErrNoQuorum) {
			return fmt.Errorf("TryLock with three of five servers frozen: %v", err)
		}
		took = append(took, time.Since(begun))
	}
	fmt.Fprintf(out, "\nThree of five failed: TryLock returned ErrNoQuorum after %v the first time, %v from then on;\nthe node timeout is 50 ms.\n",
		took[0].Round(10*time.Microsecond), slices.Max(took[1:]).Round(10*time.Microsecond))
	return nil
}
