package work_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/storage"
	"retwis/internal/social/work"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// killable is the client of a process that can be killed. Once dead is set, no command reaches the
// server.
type killable struct {
	rueidis.Client
	dead atomic.Bool
}

var errKilled = errors.New("killed")

func (m *killable) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if m.dead.Load() {
		return rueidis.NewErrorResult(errKilled)
	}
	return m.Client.Do(ctx, cmd)
}

func (m *killable) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	if !m.dead.Load() {
		return m.Client.DoMulti(ctx, cmds...)
	}
	results := make([]rueidis.RedisResult, len(cmds))
	for i := range results {
		results[i] = rueidis.NewErrorResult(errKilled)
	}
	return results
}

// process is a process with an engine.
type process struct {
	*work.Engine
	t      testing.TB
	client *killable
}

// start starts a process, which runs tasks with run unless run is nil.
func start(t testing.TB, client rueidis.Client, run work.Func, change ...func(*work.Engine)) *process {
	t.Helper()
	p := &process{t: t, client: &killable{Client: client}}
	p.Engine = work.New(p.client, slog.New(slog.DiscardHandler))
	runsTasks := run != nil
	if !runsTasks {
		run = func(context.Context, string) error { return nil }
	}
	p.Handle("do", run)
	p.HandleLong("long", run)
	for _, c := range change {
		c(p.Engine)
	}
	p.Start(runsTasks)
	t.Cleanup(p.Close)
	return p
}

// kill ends a process without sending another command.
func (p *process) kill() {
	p.client.dead.Store(true)
	p.Close()
}

func (p *process) add(members ...string) {
	p.t.Helper()
	if err := p.Add(p.t.Context(), members...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) redis(words ...string) string {
	p.t.Helper()
	c := p.client.Client
	msg, err := c.Do(p.t.Context(), c.B().Arbitrary(words...).Build()).ToAny()
	if err != nil && !rueidis.IsRedisNil(err) {
		p.t.Fatalf("%v: %v", words, err)
	}
	return fmt.Sprint(msg)
}

// unpause ends the pauses before retries of tasks.
func (p *process) unpause() {
	p.t.Helper()
	p.redis("EVAL", `redis.call('ZREM', KEYS[1], '') for _, m in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
		if redis.call('ZSCORE', KEYS[1], m) % 2 == 1 then redis.call('ZINCRBY', KEYS[1], '-3600000000', m) end
	end
	if redis.call('LLEN', KEYS[2]) < 4 then redis.call('RPUSH', KEYS[2], '1') end`, "2", storage.Tasks, storage.WakeKey(0))
}

// expire ends all leases and pauses.
func (p *process) expire() {
	p.t.Helper()
	p.redis("EVAL", `redis.call('ZREM', KEYS[1], '') for _, m in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('ZINCRBY', KEYS[1], '-3600000000', m) end
	if redis.call('LLEN', KEYS[2]) < 4 then redis.call('RPUSH', KEYS[2], '1') end`, "2", storage.Tasks, storage.WakeKey(0))
}

// eventually waits until ok returns true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	t.Logf("waiting for %s", what)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		<-tick.C
	}
}

// waitEmpty waits until no tasks are left.
func (p *process) waitEmpty() {
	p.t.Helper()
	eventually(p.t, "all tasks to end", func() bool { return p.redis("EXISTS", storage.Tasks, storage.Tries) == "0" })
}

func names(format string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf(format, i))
	}
	return all
}

// Each short or long task is run once, by one of several processes.
func TestEachTaskOnce(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	var mu sync.Mutex
	runs := map[string]int{}
	for range 3 {
		start(t, client, func(_ context.Context, argument string) error {
			mu.Lock()
			defer mu.Unlock()
			runs[argument]++
			return nil
		})
	}
	adder := start(t, client, nil)
	for _, group := range [][]string{names("do:%d", 400), names("long:l%d", 30)} {
		adder.add(group...)
	}
	adder.waitEmpty()
	mu.Lock()
	defer mu.Unlock()
	if len(runs) != 430 {
		t.Errorf("%d tasks were run, want 430", len(runs))
	}
	for task, n := range runs {
		if n != 1 {
			t.Errorf("%s was run %d times, want 1", task, n)
		}
	}
}

// Another process restarts the tasks that a dead process was running, before it starts waiting
// tasks.
func TestProcessDies(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	began := make(chan string, 100)
	first := start(t, client, func(ctx context.Context, argument string) error {
		began <- argument
		<-ctx.Done()
		return ctx.Err()
	})
	adder := start(t, client, nil)
	adder.add(names("do:%d", 20)...)
	started := map[string]bool{}
	for range 4 {
		started[<-began] = true
	}
	first.kill()
	adder.expire()
	var order []string
	var mu sync.Mutex
	second := start(t, client, func(_ context.Context, argument string) error {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, argument)
		return nil
	})
	second.waitEmpty()
	mu.Lock()
	defer mu.Unlock()
	for _, task := range order[:4] {
		if !started[task] {
			t.Errorf("%s was started before the tasks of the dead process: %v", task, order)
		}
	}
	states, err := second.States(t.Context())
	if err != nil || states[work.Short].Stats.Done != 20 || states[work.Short].Stats.Reclaimed != 4 {
		t.Errorf("States = %+v, %v; want 20 done and 4 reclaimed", states[work.Short], err)
	}
}

// Close immediately releases the running tasks of the process, so that other processes can start
// them.
func TestClose(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	began := make(chan string)
	first := start(t, client, func(ctx context.Context, argument string) error {
		began <- argument
		<-ctx.Done()
		return ctx.Err()
	})
	first.add("do:1")
	<-began
	first.Close()
	if left := first.redis("ZCOUNT", storage.Tasks, "-6000000000000000", "-5900000000000000"); left != "1" {
		t.Fatalf("%s tasks were released, want 1", left)
	}
	if tries := first.redis("EXISTS", storage.Tries); tries != "0" {
		t.Error("the interrupted run counts as a try")
	}
	start(t, client, func(context.Context, string) error { return nil }).waitEmpty()
}

// If a task is added while another process runs it, the end of the earlier run does not remove the
// task.
func TestAddedWhileItRuns(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	p, q := start(t, client, nil), start(t, client, nil)
	first, err := p.Begin(t.Context(), "do:1")
	if err != nil {
		t.Fatal(err)
	}
	second, err := q.Begin(t.Context(), "do:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.End(t.Context(), first...); err != nil {
		t.Error(err)
	}
	if n := p.redis("ZCARD", storage.Tasks); n != "1" {
		t.Fatal("the task of the other process was removed")
	}
	p.Later(t.Context(), work.ErrAgain, first...)
	if err := q.End(t.Context(), second...); err != nil {
		t.Error(err)
	}
	p.waitEmpty()
}

// A failing task is retried and becomes a dead letter after a number of tries. An operator can
// retry the dead letter.
func TestFailures(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	var runs atomic.Int64
	var succeeds atomic.Bool
	p := start(t, client, func(context.Context, string) error {
		runs.Add(1)
		if succeeds.Load() {
			return nil
		}
		return errors.New("broken " + strings.Repeat("x", 1000))
	})
	p.add("do:1")
	eventually(t, "the task to be given up", func() bool {
		p.unpause()
		n, err := work.Letters(t.Context(), client)
		return err == nil && n == 1
	})
	if n := runs.Load(); n != 12 {
		t.Errorf("the task was tried %d times, want 12", n)
	}
	p.waitEmpty()
	letters, err := p.Letters(t.Context())
	if err != nil || len(letters) != 1 || letters[0].Task != "do:1" || letters[0].Tries != 12 || len(letters[0].Error) != 500 {
		t.Errorf("Letters = %+v, %v; want do:1 with 12 tries", letters, err)
	}
	succeeds.Store(true)
	if queued, removed, err := p.RetryLetters(t.Context()); queued != 1 || removed != 0 || err != nil {
		t.Errorf("RetryLetters queued %d and removed %d, %v; want 1 and 0", queued, removed, err)
	}
	eventually(t, "the task to be done", func() bool { return runs.Load() == 13 })
	p.waitEmpty()
	if p.redis("EXISTS", storage.DeadTasks) != "0" {
		t.Error("RetryLetters left an empty stream")
	}
}

// Runs that end with ErrLater or ErrUncertain do not count as tries.
func TestAgainIsNoTry(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	var runs atomic.Int64
	p := start(t, client, func(context.Context, string) error {
		switch n := runs.Add(1); {
		case n > 40:
			return nil
		case n%2 == 0:
			return work.ErrLater
		default:
			return social.ErrUncertain
		}
	})
	p.add("do:1")
	eventually(t, "the task to end", func() bool {
		p.unpause()
		return runs.Load() == 41
	})
	p.waitEmpty()
	if n, err := work.Letters(t.Context(), client); n != 0 || err != nil {
		t.Errorf("%d dead letters, %v; want 0", n, err)
	}
}

// A task that kills each process that starts it becomes a dead letter.
func TestPoison(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	began := make(chan string)
	p := start(t, client, nil)
	p.add("do:1")
	for range 12 {
		victim := start(t, client, func(ctx context.Context, argument string) error {
			began <- argument
			<-ctx.Done()
			return ctx.Err()
		})
		<-began
		victim.kill()
		p.expire()
	}
	start(t, client, func(context.Context, string) error {
		t.Error("the task was started again")
		return nil
	}).waitEmpty()
	letters, err := p.Letters(t.Context())
	if err != nil || len(letters) != 1 || !strings.HasPrefix(letters[0].Error, "12 processes") {
		t.Errorf("Letters = %+v, %v; want an error about 12 processes", letters, err)
	}
}

// A process skips tasks of unknown kinds.
func TestKinds(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	p := start(t, client, nil)
	p.add(names("new:%d", 500)...)
	p.add("do:1")
	done := make(chan string, 10)
	start(t, client, func(_ context.Context, argument string) error {
		done <- argument
		return nil
	})
	<-done
	eventually(t, "the known task to be removed", func() bool { return p.redis("ZCARD", storage.Tasks) == "500" })
	if ok, err := p.Take(t.Context(), "new:1", true); ok || err != nil {
		t.Errorf("Take of an unknown kind = %v, %v; want false", ok, err)
	}
}

// Take runs a task that no process holds and, with force, any existing task.
func TestTake(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	p, other := start(t, client, nil), start(t, client, nil)
	if _, err := other.Begin(t.Context(), "do:1"); err != nil {
		t.Fatal(err)
	}
	other.add("do:2")
	for _, test := range []struct {
		task        string
		force, want bool
	}{{"do:1", false, false}, {"do:2", false, true}, {"do:2", true, false}, {"do:1", true, true}, {"do:3", true, false}} {
		if got, err := p.Take(t.Context(), test.task, test.force); got != test.want || err != nil {
			t.Errorf("%+v: Take = %v, %v", test, got, err)
		}
	}
	p.waitEmpty()
}

// A task that was started before a server restart and ends after the restart is repeated, because
// some of its writes may be lost.
func TestRestartMeanwhile(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "appendonly yes", "appendfsync always")
	client := server.Client(t)
	var runs atomic.Int64
	release := make(chan struct{})
	p := start(t, client, func(context.Context, string) error {
		runs.Add(1)
		<-release
		return nil
	})
	p.add("do:1")
	held, err := p.Begin(t.Context(), "do:held")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the task to begin", func() bool { return runs.Load() == 1 })
	server.Restart(t, true)
	close(release)
	if err := p.End(t.Context(), held...); !errors.Is(err, social.ErrUncertain) {
		t.Errorf("End of a task that was begun before the restart: %v, want ErrUncertain", err)
	}
	p.waitEmpty()
	if n := runs.Load(); n < 3 {
		t.Errorf("%d runs, want at least 3: do:1, its repetition, and the repetition of do:held", n)
	}
}

// After a server is promoted again, it does not matter that the replicas were behind when the
// server was a master before.
func TestMasterAgain(t *testing.T) {
	t.Parallel()
	var config []string
	if !strings.HasPrefix(redistest.Version(t), "6.") {
		config = append(config, "enable-debug-command yes")
	}
	master := redistest.TCP(t, append(config, "repl-diskless-sync-delay 0")...)
	replica := redistest.TCP(t, fmt.Sprintf("replicaof 127.0.0.1 %d", master.Port()))
	p := start(t, master.Client(t), nil, (*work.Engine).NoPatience)
	eventually(t, "the replica to catch up", func() bool { return strings.Contains(p.redis("INFO", "replication"), "state=online") })
	write := func() error {
		mark := p.Mark(t.Context())
		p.redis("INCR", "writes")
		return p.Fenced(t.Context(), mark)
	}
	eventually(t, "the replica to acknowledge", func() bool { return write() == nil })
	replica.Freeze(t)
	if err := write(); !errors.Is(err, social.ErrUncertain) {
		t.Errorf("first write that the replica does not acknowledge: %v, want ErrUncertain", err)
	}
	if err := write(); err != nil {
		t.Errorf("next write, which only the master has: %v", err)
	}
	p.redis("DEBUG", "CHANGE-REPL-ID") // as on promotion
	if err := write(); !errors.Is(err, social.ErrUncertain) {
		t.Errorf("first write of a new history: %v, want ErrUncertain", err)
	}
	replica.Thaw(t)
}

// Tasks can be added, run, retried and finished when the server is out of memory.
func TestFullMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	client := server.Client(t)
	p := start(t, client, nil)
	p.add("do:1")
	p.redis("CONFIG", "SET", "maxmemory", "1")
	var again atomic.Bool
	w := start(t, client, func(context.Context, string) error {
		if again.Swap(true) {
			return nil
		}
		return work.ErrAgain
	})
	w.add("do:2")
	if err := p.Do(t.Context(), "do:3", func(context.Context) error { return nil }, nil); err != nil {
		t.Error(err)
	}
	eventually(t, "all tasks to end", func() bool {
		p.unpause()
		return p.redis("EXISTS", storage.Tasks) == "0"
	})
}

// A key of the wrong type does not stop tasks permanently.
func TestDamage(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	var runs atomic.Int64
	p := start(t, client, func(context.Context, string) error { runs.Add(1); return nil })
	for _, key := range []string{storage.Tasks, storage.Tries, storage.WakeKey(0)} {
		p.redis("SET", key, "damaged")
		_ = p.Add(t.Context(), "do:1")
		p.redis("DEL", key)
		before := runs.Load()
		p.add("do:2")
		eventually(t, "a task to be done after "+key+" was damaged", func() bool { return runs.Load() > before })
		p.waitEmpty()
	}
}

// Each task ends although processes are killed at random.
func TestRandomKills(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	var mu sync.Mutex
	ended := map[string]int{}
	run := func(ctx context.Context, argument string) error {
		if rand.IntN(10) == 0 {
			return work.ErrAgain
		}
		select {
		case <-time.After(time.Duration(rand.IntN(2000)) * time.Microsecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		mu.Lock()
		defer mu.Unlock()
		ended[argument]++
		return nil
	}
	adder := start(t, client, nil)
	processes := []*process{start(t, client, run), start(t, client, run), start(t, client, run)}
	const rounds, each = 20, 30
	for round := range rounds {
		adder.add(names(fmt.Sprint("do:", round, "-%d"), each)...)
		victim := rand.IntN(len(processes))
		processes[victim].kill()
		processes[victim] = start(t, client, run)
		adder.expire()
	}
	eventually(t, "all tasks to end", func() bool {
		adder.unpause()
		return adder.redis("EXISTS", storage.Tasks) == "0"
	})
	mu.Lock()
	defer mu.Unlock()
	if len(ended) != rounds*each {
		t.Errorf("%d of %d tasks have ended", len(ended), rounds*each)
	}
}

// Adding a task wakes a waiting process, which polls only once an hour.
func TestWake(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t) // no other test waits for the same list
	done := make(chan string)
	for range 2 {
		start(t, server.Client(t), func(_ context.Context, argument string) error {
			done <- argument
			return nil
		}, (*work.Engine).PollEveryHour)
	}
	p := start(t, server.Client(t), nil)
	for i := range 20 {
		eventually(t, "both processes to wait", func() bool {
			return strings.Count(p.redis("CLIENT", "LIST"), "cmd=blpop") == 2
		})
		p.add(fmt.Sprint("do:", i))
		if got := <-done; got != fmt.Sprint(i) {
			t.Fatalf("%s was run, want %d", got, i)
		}
	}
}

// Served reports that a process serves a site until the process ends.
func TestServed(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	p := start(t, client, nil)
	ctx, stop := context.WithCancel(t.Context())
	var beats sync.WaitGroup
	beats.Go(func() { p.Beat(ctx) })
	served := func() bool {
		serving, err := work.Served(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		return serving
	}
	eventually(t, "Served to return true", served)
	stop()
	beats.Wait()
	if served() {
		t.Error("Served returned true after the process had ended")
	}
}

// Periodic work is started once per interval by one of several processes. Long work is not started
// again while it runs. If the process of the long work ends, another process starts the long work.
// Work that is due far in the future, because of a wrong clock, is started immediately.
func TestRepeat(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	var begun [3]atomic.Int64
	release := make(chan struct{})
	const hour = time.Hour
	repeat := func(p *process, n int) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			p.Repeat(ctx,
				work.Periodic{Name: "often", Every: 20 * time.Millisecond, Do: func(context.Context) error { begun[n].Add(1); return nil }},
				work.Periodic{Name: "long", Every: hour, Do: func(ctx context.Context) error {
					begun[2].Add(1)
					select {
					case <-release:
					case <-ctx.Done():
					}
					return errors.New("an error is only logged")
				}},
				work.Periodic{Name: "rarely", Every: hour, Do: func(context.Context) error { return nil }})
		})
		return func() {
			cancel()
			wg.Wait()
		}
	}
	p1, p2 := start(t, client, nil), start(t, client, nil)
	due := func(name string) string { return p1.redis("ZSCORE", storage.Periodic, name) }
	stop := repeat(p1, 0)
	eventually(t, "the first process to start all work", func() bool { return begun[0].Load() > 3 && begun[2].Load() == 1 && due("rarely") != "<nil>" })
	p1.redis("ZADD", storage.Periodic, "0", "long") // the process was suspended for an hour
	eventually(t, "the first process to postpone the running work", func() bool { return due("long") != "0" })
	first := due("rarely")
	stopTwo := repeat(p2, 1)
	eventually(t, "the second process to take turns", func() bool { return begun[1].Load() > 3 })
	if n := begun[2].Load(); n != 1 {
		t.Errorf("the long work was started %d times, want 1", n)
	}
	if due("rarely") != first {
		t.Error("work that was not due was started again")
	}
	stop()
	p1.redis("ZADD", storage.Periodic, "0", "long") // an hour later
	eventually(t, "the second process to start the work of the first process", func() bool { return begun[2].Load() == 2 })
	p1.redis("ZADD", storage.Periodic, "8999999999999999", "often")
	before := begun[1].Load()
	eventually(t, "work that is due in the far future to be started", func() bool { return begun[1].Load() > before })
	close(release)
	eventually(t, "the long work to end and to be started again", func() bool {
		p1.redis("ZADD", storage.Periodic, "0", "long")
		return begun[2].Load() > 3
	})
	stopTwo()
}
