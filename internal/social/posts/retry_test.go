package posts_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/posts"
	"retwis/internal/social/storage"
)

// write performs only the first write of a post, as a process does that dies right after it, and
// leaves the rest to others.
func (b *bundle) write(author, id int64, body string) {
	b.T.Helper()
	job := b.FanOut().NewJob(b.Ctx, posts.Entry{Author: author, Fields: []string{
		"user_id", fmt.Sprint(author), "time", fmt.Sprint(b.Clock.Unix.Load()), "body", body,
	}})
	if created, err := b.FanOut().CreateAs(b.Ctx, &job, id); err != nil || !created {
		b.T.Fatalf("post %d: %v, %v", id, created, err)
	}
}

// quiet waits until no work is left.
func (b *bundle) quiet() {
	b.T.Helper()
	b.Eventually("all work to end", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
}

// A process that knows only the stored state of a fan-out starts it again: each follower gets the
// post, and nobody who has followed since.
func TestFanOutBegunAgain(t *testing.T) {
	t.Parallel()
	const late = 900_000
	ways := map[string]func(b *bundle, post int64) error{
		"by a start": func(b *bundle, _ int64) error { return b.RetryTasks(b.Ctx) },
		"repeated":   func(b *bundle, post int64) error { return b.FanOut().Retry(b.Ctx, post) },
	}
	for name, open := range map[string]func(testing.TB) rueidis.Client{
		"single":  func(t testing.TB) rueidis.Client { return redistest.DB(t).Client(t) },
		"cluster": func(t testing.TB) rueidis.Client { return redistest.Cluster(t, 3).Client(t) },
	} {
		for way, repeat := range ways {
			for _, followers := range []int{2500, 5000} {
				if !redistest.Long && name == "cluster" && (way != "by a start" || followers > 2500) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", name, way, followers), func(t *testing.T) {
					t.Parallel()
					client := open(t)
					dead, other := on(t, client, noJobs), on(t, client)
					author := dead.NewUser("author")
					dead.fans(author, followers)
					dead.write(author.ID, 77, "to all of you")
					now := dead.Clock.Now().Add(time.Hour)
					dead.Redis("ZADD", storage.FollowersKey(author.ID), fmt.Sprint(now.Unix()), fmt.Sprint(late))
					dead.Redis("RPUSH", fmt.Sprintf("posts:%d", late), "0")
					other.Clock.Advance(2 * time.Hour)
					if err := repeat(other, 77); err != nil {
						t.Fatal(err)
					}
					other.quiet()
					if lack := other.countMissing(followers, 77); lack > 0 {
						t.Errorf("%d of %d followers lack the post", lack, followers)
					}
					if got := other.Redis("LRANGE", fmt.Sprintf("posts:%d", late), "0", "-1"); got != "0" {
						t.Errorf("one who followed later has %q", got)
					}
				})
			}
		}
	}
}

// A segment that does not identify its post completely is not processed.
func TestSegmentWithoutPost(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.DB(t).Client(t))
	author := b.NewUser("author")
	b.fans(author, 1500)
	post := b.Publish(author, "to all of you")
	b.quiet()
	for _, member := range []string{
		fmt.Sprintf("push:%d:%d::::", post, author.ID), fmt.Sprintf("push:%d:%d", post, author.ID), "push:x:1:2:::", "push_long:1",
	} {
		b.Leave(member)
		ctx, cancel := context.WithTimeout(b.Ctx, time.Minute)
		defer cancel()
		if err := b.FanOut().Tasks().Finish(ctx, member); err == nil {
			t.Errorf("%s counts as done", member)
		}
		if b.Redis("ZREM", "tasks", member) != "1" {
			t.Errorf("%s was removed", member)
		}
	}
}

// An edit delivers a post to those who follow its new tags; followers of a tag that it had from the
// start already have it, however many they are.
func TestEditPushesNewTags(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.DB(t).Client(t))
	author, news, late := b.NewUser("author"), b.NewUser("news"), b.NewUser("late")
	for user, tag := range map[social.User]string{news: "news", late: "late"} {
		if err := b.Tags.FollowTag(b.Ctx, user, tag); err != nil {
			t.Fatal(err)
		}
	}
	post := b.Publish(author, "about #news")
	home := fmt.Sprint("posts:", news.ID)
	if b.Redis("LRANGE", home, "0", "-1") != fmt.Sprint(post) {
		t.Fatal("the follower of a tag lacks its post")
	}
	b.Redis("DEL", home)
	for _, body := range []string{"about #news", "about #news, #late"} {
		if err := b.Posts.Edit(b.Ctx, author, post, body); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.Redis("LRANGE", home, "0", "-1"); got != "" {
		t.Errorf("an edit has put %q on the home timeline of somebody who had the post", got)
	}
	if got := b.Redis("LRANGE", fmt.Sprint("posts:", late.ID), "0", "-1"); got != fmt.Sprint(post) {
		t.Errorf("the follower of a new tag has %q", got)
	}
}

// One edit removes a tag and another brings it back: users who followed the tag in between get the
// post with it.
func TestEditBringsTagBack(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.DB(t).Client(t))
	author, eve := b.NewUser("author"), b.NewUser("eve")
	post := b.Publish(author, "about #tea")
	edit := func(body string) {
		t.Helper()
		if err := b.Posts.Edit(b.Ctx, author, post, body); err != nil {
			t.Fatal(err)
		}
		b.quiet()
	}
	edit("about #redis")
	if err := b.Tags.FollowTag(b.Ctx, eve, "tea"); err != nil {
		t.Fatal(err)
	}
	edit("about #tea")
	if got := b.Redis("LRANGE", fmt.Sprint("posts:", eve.ID), "0", "-1"); got != fmt.Sprint(post) {
		t.Errorf("the home timeline of somebody who followed the tag meanwhile has %q, want post %d", got, post)
	}
}
