package fanout_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/socialtest"
)

// workerEnv makes this test binary do background work on the server at its URL: a process
// to kill.
const workerEnv = "SOCIAL_TEST_WORKER"

func workWithoutEnd() {
	opt := rueidis.MustParseURL(os.Getenv(workerEnv))
	opt.ForceSingleClient, opt.PipelineMultiplex = true, -1
	client, err := rueidis.NewClient(opt)
	if err != nil {
		panic(err)
	}
	if _, err := social.New(client, social.Options{HashParams: socialtest.CheapHash, Logger: socialtest.Quiet()}); err != nil {
		panic(err)
	}
	select {}
}

// startWorker starts a process that does background work.
func startWorker(t *testing.T, url string) *exec.Cmd {
	t.Helper()
	program := exec.CommandContext(t.Context(), os.Args[0])
	program.Env = append(os.Environ(), workerEnv+"="+url)
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Process.Kill(); _ = program.Wait() })
	return program
}

func noJobs(opt *social.Options) { opt.NoJobs = true }

// A worker is killed in the middle of a slice: another one finishes it, and each follower
// has the post once.
func TestWorkerKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	b := on(t, server.Client(t), noJobs)
	const followers = 130_000
	author := b.NewUser("author")
	b.fans(author, followers)
	post := b.Publish(author, "to all of you")
	if n := b.Redis("XLEN", "jobs:long:0"); n != "2" {
		t.Fatalf("%s slices wait", n)
	}
	first := startWorker(t, server.URL())
	// The latest follower comes first: this one is in the middle of the first slice.
	middle := fmt.Sprintf("posts:%d", 1001+followers-50_000)
	b.Eventually("the middle of a slice", func() bool { return b.Redis("EXISTS", middle) == "1" })
	_ = first.Process.Kill()
	_ = first.Wait()
	if b.lacking(followers, post) < 30_000 {
		t.Fatal("it was killed too late: the test shows nothing")
	}
	killed := time.Now()
	startWorker(t, server.URL())
	b.Eventually("the other process to finish", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
	if lack := b.lacking(followers, post); lack > 0 {
		t.Errorf("%d followers lack the post", lack)
	}
	for at := 1001; at < 1001+followers; at += 997 {
		if n := b.Redis("LLEN", fmt.Sprintf("posts:%d", at)); n != "1" {
			t.Fatalf("user %d has %s posts", at, n)
		}
	}
	b.Eventually("the queues to be empty", func() bool { return b.Redis("EXISTS", "jobs:0", "jobs:long:0") == "0" })
	t.Logf("%d followers had the post %v after a worker was killed", followers, time.Since(killed).Round(100*time.Millisecond))
}

// What a failover has lost with a queue is queued again.
func TestQueueLost(t *testing.T) {
	t.Parallel()
	server := redistest.DB(t)
	b := on(t, server.Client(t), noJobs)
	const followers = 3000
	author := b.NewUser("author")
	b.fans(author, followers)
	post := b.Publish(author, "to all of you")
	if n := b.Redis("DEL", "jobs:0"); n != "1" {
		t.Fatal("nothing was queued")
	}
	b.Clock.Advance(time.Minute)
	worker := on(t, server.Client(t))
	worker.Clock.Unix.Store(b.Clock.Unix.Load())
	if err := worker.FanOut().Sweep(b.Ctx); err != nil {
		t.Fatal(err)
	}
	b.Eventually("the fan-out to end", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
	if lack := b.lacking(followers, post); lack > 0 {
		t.Errorf("%d followers lack the post", lack)
	}
}

// What waits in the queue for a long time is not queued again, and so not done twice.
func TestWaitingJobsAreNotQueuedAgain(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.DB(t).Client(t), noJobs)
	const n = 1000
	for i := range n {
		member := fmt.Sprintf("tagfollow:%d:tag", i+1)
		if err := b.FanOut().Tasks().Note(b.Ctx, member); err != nil {
			t.Fatal(err)
		}
		b.FanOut().Tasks().Queue(member)
	}
	for range 3 {
		b.Clock.Advance(time.Minute)
		if err := b.FanOut().Sweep(b.Ctx); err != nil {
			t.Fatal(err)
		}
		if waiting := b.Redis("XLEN", "jobs:0"); waiting != fmt.Sprint(n) {
			t.Fatalf("%d jobs were queued, %s wait", n, waiting)
		}
	}
	// One that the queue has lost is found among them.
	ids, err := b.DB.Do(b.Ctx, b.DB.B().Xrange().Key("jobs:0").Start("-").End("+").Count(1).Build()).AsXRange()
	if err != nil {
		t.Fatal(err)
	}
	b.Redis("XDEL", "jobs:0", ids[0].ID)
	b.Clock.Advance(time.Minute)
	if err := b.FanOut().Sweep(b.Ctx); err != nil {
		t.Fatal(err)
	}
	if waiting := b.Redis("XLEN", "jobs:0"); waiting != fmt.Sprint(n) {
		t.Errorf("after one of %d was lost, %s wait", n, waiting)
	}
}
