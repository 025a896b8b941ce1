package posts_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/posts"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
	"retwis/internal/social/work"
)

// If workerEnv holds the URL of a server, this test binary runs workForever instead of tests.
const workerEnv = "SOCIAL_TEST_WORKER"

// workForever runs background jobs until the process is killed.
func workForever() {
	opt := rueidis.MustParseURL(os.Getenv(workerEnv))
	opt.ForceSingleClient, opt.PipelineMultiplex = true, -1
	client, err := rueidis.NewClient(opt)
	if err != nil {
		panic(err)
	}
	if _, err := app.New(client, app.Options{HashParams: socialtest.CheapHash, Logger: socialtest.Quiet()}); err != nil {
		panic(err)
	}
	select {}
}

func noJobs(opt *app.Options) { opt.NoJobs = true }

// During overload, posts to many followers are rejected, and posts to few followers are accepted.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	server := redistest.DB(t)
	b := on(t, server.Client(t), noJobs, func(opt *app.Options) { opt.MaxBacklog = 2 })
	star, quiet := b.NewUser("star"), b.NewUser("quiet")
	b.addFans(star, posts.AtOnce+1)
	published := 0
	b.Eventually("a post to many followers to be rejected", func() bool {
		_, err := b.Posts.Post(b.Ctx, star, "to all of you")
		if err == nil {
			published++
		} else if !errors.Is(err, social.ErrOverloaded) {
			t.Fatal(err)
		}
		return err != nil
	})
	if published <= 2 {
		t.Errorf("a post was rejected after %d posts, want more than 2", published)
	}
	if _, err := b.Posts.Post(b.Ctx, quiet, "to few of you"); err != nil {
		t.Errorf("post to few followers: %v", err)
	}
	if n := b.Redis("ZCARD", fmt.Sprintf("profile:%d", star.ID)); n != fmt.Sprint(published) {
		t.Errorf("the profile has %s posts, want %d", n, published)
	}
	on(t, server.Client(t)) // a process that does background work
	b.Eventually("posts to many followers to be accepted again", func() bool {
		_, err := b.Posts.Post(b.Ctx, star, "to all of you again")
		return err == nil
	})
}

// Short jobs run while long jobs are blocked, and long jobs run while short jobs are blocked.
func TestTurns(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	e := work.New(client, socialtest.Quiet())
	var blocked atomic.Pointer[string] // kind of the blocked jobs
	release, ran := make(chan struct{}), make(chan string, 1000)
	handle := func(kind string) work.Func {
		return func(ctx context.Context, _ string) error {
			if *blocked.Load() == kind {
				select {
				case <-release:
				case <-ctx.Done():
				}
			}
			ran <- kind
			return ctx.Err()
		}
	}
	e.Handle("short", handle("short"))
	e.HandleLong("long", handle("long"))
	e.Start(true)
	t.Cleanup(e.Close)
	const n = 30
	for _, kinds := range [][2]string{{"short", "long"}, {"long", "short"}} {
		blocked.Store(&kinds[0])
		for _, kind := range kinds {
			for i := range n {
				member := fmt.Sprintf("%s:%d", kind, i)
				if err := e.Add(t.Context(), member); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range 2 * n {
			if i == n {
				for range n {
					release <- struct{}{}
				}
			}
			select {
			case kind := <-ran:
				if i < n && kind != kinds[1] {
					t.Fatalf("a blocked %s job has ended", kind)
				}
			case <-t.Context().Done():
				t.Fatalf("%d of %d jobs have ended, %s jobs were blocked first", i, 2*n, kinds[0])
			}
		}
	}
}

// RetryLetters retries dead tasks and removes dead tasks that name no job.
func TestRetryDead(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.DB(t).Client(t), noJobs)
	author := b.NewUser("author")
	post := b.Publish(author, "hello")
	b.Redis("DEL", fmt.Sprintf("posts:%d", author.ID))
	for _, job := range []string{b.PostTask(post), "tagfollow:1:tag", "", "damaged"} {
		b.Redis("XADD", storage.DeadTasks, "*", "job", job, "error", "broken", "time", "1700000000", "tries", "12")
	}
	queued, removed, err := b.FanOut().Tasks().RetryLetters(b.Ctx)
	if err != nil || queued != 2 || removed != 2 {
		t.Fatalf("RetryLetters queued %d and removed %d, %v; want 2 and 2", queued, removed, err)
	}
	if n := b.Redis("EXISTS", storage.DeadTasks); n != "0" {
		t.Error("RetryLetters did not delete the dead tasks")
	}
	if waiting := b.Redis("ZCARD", "tasks"); waiting != "2" {
		t.Errorf("%s tasks are queued, want 2", waiting)
	}
	worker := on(t, b.DB)
	b.Eventually("the jobs to be done", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
	if n := b.Redis("LLEN", fmt.Sprintf("posts:%d", author.ID)); n != "1" {
		t.Errorf("the timeline has %s posts, want 1", n)
	}
	if n, err := worker.DeadJobs(b.Ctx); n != 0 || err != nil {
		t.Errorf("DeadJobs = %d, %v; want 0", n, err)
	}
}
