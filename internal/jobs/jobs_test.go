package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/jobs"
	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// mortal is the client of a process that can be killed: no command reaches the server
// any more.
type mortal struct {
	rueidis.Client
	dead  atomic.Bool
	looks atomic.Int64 // for the lengths of the streams
}

var errKilled = errors.New("killed")

func (m *mortal) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	return m.DoMulti(ctx, cmd)[0]
}

func (m *mortal) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	if !m.dead.Load() {
		if cmds[0].Commands()[0] == "XLEN" {
			defer m.looks.Add(1)
		}
		return m.Client.DoMulti(ctx, cmds...)
	}
	results := make([]rueidis.RedisResult, len(cmds))
	for i := range results {
		results[i] = rueidis.NewErrorResult(errKilled)
	}
	return results
}

// process is a process with a queue.
type process struct {
	*jobs.Queue
	client *mortal
	t      testing.TB
	stop   context.CancelFunc
	ended  sync.WaitGroup
}

// settings are short times.
func settings(streams int) jobs.Options {
	return jobs.Options{
		Prefix: "jobs:", Dead: "jobs:dead", Streams: streams,
		Lease: time.Second, Poll: 20 * time.Millisecond, Tries: 3, Pause: time.Millisecond,
	}
}

func start(t testing.TB, client rueidis.Client, opt jobs.Options) *process {
	p := &process{client: &mortal{Client: client}, t: t}
	p.Queue = jobs.New(p.client, opt)
	return p
}

func (p *process) work(workers int, do func(ctx context.Context, job string) error) {
	ctx, stop := context.WithCancel(p.t.Context())
	p.stop = stop
	p.ended.Go(func() {
		p.Work(ctx, workers, func(ctx context.Context, job string) (<-chan struct{}, error) { return nil, do(ctx, job) })
	})
	p.t.Cleanup(p.end)
}

func (p *process) end() {
	p.stop()
	p.ended.Wait()
}

// kill ends a process without any command.
func (p *process) kill() {
	p.client.dead.Store(true)
	p.end()
}

func (p *process) add(format string, n int) {
	p.t.Helper()
	for i := range n {
		p.addOne(fmt.Sprintf(format, i))
	}
}

func (p *process) addOne(job string) {
	p.t.Helper()
	if err := p.Add(p.t.Context(), job); err != nil {
		p.t.Fatal(err)
	}
}

// keep adds n jobs, and takes them without an end.
func (p *process) keep(format string, n int) {
	p.t.Helper()
	var taken atomic.Int64
	p.work(n, func(ctx context.Context, _ string) error {
		taken.Add(1)
		<-ctx.Done()
		return ctx.Err()
	})
	p.add(format, n)
	eventually(p.t, "the jobs to be taken", func() bool { return taken.Load() == int64(n) })
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	t.Logf("waiting for %s", what)
	for !ok() {
		time.Sleep(5 * time.Millisecond)
	}
}

// wantEmpty waits until no key is left.
func wantEmpty(t testing.TB, p *process, streams int) {
	t.Helper()
	c := p.client.Client
	eventually(t, "the streams to be deleted", func() bool {
		for i := range streams {
			if n, err := c.Do(t.Context(), c.B().Exists().Key("jobs:"+strconv.Itoa(i)).Build()).AsInt64(); err != nil || n != 0 {
				return false
			}
		}
		return true
	})
	if n, err := p.LenNow(t.Context()); n != 0 || err != nil {
		t.Errorf("the backlog is %d, %v", n, err)
	}
	if at, err := p.Oldest(t.Context()); !at.IsZero() || err != nil {
		t.Errorf("the oldest job is of %v, %v", at, err)
	}
}

func servers(t *testing.T, test func(t *testing.T, client rueidis.Client, streams int)) {
	t.Run("single", func(t *testing.T) {
		t.Parallel()
		test(t, redistest.DB(t).Client(t), 1)
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		test(t, redistest.Cluster(t, 3).Client(t), 16)
	})
}

// Each job is run once, by any of several processes, while more are added and the
// streams come and go.
func TestEachJobOnce(t *testing.T) {
	t.Parallel()
	servers(t, func(t *testing.T, client rueidis.Client, streams int) {
		var mu sync.Mutex
		ran := map[string]int{}
		all := make([]*process, 3)
		for i := range all {
			all[i] = start(t, client, settings(streams))
			all[i].work(4, func(_ context.Context, job string) error {
				mu.Lock()
				defer mu.Unlock()
				ran[job]++
				return nil
			})
		}
		const n = 300
		var adders sync.WaitGroup
		for i, p := range all {
			adders.Go(func() { p.add(strconv.Itoa(i)+"/%d", n) })
		}
		adders.Wait()
		eventually(t, "all jobs", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(ran) == n*len(all)
		})
		wantEmpty(t, all[0], streams)
		for job, times := range ran {
			if times != 1 {
				t.Errorf("%s was run %d times", job, times)
			}
		}
	})
}

// A process that is slow holds the jobs that it works on, and no others.
func TestSlowProcess(t *testing.T) {
	t.Parallel()
	servers(t, func(t *testing.T, client rueidis.Client, streams int) {
		slow, fast := start(t, client, settings(streams)), start(t, client, settings(streams))
		const n = 1000
		slow.add("%d", n)
		var slowRan, fastRan atomic.Int64
		goOn := make(chan struct{})
		slow.work(2, func(ctx context.Context, _ string) error {
			slowRan.Add(1)
			select {
			case <-goOn:
			case <-ctx.Done():
			}
			return ctx.Err()
		})
		eventually(t, "the slow process to be busy", func() bool { return slowRan.Load() == 2 })
		fast.work(4, func(context.Context, string) error { fastRan.Add(1); return nil })
		eventually(t, "the fast process to do the rest", func() bool { return fastRan.Load() == n-2 })
		close(goOn)
		wantEmpty(t, fast, streams)
		if slow, fast := slowRan.Load(), fastRan.Load(); slow+fast != n {
			t.Errorf("%d jobs were run %d times", n, slow+fast)
		}
	})
}

// What a process that was killed has taken is begun again by another; what one holds that
// stops is left to others at once.
func TestProcessesThatEnd(t *testing.T) {
	t.Parallel()
	servers(t, func(t *testing.T, client rueidis.Client, streams int) {
		opt := settings(streams)
		opt.Tries = 10
		for _, how := range []string{"killed", "stopped"} {
			opt.Lease = map[string]time.Duration{"killed": time.Second, "stopped": time.Hour}[how]
			first, second := start(t, client, opt), start(t, client, opt)
			var done atomic.Int64
			first.keep(how+" %d", 3)
			if how == "killed" {
				first.kill()
			} else {
				first.end()
			}
			second.work(3, func(context.Context, string) error { done.Add(1); return nil })
			eventually(t, "the jobs to be done after the process was "+how, func() bool { return done.Load() == 3 })
			wantEmpty(t, second, streams)
			if n := second.Stats().Reclaimed; n != 3 {
				t.Errorf("%d jobs were reclaimed", n)
			}
			second.end()
		}
	})
}

// A busy process begins what another has left before what is newer.
func TestBacklog(t *testing.T) {
	t.Parallel()
	servers(t, func(t *testing.T, client rueidis.Client, streams int) {
		first, busy := start(t, client, settings(streams)), start(t, client, settings(streams))
		ran, began, added := 0, make(chan int, 1), new(atomic.Bool)
		busy.work(1, func(ctx context.Context, job string) error {
			if job == "old 0" {
				began <- ran
			}
			ran++
			looks := busy.client.looks.Load()
			eventually(t, "a look meanwhile", func() bool { return ctx.Err() != nil || added.Load() && busy.client.looks.Load() > looks })
			return nil
		})
		busy.addOne("young")
		eventually(t, "the process to be busy", func() bool { return busy.Stats().Running == 1 })
		first.keep("old %d", 1)
		first.end()
		busy.add("%d", 40)
		added.Store(true)
		if ran := <-began; ran > 20 {
			t.Errorf("it began after %d of 41 other jobs", ran)
		}
	})
}

// A job that somebody deletes while it runs keeps none of the others from being reclaimed.
func TestDeletedJob(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := settings(1)
	first, second := start(t, client, opt), start(t, client, opt)
	var done atomic.Int64
	first.keep("%d", 3)
	first.kill()
	entries, err := client.Do(t.Context(), client.B().Xrange().Key("jobs:0").Start("-").End("+").Build()).AsXRange()
	if err != nil || len(entries) != 3 {
		t.Fatalf("%v, %v", entries, err)
	}
	if err := client.Do(t.Context(), client.B().Xdel().Key("jobs:0").Id(entries[1].ID).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	second.work(3, func(context.Context, string) error { done.Add(1); return nil })
	eventually(t, "the others to be done", func() bool { return done.Load() == 2 })
	wantEmpty(t, second, 1)
}

// A job that fails is tried again while others run, and becomes a dead letter.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	servers(t, func(t *testing.T, client rueidis.Client, streams int) {
		opt := settings(streams)
		var forgotten atomic.Value
		opt.OnDead = func(_ context.Context, job string) error { forgotten.Store(job); return nil }
		p := start(t, client, opt)
		var bad, again, good atomic.Int64
		var healed atomic.Bool
		p.work(1, func(_ context.Context, job string) error {
			switch {
			case job == "bad" && !healed.Load():
				bad.Add(1)
				return errors.New("broken")
			case job == "again" && again.Add(1) < 6:
				return fmt.Errorf("not yet: %w", jobs.ErrAgain)
			}
			good.Add(1)
			return nil
		})
		p.addOne("bad")
		p.addOne("again")
		p.add("good %d", 20)
		eventually(t, "the others to be done", func() bool { return good.Load() == 21 })
		wantEmpty(t, p, streams)
		letters := jobs.NewLetters(client, "jobs:dead")
		all, err := letters.All(t.Context())
		if err != nil || len(all) != 1 || all[0].Job != "bad" || all[0].Error != "broken" || all[0].Tries != 3 || bad.Load() != 3 || forgotten.Load() != "bad" {
			t.Fatalf("%+v, %v after %d tries", all, err, bad.Load())
		}
		if age := time.Since(all[0].At); age < 0 || age > time.Hour {
			t.Errorf("it died %v ago", age)
		}
		healed.Store(true)
		if err := p.Add(t.Context(), all[0].Job); err != nil {
			t.Fatal(err)
		}
		if err := letters.Remove(t.Context(), all[0].ID); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it to be done", func() bool { return good.Load() == 22 })
		if n, err := client.Do(t.Context(), client.B().Exists().Key("jobs:dead").Build()).AsInt64(); n != 0 || err != nil {
			t.Errorf("the dead letters are still there: %d, %v", n, err)
		}
	})
}

// A job is one dead letter, however often OnDead fails. It stays in its stream until then.
func TestOnDeadFails(t *testing.T) {
	t.Parallel()
	servers(t, func(t *testing.T, client rueidis.Client, streams int) {
		opt := settings(streams)
		var calls atomic.Int64
		letters := jobs.NewLetters(client, "jobs:dead")
		opt.OnDead = func(ctx context.Context, _ string) error {
			if n, err := letters.Len(ctx); n != 1 || err != nil {
				t.Errorf("%d dead letters in call %d, %v", n, calls.Load()+1, err)
			}
			if calls.Add(1) < 4 {
				return errors.New("not yet")
			}
			return nil
		}
		p := start(t, client, opt)
		p.work(1, func(context.Context, string) error { return errors.New("broken") })
		p.addOne("bad")
		eventually(t, "OnDead to succeed", func() bool { return calls.Load() == 4 })
		wantEmpty(t, p, streams)
		all, err := letters.All(t.Context())
		if err != nil || len(all) != 1 || all[0].Job != "bad" || all[0].Error != "broken" {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// A job that kills each process that takes it is given up; so is an entry without a job.
// A key of another type does not stop the other streams.
func TestDamage(t *testing.T) {
	t.Parallel()
	client := redistest.Cluster(t, 3).Client(t)
	const streams = 4
	opt := settings(streams)
	opt.Tries, opt.Lease = 2, 250*time.Millisecond
	do := func(words ...string) {
		t.Helper()
		if err := client.Do(t.Context(), client.B().Arbitrary(words[0]).Keys(words[1]).Args(words[2:]...).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	do("SET", "jobs:2", "foreign")
	do("XADD", "jobs:1", "*", "something", "else") // and no group
	for range 2 {
		p := start(t, client, opt)
		p.addOne("deadly")
		var taken atomic.Bool
		p.work(1, func(ctx context.Context, job string) error {
			taken.Store(true)
			<-ctx.Done()
			return ctx.Err()
		})
		eventually(t, "the job to be taken", taken.Load)
		p.kill()
	}
	p := start(t, client, opt)
	var done atomic.Int64
	p.work(2, func(_ context.Context, job string) error { done.Add(1); return nil })
	p.add("%d", 20)
	letters := jobs.NewLetters(client, "jobs:dead")
	var all []jobs.Dead
	eventually(t, "everything to end", func() bool {
		n, _ := p.LenNow(t.Context())
		all, _ = letters.All(t.Context())
		return n == 0
	})
	if len(all) < 1 || len(all) > 2 || done.Load() < 20 {
		t.Errorf("%d done, dead are %+v", done.Load(), all)
	}
	found, until, err := p.Waiting(t.Context(), 10)
	if err != nil || len(found) != 0 || !until.IsZero() {
		t.Errorf("%v, %v, %v", found, until, err)
	}
}

// Processes come, are killed and stop, and jobs fail, all at random: in the end each job
// is done, and none by two processes that live.
func TestRandomKills(t *testing.T) {
	t.Parallel()
	servers(t, func(t *testing.T, client rueidis.Client, streams int) {
		opt := settings(streams)
		opt.Tries, opt.Lease = 1000, 400*time.Millisecond
		rng := rand.New(rand.NewPCG(1, uint64(streams)))
		var mu sync.Mutex
		done, running := map[string]int{}, map[string]int{}
		killed := 0
		newProcess := func(seed uint64) *process {
			p := start(t, client, opt)
			rng := rand.New(rand.NewPCG(seed, 2))
			p.work(3, func(ctx context.Context, job string) error {
				mu.Lock()
				if running[job]++; running[job] > 1 {
					t.Errorf("%s is run twice at once", job)
				}
				chance, pause := rng.IntN(10), time.Duration(rng.IntN(8))*time.Millisecond
				mu.Unlock()
				defer func() {
					mu.Lock()
					running[job]--
					mu.Unlock()
				}()
				select {
				case <-time.After(pause):
				case <-ctx.Done():
					return ctx.Err()
				}
				if chance == 0 {
					return errors.New("broken for once")
				}
				if !p.client.dead.Load() {
					mu.Lock()
					done[job]++
					mu.Unlock()
				}
				return nil
			})
			return p
		}
		adder := start(t, client, opt)
		alive := []*process{newProcess(1), newProcess(2), newProcess(3)}
		const n = 400
		for i := range n {
			adder.addOne(strconv.Itoa(i))
			if rng.IntN(25) == 0 {
				at := rng.IntN(len(alive))
				if rng.IntN(2) == 0 {
					alive[at].kill()
					killed++
				} else {
					alive[at].end()
				}
				alive[at] = newProcess(uint64(i) + 10)
			}
		}
		eventually(t, "all jobs", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(done) == n
		})
		wantEmpty(t, adder, streams)
		twice := 0
		for _, times := range done {
			twice += times - 1
		}
		// One that was killed may have done a job without a chance to say so.
		if twice > 3*killed {
			t.Errorf("%d jobs were done twice, and %d processes killed", twice, killed)
		}
		t.Logf("%d jobs, %d processes killed, %d jobs done twice", n, killed, twice)
	})
}
