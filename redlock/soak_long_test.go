//go:build long

package redlock_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock"
)

// historyEnv sets how long TestRandomHistories runs, for example "1h". By default the test runs for
// ten minutes. If historyEnv is set, the test also sets the clocks of the servers, which takes a C
// compiler.
const historyEnv = "REDLOCK_HISTORY"

// soakDrift allows for clocks that are set forward by at most soakStep, once per TTL.
const (
	soakDrift = 60 * time.Millisecond
	soakStep  = 40 * time.Millisecond
)

// TestRandomHistories makes processes compete on real servers while processes are paused and
// killed, connections are cut, delayed and held separately, servers freeze and restart with or
// without their data, and clocks are set. No two processes may hold the same lock.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	length, round := 10*time.Minute, 15*time.Second
	var clocks *clockShim
	if text := os.Getenv(historyEnv); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", historyEnv, err)
		}
		clocks = buildClockShim(t)
	}
	total := &soak{faults: map[string]int{}, length: round, clocks: clocks}
	for stop := time.Now().Add(length); time.Now().Before(stop) && !t.Failed(); {
		t.Run(fmt.Sprint("round ", total.rounds), total.round)
		if clocks != nil && total.rounds%10 == 0 {
			fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), total)
		}
	}
	t.Log(total)
	if clocks != nil {
		fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), total)
	}
}

// soak has the settings and the totals of all rounds.
type soak struct {
	length     time.Duration // of a round
	clocks     *clockShim
	rounds     int
	locks      int
	violations int
	faults     map[string]int
}

func (s *soak) String() string {
	var faults []string
	for _, kind := range slices.Sorted(maps.Keys(s.faults)) {
		faults = append(faults, fmt.Sprintf("%s %d", kind, s.faults[kind]))
	}
	return fmt.Sprintf("%d rounds, %d locks, %d violations; faults: %s", s.rounds, s.locks, s.violations, strings.Join(faults, ", "))
}

// round plays one history on its own servers.
func (s *soak) round(t *testing.T) {
	sizes := []int{1, 3, 3, 5}
	n, fencing := sizes[s.rounds%len(sizes)], s.rounds/len(sizes)%3 == 2
	s.rounds++
	seed := rand.Uint64()
	r := &soakRound{
		soak: s, t: t, fencing: fencing, rng: rand.New(rand.NewPCG(seed, 1)),
		workers: &workers{t: t, locks: map[string]holding{}},
	}
	defer r.end()
	r.work = []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, 400 * time.Millisecond}[r.rng.IntN(3)]
	servers := redistest.Nodes(t, n, "appendonly yes", "appendfsync everysec")
	for _, server := range servers {
		r.servers = append(r.servers, &soakServer{Server: server})
	}
	m := dial(t, servers, redlock.Options{TTL: workerTTL})
	defer m.Close()
	for range 5 {
		r.processes = append(r.processes, r.begin())
	}
	pace := 50*time.Millisecond + r.upTo(600*time.Millisecond)
	for stop := time.Now().Add(s.length); time.Now().Before(stop); {
		r.fault()
		time.Sleep(r.upTo(pace))
		r.heal(false)
	}
	r.heal(true)
	before := len(r.workers.history())
	wait(t, "locks after the faults", func() bool { return len(r.workers.history()) > before+10 })
	for _, p := range r.processes {
		p.end(false)
	}
	r.workers.all.Wait()
	history := r.workers.history()
	s.locks += len(history)
	for _, violation := range violations(history) {
		s.violations++
		t.Errorf("%d servers, fencing %v, seed %d: %s", n, fencing, seed, violation)
	}
}

// soakServer is a server with a clock that can be set.
type soakServer struct {
	*redistest.Server
	offset  time.Duration
	stepped time.Time // when the clock was last set forward
	frozen  bool
}

// soakRound is a running history.
type soakRound struct {
	*soak
	t         *testing.T
	fencing   bool
	rng       *rand.Rand
	servers   []*soakServer
	processes []*soakProcess
	workers   *workers
	work      time.Duration // usual maximum time that a lock is held
	undo      []soakUndo
}

// soakUndo ends a fault.
type soakUndo struct {
	when time.Time
	f    func()
}

// soakProcess is a worker with its own link to each server.
type soakProcess struct {
	*process
	links   []*relay
	stopped bool
}

// begin starts a worker.
func (r *soakRound) begin() *soakProcess {
	r.t.Helper()
	p := &soakProcess{}
	var urls []string
	for _, s := range r.servers {
		link := newRelay(r.t, "unix", s.Socket())
		p.links, urls = append(p.links, link), append(urls, link.url())
	}
	p.process = r.workers.start(urls, r.fencing, "REDLOCK_TEST_DRIFT="+soakDrift.String(), "REDLOCK_TEST_WORK="+r.work.String())
	return p
}

// later adds the end of a fault.
func (r *soakRound) later(after time.Duration, f func()) {
	r.undo = append(r.undo, soakUndo{time.Now().Add(after), f})
}

// heal ends the faults that are due, or all faults.
func (r *soakRound) heal(all bool) {
	var left []soakUndo
	for _, u := range r.undo {
		if all || time.Now().After(u.when) {
			u.f()
		} else {
			left = append(left, u)
		}
	}
	r.undo = left
}

// upTo returns a random duration below d.
func (r *soakRound) upTo(d time.Duration) time.Duration {
	return time.Duration(r.rng.Int64N(int64(d)))
}

// resumeDelay returns how much later the second of two connections resumes.
func (r *soakRound) resumeDelay() time.Duration {
	if r.rng.IntN(2) == 0 {
		return 0
	}
	return r.upTo(300 * time.Millisecond)
}

// hold holds back the data of a link.
func (r *soakRound) hold(link *relay, length time.Duration) {
	a, b := length, length
	if r.rng.IntN(2) == 0 {
		a += r.resumeDelay()
	} else {
		b += r.resumeDelay()
	}
	link.hold(commands, a)
	link.hold(messages, b)
}

// fault injects a fault.
func (r *soakRound) fault() {
	i := r.rng.IntN(len(r.servers))
	server := r.servers[i]
	p := r.processes[r.rng.IntN(len(r.processes))]
	link := p.links[r.rng.IntN(len(p.links))]
	var kind string
	switch n := r.rng.IntN(40); {
	case n < 10:
		if p.stopped {
			return
		}
		kind = "process stopped"
		p.stopped = true
		_ = p.Signal(syscall.SIGSTOP)
		r.later(300*time.Millisecond+r.upTo(1500*time.Millisecond), func() {
			p.stopped = false
			_ = p.Signal(syscall.SIGCONT)
		})
	case n < 12:
		kind = "process killed"
		p.end(true)
		for j := range r.processes {
			if r.processes[j] == p {
				r.processes[j] = r.begin()
			}
		}
		for _, l := range p.links {
			l.close()
		}
	case n < 18:
		kind = "process cut off"
		length := 300*time.Millisecond + r.upTo(1200*time.Millisecond)
		for _, l := range p.links {
			r.hold(l, length)
		}
	case n < 22:
		kind = "link held"
		r.hold(link, r.upTo(1500*time.Millisecond))
	case n < 25:
		kind = "link delayed"
		which := r.rng.IntN(connections)
		link.slow(which, r.upTo(40*time.Millisecond))
		r.later(time.Second, func() { link.slow(which, 0) })
	case n < 27:
		kind = "link cut"
		link.change(func() { link.refuses = r.rng.IntN(2) == 0 })
		link.cut()
		r.later(r.upTo(time.Second), func() { link.change(func() { link.refuses = false }) })
	case n < 32:
		if server.frozen {
			return
		}
		kind = "server frozen"
		server.frozen = true
		server.Freeze(r.t)
		r.later(100*time.Millisecond+r.upTo(1200*time.Millisecond), func() {
			server.Thaw(r.t)
			server.frozen = false
		})
	case n < 33:
		kind = "server restarted empty"
		server.Restart(r.t, false)
	case n < 34:
		kind = "server restarted"
		server.Restart(r.t, true)
	case r.clocks == nil:
		return
	case n < 37:
		if r.fencing && i >= len(r.servers)/2 {
			return // tokens may go back if a majority is set back and has lost its counters
		}
		kind = "clock set back"
		r.stepClock(server, -r.upTo(3*time.Second))
	case time.Since(server.stepped) > workerTTL+soakStep:
		kind = "clock set forward"
		server.stepped = time.Now()
		r.stepClock(server, r.upTo(soakStep))
	default:
		return
	}
	r.faults[kind]++
}

// end ends the remaining faults and processes of a round.
func (r *soakRound) end() {
	r.heal(true)
	for _, p := range r.processes {
		_ = p.Signal(syscall.SIGCONT)
		p.process.end(true)
	}
	r.workers.all.Wait()
	for _, p := range r.processes {
		for _, l := range p.links {
			l.close()
		}
	}
}

// stepClock moves the clock of a server.
func (r *soakRound) stepClock(server *soakServer, by time.Duration) {
	r.t.Helper()
	server.offset += by
	var bytes [8]byte
	binary.NativeEndian.PutUint64(bytes[:], uint64(server.offset))
	clock, err := os.OpenFile(r.clocks.file(server.Dir()), os.O_WRONLY, 0)
	if err == nil {
		_, err = clock.WriteAt(bytes[:], 0)
		clock.Close()
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// clockShim is a library that shifts the clock of the program that loads it, by the number of
// nanoseconds in a file.
type clockShim struct{ dir string }

// file returns the file for the server in this directory.
func (s *clockShim) file(dir string) string { return filepath.Join(s.dir, filepath.Base(dir)) }

const clockShimSource = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *offset;

__attribute__((constructor)) static void begin(void) {
	const char *path = getenv("REDLOCK_TEST_CLOCK");
	int fd = path ? open(path, O_RDONLY) : -1;
	if (fd < 0) return;
	void *p = mmap(0, 8, PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) offset = p;
	close(fd);
}

int clock_gettime(clockid_t id, struct timespec *ts) {
	int failed = syscall(SYS_clock_gettime, id, ts);
	if (!failed && offset && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
		int64_t now = (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec + *offset;
		ts->tv_sec = now / 1000000000;
		ts->tv_nsec = now % 1000000000;
	}
	return failed;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
	struct timespec ts;
	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &ts)) return -1;
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *seconds) {
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	if (seconds) *seconds = ts.tv_sec;
	return ts.tv_sec;
}
`

// buildClockShim builds the library and loads it into every server started from now on.
func buildClockShim(t *testing.T) *clockShim {
	t.Helper()
	s := &clockShim{dir: t.TempDir()}
	library, script := filepath.Join(s.dir, "clock.so"), filepath.Join(s.dir, "server.sh")
	cmd := exec.Command("cc", "-x", "c", "-shared", "-fPIC", "-O2", "-o", library, "-")
	cmd.Stdin = strings.NewReader(clockShimSource)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s needs a C compiler to set clocks: %v\n%s", historyEnv, err, out)
	}
	text := fmt.Sprintf(`#!/bin/sh
REDLOCK_TEST_CLOCK=%q/$(basename "$PWD")
[ -e "$REDLOCK_TEST_CLOCK" ] || head -c 8 /dev/zero >"$REDLOCK_TEST_CLOCK"
export REDLOCK_TEST_CLOCK
LD_PRELOAD=%q exec %q "$@"
`, s.dir, library, redistest.Require(t))
	require.OK(t)(os.WriteFile(script, []byte(text), 0o700))
	os.Setenv("RETWIS_REDIS_SERVER", script)
	return s
}
