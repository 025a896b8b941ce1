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

// write performs only the first write of a post, like a process that dies right after its first
// write.
func (b *bundle) write(author, id int64, body string) {
	b.T.Helper()
	job := b.FanOut().NewJob(b.Ctx, posts.Entry{Author: author, Fields: []string{
		"user_id", fmt.Sprint(author), "time", fmt.Sprint(b.Clock.Unix.Load()), "body", body,
	}})
	if created, err := b.FanOut().CreateAs(b.Ctx, &job, id); err != nil || !created {
		b.T.Fatalf("post %d: %v, %v", id, created, err)
	}
}

// waitIdle waits until no task is left.
func (b *bundle) waitIdle() {
	b.T.Helper()
	b.Eventually("all tasks to end", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
}

// A process that only has the stored state of a fan-out repeats the fan-out. Each follower gets the
// post, but users who have followed later do not.
func TestFanOutBegunAgain(t *testing.T) {
	t.Parallel()
	const late = 900_000
	ways := map[string]func(b *bundle, post int64) error{
		"RetryTasks": func(b *bundle, _ int64) error { return b.RetryTasks(b.Ctx) },
		"Retry":      func(b *bundle, post int64) error { return b.FanOut().Retry(b.Ctx, post) },
	}
	for name, open := range map[string]func(testing.TB) rueidis.Client{
		"single":  func(t testing.TB) rueidis.Client { return redistest.DB(t).Client(t) },
		"cluster": func(t testing.TB) rueidis.Client { return redistest.Cluster(t, 3).Client(t) },
	} {
		for way, repeat := range ways {
			for _, followers := range []int{2500, 5000} {
				if !redistest.Long && name == "cluster" && (way != "RetryTasks" || followers > 2500) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", name, way, followers), func(t *testing.T) {
					t.Parallel()
					client := open(t)
					dead, other := on(t, client, noJobs), on(t, client)
					author := dead.NewUser("author")
					dead.addFans(author, followers)
					dead.write(author.ID, 77, "to all of you")
					now := dead.Clock.Now().Add(time.Hour)
					dead.Redis("ZADD", storage.FollowersKey(author.ID), fmt.Sprint(now.Unix()), fmt.Sprint(late))
					dead.Redis("RPUSH", fmt.Sprintf("posts:%d", late), "0")
					other.Clock.Advance(2 * time.Hour)
					if err := repeat(other, 77); err != nil {
						t.Fatal(err)
					}
					other.waitIdle()
					if missing := other.countMissing(followers, 77); missing > 0 {
						t.Errorf("%d of %d followers do not have the post", missing, followers)
					}
					if got := other.Redis("LRANGE", fmt.Sprintf("posts:%d", late), "0", "-1"); got != "0" {
						t.Errorf("the list of a later follower is %q, want only the marker 0", got)
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
	b.addFans(author, 1500)
	post := b.Publish(author, "to all of you")
	b.waitIdle()
	for _, member := range []string{
		fmt.Sprintf("push:%d:%d::::", post, author.ID), fmt.Sprintf("push:%d:%d", post, author.ID), "push:x:1:2:::", "push_long:1",
	} {
		b.Leave(member)
		ctx, cancel := context.WithTimeout(b.Ctx, time.Minute)
		defer cancel()
		if err := b.FanOut().Tasks().Finish(ctx, member); err == nil {
			t.Errorf("Finish(%s) succeeded, want an error", member)
		}
		if b.Redis("ZREM", "tasks", member) != "1" {
			t.Errorf("the task %s was removed", member)
		}
	}
}

// An edit delivers a post to the followers of its new tags, but not again to the followers of the
// tags that the post already had.
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
		t.Fatal("the follower of a tag does not have the post")
	}
	b.Redis("DEL", home)
	for _, body := range []string{"about #news", "about #news, #late"} {
		if err := b.Posts.Edit(b.Ctx, author, post, body); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.Redis("LRANGE", home, "0", "-1"); got != "" {
		t.Errorf("an edit delivered %q again to a follower of an old tag", got)
	}
	if got := b.Redis("LRANGE", fmt.Sprint("posts:", late.ID), "0", "-1"); got != fmt.Sprint(post) {
		t.Errorf("the follower of a new tag has %q, want post %d", got, post)
	}
}

// If an edit removes a tag and a later edit restores the tag, users who followed the tag in between
// get the post.
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
		b.waitIdle()
	}
	edit("about #redis")
	if err := b.Tags.FollowTag(b.Ctx, eve, "tea"); err != nil {
		t.Fatal(err)
	}
	edit("about #tea")
	if got := b.Redis("LRANGE", fmt.Sprint("posts:", eve.ID), "0", "-1"); got != fmt.Sprint(post) {
		t.Errorf("home timeline of the new follower of the tag: %q, want post %d", got, post)
	}
}
