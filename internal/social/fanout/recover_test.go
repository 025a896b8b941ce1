package fanout_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social/socialtest"
	"retwis/redlock"
)

// One process finishes the fan-outs of dead ones; when it stops, another takes over.
func TestRecover(t *testing.T) {
	t.Parallel()
	socialtest.OnEach(t, func(t *testing.T, client rueidis.Client) {
		first, second := on(t, client), on(t, client)
		author := first.NewUser("author")
		post := first.Publish(author, "half way")
		abandon := func() {
			first.Redis("DEL", "profile:1")
			first.Redis("ZADD", "tasks", "1", first.PostTask(1))
		}
		finished := func() bool {
			return first.Redis("EXISTS", "tasks") == "0" && first.Redis("EXISTS", "profile:1") == "1"
		}
		if post != 1 {
			t.Fatalf("the first post is %d", post)
		}

		var wg sync.WaitGroup
		defer wg.Wait()
		ctx, stop := context.WithCancel(first.Ctx)
		defer stop()
		wg.Go(func() {
			if err := first.RecoverTasks(ctx, 10*time.Millisecond); err != nil {
				t.Error(err)
			}
		})
		abandon()
		first.Eventually("the first process to finish a post", finished)

		locks, err := redlock.New([]rueidis.Client{client}, redlock.Options{NodeTimeout: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer locks.Close()
		first.Eventually("the first process to have the lock", func() bool {
			_, err := locks.TryLock(first.Ctx, "tasks_lock")
			return errors.Is(err, redlock.ErrHeld)
		})

		ctx2, stop2 := context.WithCancel(first.Ctx)
		defer stop2()
		wg.Go(func() {
			if err := second.RecoverTasks(ctx2, 10*time.Millisecond); err != nil {
				t.Error(err)
			}
		})
		stop()
		abandon()
		first.Eventually("the second process to finish a post", finished)
		stop2()
	})
}
