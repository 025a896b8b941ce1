// Package locks compares package redlock with the libraries that people lock with today.
package locks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"retwis/bench/measure"
	"retwis/internal/redis/redisserver"
	"retwis/redlock"
)

const (
	servers     = 5
	goroutines  = 64
	competitors = 16
	work        = time.Millisecond
)

// bench measures locks on separate servers.
type bench struct {
	opt     measure.Options
	servers []*redisserver.Server
	sockets []string
	names   int // counts the names used, so that none is used twice
}

// Locks measures free, contended and failing locks.
func Locks(ctx context.Context, opt measure.Options) (string, error) {
	b := &bench{opt: opt}
	defer func() { measure.StopServers(b.servers) }()
	for i := range servers {
		server, err := measure.StartServer(ctx, filepath.Join(opt.Dir, strconv.Itoa(i)), 0)
		if err != nil {
			return "", err
		}
		b.servers = append(b.servers, server)
		b.sockets = append(b.sockets, server.Socket())
	}
	m, err := dial(b.sockets, redlock.Options{})
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

// free measures uncontended names.
func (b *bench) free(ctx context.Context, out io.Writer) error {
	sides := []side{
		{name: "redlock.Dial", open: func() (locker, error) { return ours(b.sockets, redlock.Options{}) }},
		{name: "redlock.New", open: func() (locker, error) { return oursShared(b.sockets) }},
		{name: "redlock.Dial, with fencing tokens", open: func() (locker, error) { return ours(b.sockets, redlock.Options{Fencing: true}) }},
		{name: "redsync over go-redis", open: func() (locker, error) { return overGoRedis(b.sockets) }},
		{name: "redsync over rueidis", open: func() (locker, error) { return overRueidis(b.sockets) }},
		{name: "rueidislock, five keys on one server", open: func() (locker, error) { return withRueidislock(b.sockets, servers/2+1) }},
	}
	const base = 3
	end, err := openAll(sides)
	if err != nil {
		return err
	}
	defer end()
	fmt.Fprintf(out, "### Uncontended names, %d servers\n\nPairs of lock and unlock per second. The ratios are to %s.\n\n", servers, sides[base].name)
	measure.Head(out, "", "alone", "p99", "ratio", fmt.Sprint(goroutines, " goroutines"), "p99", "ratio")
	alone, err := b.rounds(ctx, sides, 1)
	if err != nil {
		return err
	}
	many, err := b.rounds(ctx, sides, goroutines)
	if err != nil {
		return err
	}
	for i, s := range sides {
		fmt.Fprintf(out, "| %s | %s | %s | **%.2f** | %s | %s | **%.2f** |\n", s.name,
			measure.Thousands(int(alone[i].PerSecond)), measure.Milliseconds(alone[i].P99), alone[i].PerSecond/alone[base].PerSecond,
			measure.Thousands(int(many[i].PerSecond)), measure.Milliseconds(many[i].P99), many[i].PerSecond/many[base].PerSecond)
	}
	fmt.Fprintln(out)
	return nil
}

// single measures uncontended names on one server.
func (b *bench) single(ctx context.Context, out io.Writer) error {
	sides := []side{
		{name: "redlock.Dial", open: func() (locker, error) { return ours(b.sockets[:1], redlock.Options{}) }},
		{name: "bsm/redislock", open: func() (locker, error) { return withRedislock(b.sockets[:1]) }},
		{name: "rueidislock, one key", open: func() (locker, error) { return withRueidislock(b.sockets[:1], 1) }},
	}
	const base = 1
	end, err := openAll(sides)
	if err != nil {
		return err
	}
	defer end()
	many, err := b.rounds(ctx, sides, goroutines)
	if err != nil {
		return err
	}
	fmt.Fprint(out, "### Uncontended names, one server\n\n")
	measure.Head(out, "", fmt.Sprint(goroutines, " goroutines"), "p99", "ratio to "+sides[base].name)
	for i, s := range sides {
		fmt.Fprintf(out, "| %s | %s | %s | **%.2f** |\n", s.name, measure.Thousands(int(many[i].PerSecond)),
			measure.Milliseconds(many[i].P99), many[i].PerSecond/many[base].PerSecond)
	}
	fmt.Fprintln(out)
	return nil
}

// rounds measures the sides in turn and returns the medians of each.
func (b *bench) rounds(ctx context.Context, sides []side, goroutines int) ([]measure.Result, error) {
	seen, err := measure.InTurn(b.opt.Rounds, sides, func(s side, _ int) (measure.Result, error) {
		r, err := b.pairs(ctx, s.locker, goroutines)
		if err != nil {
			err = fmt.Errorf("%s: %w", s.name, err)
		}
		return r, err
	})
	if err != nil {
		return nil, err
	}
	medians := make([]measure.Result, len(sides))
	for i := range sides {
		medians[i] = measure.MedianResult(seen[i])
	}
	return medians, nil
}

// pairs locks and unlocks uncontended names.
func (b *bench) pairs(ctx context.Context, l locker, goroutines int) (measure.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, b.opt.Length+30*time.Second)
	defer cancel()
	began := time.Now()
	stop := began.Add(b.opt.Length)
	took := make([][]time.Duration, goroutines)
	b.names++
	err := measure.Concurrently(goroutines, goroutines, func(g int) error {
		name := fmt.Sprintf("free:%d:%d:", b.names, g)
		for i := 0; time.Now().Before(stop); i++ {
			begun := time.Now()
			unlock, err := l.lock(ctx, name+strconv.Itoa(i))
			if err == nil {
				err = unlock()
			}
			if err != nil {
				return err
			}
			took[g] = append(took[g], time.Since(begun))
		}
		return nil
	})
	if err != nil {
		return measure.Result{}, err
	}
	return measure.Summarize(slices.Concat(took...), time.Since(began))
}

// contended measures one name that all competitors want.
func (b *bench) contended(ctx context.Context, out io.Writer) error {
	sides := []side{
		{name: "a mutex in memory", open: func() (locker, error) { return inMemory(), nil }},
		{name: "redlock, one process", open: func() (locker, error) { return ours(b.sockets, redlock.Options{}) }},
		{name: "redsync over go-redis", open: func() (locker, error) { return overGoRedis(b.sockets) }},
		{name: "rueidislock, five keys on one server", open: func() (locker, error) { return withRueidislock(b.sockets, servers/2+1) }},
	}
	end, err := openAll(sides)
	if err != nil {
		return err
	}
	defer end()
	processes := make([]side, competitors)
	for i := range processes {
		processes[i] = sides[1]
	}
	endProcesses, err := openAll(processes)
	if err != nil {
		return err
	}
	defer endProcesses()
	var names []string
	var groups [][]side
	for _, s := range sides {
		names, groups = append(names, s.name), append(groups, slices.Repeat([]side{s}, competitors))
	}
	names, groups = slices.Insert(names, 2, "redlock, as 16 processes"), slices.Insert(groups, 2, processes)
	fmt.Fprintf(out, `### One name, %d competitors, %v of work each, %d servers

How often per second the lock was acquired, and acquired by another competitor than the
time before: one that unlocks and locks again at once hands nothing over. Fairness is Jain's
index of how often each had the lock; 1 means equal shares.

`, competitors, work, servers)
	measure.Head(out, "", "acquired/s", "of the mutex", "by another/s", "fairness", "wait, p50", "wait, p99")
	seen, err := measure.InTurn(b.opt.Rounds, groups, func(group []side, _ int) (contest, error) { return b.compete(ctx, group) })
	if err != nil {
		return err
	}
	var limit float64
	for i, rounds := range seen {
		slices.SortFunc(rounds, func(a, b contest) int { return int(a.PerSecond - b.PerSecond) })
		middle := rounds[len(rounds)/2]
		if i == 0 {
			limit = middle.PerSecond
		}
		fmt.Fprintf(out, "| %s | %s | **%.2f** | %s | %.3f | %s | %s |\n", names[i], measure.Thousands(int(middle.PerSecond)),
			middle.PerSecond/limit, measure.Thousands(int(middle.changes)), middle.jain, measure.Milliseconds(middle.P50), measure.Milliseconds(middle.P99))
	}
	fmt.Fprintln(out)
	return nil
}

// contest is how competitors for one name fared.
type contest struct {
	measure.Result
	jain    float64 // fairness; 1 means equal shares
	changes float64 // per second, how often the holder changed
}

// compete lets all lock the same name again and again.
func (b *bench) compete(ctx context.Context, all []side) (contest, error) {
	ctx, cancel := context.WithTimeout(ctx, b.opt.Length+30*time.Second)
	defer cancel()
	b.names++
	name := fmt.Sprintf("wanted:%d", b.names)
	warm := time.Now().Add(b.opt.Length / 10) // skips the rush at the start
	stop := warm.Add(b.opt.Length)
	waits := make([][]time.Duration, len(all))
	var holder, changes atomic.Int64
	err := measure.Concurrently(len(all), len(all), func(i int) error {
		for time.Now().Before(stop) {
			begun := time.Now()
			unlock, err := all[i].lock(ctx, name)
			if err != nil {
				return err
			}
			if begun.After(warm) {
				waits[i] = append(waits[i], time.Since(begun))
				if holder.Swap(int64(i)) != int64(i) {
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
	if err != nil {
		return contest{}, err
	}
	r, err := measure.Summarize(slices.Concat(waits...), time.Since(warm))
	return contest{Result: r, jain: jain(waits), changes: float64(changes.Load()) / time.Since(warm).Seconds()}, err
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
func (b *bench) faults(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, `### Failed servers, %d servers, %d goroutines

Uncontended names. The ratio compares the p99 with that of the run with all servers
just before it; medians of %d rounds.

`, servers, competitors, b.opt.Rounds)
	measure.Head(out, "", "lock and unlock/s", "p99", "healthy p99", "ratio")
	l, err := ours(b.sockets, redlock.Options{})
	if err != nil {
		return err
	}
	defer l.close()
	last := b.servers[servers-1]
	for _, f := range []fault{
		{"one of five frozen", last.Freeze, last.Thaw, false},
		{"one of five killed", last.Kill, func() error { <-last.Done(); return nil }, true},
	} {
		if err := b.fault(ctx, out, l, f); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// fault is something that happens to a server.
type fault struct {
	name       string
	begin, end func() error
	forever    bool
}

// fault measures without and with a fault.
func (b *bench) fault(ctx context.Context, out io.Writer, l locker, f fault) error {
	var healthy, hurt []measure.Result
	var ratios []float64
	for range b.opt.Rounds {
		if !f.forever || len(healthy) == 0 {
			r, err := b.pairs(ctx, l, competitors)
			if err != nil {
				return err
			}
			healthy = append(healthy, r)
			if err := f.begin(); err != nil {
				return err
			}
		}
		r, err := b.pairs(ctx, l, competitors)
		if err = errors.Join(err, f.end()); err != nil {
			return err
		}
		hurt = append(hurt, r)
		ratios = append(ratios, float64(r.P99)/float64(healthy[len(healthy)-1].P99))
	}
	r, h := measure.MedianResult(hurt), measure.MedianResult(healthy)
	fmt.Fprintf(out, "| %s | %s | %s | %s | **%.2f** |\n", f.name, measure.Thousands(int(r.PerSecond)),
		measure.Milliseconds(r.P99), measure.Milliseconds(h.P99), measure.Median(ratios))
	return nil
}
