//go:build long

package fanout_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"

	"retwis/internal/social/layout"
)

// Posts that a process of an earlier version has left unfinished are finished, and those of
// one that lives are left to it.
func TestEarlierFanOuts(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) rueidis.Client{
		"single":  func(t testing.TB) rueidis.Client { return redistest.DB(t).Client(t) },
		"cluster": func(t testing.TB) rueidis.Client { return redistest.Cluster(t, 3).Client(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := on(t, open(t))
			author := b.NewUser("author")
			bare, whole, alive := b.Publish(author, "bare"), b.Publish(author, "whole"), b.Publish(author, "alive")
			b.Eventually("the tasks to end", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
			earlier := func(post int64) string { return strings.TrimPrefix(b.PostTask(post), "post:") }
			for _, post := range []int64{bare, whole, alive} {
				b.Redis("ZREM", layout.ProfileKey(author.ID), fmt.Sprint(post))
			}
			b.Redis("SET", layout.PostKey(98), "foreign")
			b.Redis("ZADD", layout.FanOuts, "1", fmt.Sprint(bare), "2", earlier(whole), "3", "97", "3", "98", "3", "x", "4", "x:y",
				fmt.Sprint(b.Clock.Unix.Load()), earlier(alive))
			for range 2 { // a repetition changes nothing
				if err := b.RetryTasks(b.Ctx); err != nil {
					t.Fatal(err)
				}
			}
			if got := b.Redis("ZRANGE", layout.FanOuts, "0", "-1"); got != earlier(alive) {
				t.Errorf("left in fanouts: %q, want that of a live process", got)
			}
			if got, want := b.Redis("ZRANGE", layout.ProfileKey(author.ID), "0", "-1"), fmt.Sprint(bare, " ", whole); got != want {
				t.Errorf("the profile has %q, want %q", got, want)
			}
			if got := b.Redis("ZRANGE", "tasks", "0", "-1"); got != "" {
				t.Errorf("unfinished: %q", got)
			}
			b.Redis("DEL", layout.PostKey(98))
			b.Clock.Advance(time.Minute)
			if err := b.RetryTasks(b.Ctx); err != nil {
				t.Fatal(err)
			}
			b.WantHealthy()
		})
	}
}

// What a process of an earlier version has on its way counts where something waits for posts
// to arrive: a stub stays as long.
func TestEarlierFanOutIsPending(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.DB(t).Client(t))
	author := b.NewUser("author")
	post := b.Publish(author, "on its way")
	b.Redis("ZADD", layout.FanOuts, "1", strings.TrimPrefix(b.PostTask(post), "post:"))
	if done, err := b.FanOut().Deletions.Erase(b.Ctx, post, author.ID); done || err != nil {
		t.Fatalf("Erase = %v, %v", done, err)
	}
	b.Redis("DEL", layout.FanOuts)
	if done, err := b.FanOut().Deletions.Erase(b.Ctx, post, author.ID); !done || err != nil {
		t.Fatalf("Erase afterwards = %v, %v", done, err)
	}
}
