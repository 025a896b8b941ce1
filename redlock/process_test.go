package redlock_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// workerEnv turns the test binary into a worker: a process that competes for locks on the servers
// in the variable.
const workerEnv = "REDLOCK_TEST_WORKER"

func TestMain(m *testing.M) {
	if servers := os.Getenv(workerEnv); servers != "" {
		if err := work(strings.Split(servers, ","), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	redistest.Parallel(4)
	redistest.Main(m)
}

// workerTTL is short, so that lost and forgotten locks show soon.
const workerTTL = time.Second

// work runs a worker until stdin ends. The worker prints a line when it acquires a lock, and a line
// when it releases the lock.
func work(servers []string, stdin io.Reader, stdout io.Writer) error {
	drift, _ := time.ParseDuration(os.Getenv("REDLOCK_TEST_DRIFT"))
	m, err := redlock.Dial(servers, generous(redlock.Options{
		TTL: workerTTL, Drift: drift, Fencing: os.Getenv("REDLOCK_TEST_FENCING") != "",
	}))
	if err != nil {
		return err
	}
	defer m.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	w := &worker{m: m, out: stdout, work: 10 * time.Millisecond}
	if work, err := time.ParseDuration(os.Getenv("REDLOCK_TEST_WORK")); err == nil {
		w.work = work
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for ctx.Err() == nil {
				w.compete(ctx, fmt.Sprint("name", rand.IntN(3)))
			}
		})
	}
	all.Wait()
	return nil
}

// worker competes for locks and reports the locks that it holds.
type worker struct {
	m   *redlock.Manager
	mu  sync.Mutex
	out io.Writer
	// work is the maximum time for which a lock is usually held.
	work  time.Duration
	locks atomic.Int64
}

// report prints a line. The last field shows that the line is complete.
func (w *worker) report(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(w.out, format+" .\n", args...)
}

// compete acquires a lock in one of the possible ways, holds it and releases it.
func (w *worker) compete(ctx context.Context, name string) {
	waiting, cancel := context.WithTimeout(ctx, rand.N(2*time.Second))
	defer cancel()
	switch rand.IntN(8) {
	case 0, 1:
		_ = w.m.Do(waiting, name, func(_ context.Context, l *redlock.Lock) error {
			w.hold(ctx, l)
			return nil
		})
		return
	case 2:
		l, err := w.m.TryLock(waiting, name)
		if err != nil {
			time.Sleep(rand.N(20 * time.Millisecond))
			return
		}
		w.hold(ctx, l)
		_ = l.Unlock(context.WithoutCancel(ctx))
	default:
		l, err := w.m.Lock(waiting, name)
		if err != nil {
			return
		}
		w.hold(ctx, l)
		_ = l.Unlock(context.WithoutCancel(ctx))
	}
}

// hold holds a lock for a while, and reports the time for which the lock was valid.
func (w *worker) hold(ctx context.Context, l *redlock.Lock) {
	id := fmt.Sprint(os.Getpid(), "-", w.locks.Add(1))
	begin := time.Now()
	w.report("got %s %s %d %d %d", id, l.Name(), l.Token(), begin.UnixNano(), l.Until().UnixNano())
	switch rand.IntN(50) {
	case 0:
		<-l.Context().Done()
	case 1:
		time.Sleep(rand.N(workerTTL))
		_ = l.Extend(ctx)
		time.Sleep(rand.N(workerTTL))
	default:
		time.Sleep(rand.N(w.work))
	}
	end := time.Now()
	if until := l.Until(); until.Before(end) {
		end = until
	}
	w.report("end %s %d", id, end.UnixNano())
}

// workers are competing processes and their reports.
type workers struct {
	t     *testing.T
	mu    sync.Mutex
	locks map[string]holding // by id of the lock
	all   sync.WaitGroup     // of the processes
}

// process is a running worker.
type process struct {
	*os.Process
	stdin  io.Closer
	killed atomic.Int64 // when it was killed, in nanoseconds
}

// end kills a worker, or asks the worker to finish.
func (p *process) end(kill bool) {
	if kill {
		p.killed.Store(time.Now().UnixNano())
		_ = p.Kill()
	}
	p.stdin.Close()
}

// start starts a worker, and records the lines that the worker prints.
func (w *workers) start(servers []string, fencing bool, env ...string) *process {
	w.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), workerEnv+"="+strings.Join(servers, ",")), env...)
	if fencing {
		cmd.Env = append(cmd.Env, "REDLOCK_TEST_FENCING=1")
	}
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	p := &process{Process: cmd.Process, stdin: stdin}
	holder := strconv.Itoa(cmd.Process.Pid)
	w.all.Go(func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			w.record(holder, lines.Text())
		}
		_ = cmd.Wait()
		w.gone(holder, p.killed.Load())
	})
	return p
}

// record records a line of a worker.
func (w *workers) record(holder, line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	words := strings.Fields(line)
	if len(words) == 0 || words[len(words)-1] != "." {
		return // the worker was killed in the middle of the line
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(words[i], 10, 64)
		return n
	}
	switch {
	case len(words) == 7 && words[0] == "got":
		h := holding{holder: holder, name: words[2], token: uint64(number(3)), begin: number(4), until: number(5), open: true}
		if h.begin < h.until { // otherwise the lock had expired before the report
			// Until the end is reported, the lock counts as held for an instant.
			h.end = h.begin
			w.locks[words[1]] = h
		}
	case len(words) == 4 && words[0] == "end":
		if h, ok := w.locks[words[1]]; ok {
			h.end, h.open = max(h.begin, number(2)), false
			w.locks[words[1]] = h
		}
	}
}

// gone records that a process has ended. If the process was killed, its locks count as held until
// then.
func (w *workers) gone(holder string, killed int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, h := range w.locks {
		if h.holder == holder && h.open && killed != 0 {
			h.end, h.open = max(h.begin, min(h.until, killed)), false
			w.locks[id] = h
		}
	}
}

// history returns the locks reported so far.
func (w *workers) history() (all []holding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.locks {
		all = append(all, h)
	}
	return all
}

// TestHistory makes processes compete while servers freeze, restart with or without data and are
// cut off, and processes are killed.
func TestHistory(t *testing.T) {
	t.Parallel()
	for _, fencing := range []bool{true, false} {
		t.Run(fmt.Sprint("fencing ", fencing), func(t *testing.T) {
			t.Parallel()
			var servers []*redistest.Server
			for range 5 {
				servers = append(servers, redistest.TCP(t, "appendonly yes", "appendfsync everysec"))
			}
			var relays []*relay
			var urls []string
			for _, s := range servers {
				r := startRelay(t, "tcp", fmt.Sprint("127.0.0.1:", s.Port()))
				relays, urls = append(relays, r), append(urls, r.url())
			}
			m, err := redlock.Dial(urls, generous(redlock.Options{TTL: workerTTL}))
			require.OK(t)(err)
			defer m.Close()
			wait(t, "the servers to vote", func() bool { return m.SkipQuarantine(t.Context()) == nil })
			w := &workers{t: t, locks: map[string]holding{}}
			var processes []*process
			for range 4 {
				processes = append(processes, w.start(urls, fencing))
			}
			f := &faults{t: t, servers: servers, relays: relays, rng: rand.New(rand.NewPCG(rand.Uint64(), 1))}
			count := redistest.Cases(15, 1000)
			for f.count < count || len(w.history()) == 0 {
				f.next()
				if f.rng.IntN(20) == 0 {
					i := f.rng.IntN(len(processes))
					processes[i].end(true)
					processes[i] = w.start(urls, fencing)
				}
			}
			f.heal()
			before := len(w.history())
			wait(t, "locks after the faults", func() bool { return len(w.history()) > before+10 })
			for _, p := range processes {
				p.end(false)
			}
			w.all.Wait()
			history := w.history()
			for _, violation := range violations(history) {
				t.Error(violation)
			}
			t.Logf("%d locks, %d of them during %d faults", len(history), before, f.count)
		})
	}
}

// faults breaks servers and connections: usually at most two at a time, sometimes three.
type faults struct {
	t       *testing.T
	servers []*redistest.Server
	relays  []*relay
	rng     *rand.Rand
	count   int
	undo    []func()
}

// next injects a fault, and ends earlier faults.
func (f *faults) next() {
	f.t.Helper()
	f.count++
	i := f.rng.IntN(len(f.servers))
	server, relay := f.servers[i], f.relays[i]
	switch n := f.rng.IntN(30); {
	case n == 0: // rarely, because the server does not vote for two seconds
		f.thaw()
		server.Restart(f.t, true)
	case n == 1:
		f.thaw()
		server.Restart(f.t, false)
	case n < 10:
		server.Freeze(f.t)
		f.undo = append(f.undo, func() { server.Thaw(f.t) })
	case n < 15: // break every connection
		relay.cut()
	case n < 20: // block one direction
		f.toxic(relay, toxic{blocked: true})
	case n < 25:
		f.toxic(relay, toxic{delay: 40 * time.Millisecond, jitter: 40 * time.Millisecond})
	default:
		f.toxic(relay, toxic{piece: 20})
	}
	maxFaults := 2
	if f.rng.IntN(5) == 0 {
		maxFaults = 3
	}
	for len(f.undo) > maxFaults {
		f.undo[0]()
		f.undo = f.undo[1:]
	}
	time.Sleep(time.Duration(20+f.rng.IntN(150)) * time.Millisecond) // interval between faults
}

// toxic adds a network fault in one direction. The end of the fault cuts the connections.
func (f *faults) toxic(r *relay, fault toxic) {
	way := []int{toServer, fromServer}[f.rng.IntN(2)]
	r.poison(way, fault)
	f.undo = append(f.undo, func() {
		r.poison(way, toxic{})
		r.cut()
	})
}

func (f *faults) thaw() {
	for _, s := range f.servers {
		s.Thaw(f.t)
	}
}

// heal ends all faults.
func (f *faults) heal() {
	for _, undo := range f.undo {
		undo()
	}
	f.undo = nil
	f.thaw()
}

// wait polls until a condition holds, for as long as the test runs. The text is not used: it tells
// the reader of the test what the condition is.
func wait(t testing.TB, _ string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			runtime.Goexit() // the test has ended
		}
	}
}
