package app_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/load"
)

func TestPost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author, follower, stranger := b.NewUser("author"), b.NewUser("follower"), b.NewUser("stranger")
	b.Connect(follower, author)
	pid := b.Publish(author, "  hello\r\nworld ")

	for want, got := range map[string]string{
		"1":            b.Redis("HGET", "post:1", "user_id"),
		"1700000000":   b.Redis("HGET", "post:1", "time"),
		"hello\nworld": b.Redis("HGET", "post:1", "body"),
	} {
		if got != want {
			t.Errorf("stored %q, want %q", got, want)
		}
	}
	for key, want := range map[string]string{"posts:1": "1", "posts:2": "1", "posts:3": "", "timeline": "1"} {
		if got := b.Redis("LRANGE", key, "0", "-1"); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	if left := b.Redis("EXISTS", "tasks"); left != "0" {
		t.Error("the fan-out is unfinished")
	}
	posts, err := b.Posts.Posts(b.Ctx, 99, pid)
	if err != nil || len(posts) != 1 {
		t.Fatalf("Posts = %+v, %v", posts, err)
	}
	want := social.Post{ID: pid, Author: author, Time: time.Unix(1_700_000_000, 0).UTC(), Body: "hello\nworld"}
	want.Author.Joined = want.Time
	if posts[0] != want {
		t.Errorf("Posts = %+v, want %+v", posts[0], want)
	}
	if page, err := b.Timelines.Home(b.Ctx, stranger.ID, 0, 10); err != nil || len(page.IDs) != 0 {
		t.Errorf("home timeline of a stranger: %+v, %v; want none", page, err)
	}
	b.WantHealthy()
}

func TestPostBodies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author := b.NewUser("author")
	family := "👨‍👩‍👧‍👦"
	for _, c := range []struct{ typed, want string }{
		{"plain", "plain"},
		{"two\r\nlines\tand\u2028more\rof\u0085them", "two\nlines and\nmore\nof\nthem"},
		{"\n \n\n one \n\n\n \t\n\u200b\n  two\n\n", "one\n\n  two"},
		{strings.Repeat("x\n", 40), strings.Repeat("x\n", 39) + "x"},
		{"bell\x07 and nul\x00", "bell and nul"},
		{"bad \xff utf-8", "bad  utf-8"},
		{"turned \u202eround", "turned round"},
		{"<b>&amp;</b>", "<b>&amp;</b>"},
		{strings.Repeat(family, 80), strings.Repeat(family, 80)}, // 2,000 bytes
		{strings.Repeat("🎉", 280), strings.Repeat("🎉", 280)},
		{strings.Repeat("é", 280), strings.Repeat("é", 280)},
	} {
		posts, err := b.Posts.Posts(b.Ctx, b.Publish(author, c.typed))
		if err != nil || posts[0].Body != c.want {
			t.Errorf("posted %.30q, kept %.30q, want %.30q (%v)", c.typed, posts[0].Body, c.want, err)
		}
	}
	before := b.Redis("GET", "next_post_id")
	for _, c := range []struct{ typed, reason string }{
		{"", "Write something"},
		{" \n\t ", "Write something"},
		{"\u200b\u200d", "Write something"},
		{"\x00\x01", "Write something"},
		{strings.Repeat("x", 281), "280 characters"},
		{strings.Repeat(family, 281), "280 characters"},
		{strings.Repeat(family, 80) + "x", "2,000 bytes"},
		{"e" + strings.Repeat("\u0301", 1000), "2,000 bytes"}, // one character
		{strings.Repeat("e\u0301\u0301\u0301\u0301", 280), "2,000 bytes"},
		{"e" + strings.Repeat("\u0301", 10_000), "280 characters"},
		{strings.Repeat("x", 1<<20), "280 characters"},
		{strings.Repeat("x\n", 41), "many lines. Use at most 40"},
	} {
		_, err := b.Posts.Post(b.Ctx, author, c.typed)
		var invalid *social.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "status" || !strings.Contains(invalid.Reason.String(), c.reason) {
			t.Errorf("posted %.30q: %v, want an InvalidError of status with %q", c.typed, err, c.reason)
		}
	}
	if after := b.Redis("GET", "next_post_id"); after != before {
		t.Errorf("refused posts moved next_post_id from %s to %s", before, after)
	}
}

// If the counter of post IDs has fallen back because a server lost its last writes, no post
// overwrites another.
func TestPostNeverOverwrites(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author := b.NewUser("author")
	for i := range 3 {
		b.Publish(author, fmt.Sprint("first ", i))
	}
	b.Redis("SET", "next_post_id", "1")
	if pid := b.Publish(author, "after the crash"); pid != 4 {
		t.Errorf("the post has the id %d, want 4", pid)
	}
	if body := b.Redis("HGET", "post:2", "body"); body != "first 1" {
		t.Errorf("post 2 has the body %q, want first 1", body)
	}
	b.Clock.Advance(time.Minute)
	if err := b.RetryTasks(b.Ctx); err != nil {
		t.Fatal(err)
	}
	b.WantHealthy()
}

// IDs of posts that a server has lost are not assigned again: a process that caches a lost post
// would show the lost post instead of the new post.
func TestLostIDsStayLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author := b.NewUser("author")
	lost := b.Publish(author, "lost")
	b.Redis("DEL", fmt.Sprintf("post:%d", lost))
	b.Redis("DEL", "timeline")
	b.Redis("DEL", "posts:1")
	b.Redis("DEL", "profile:1")
	b.Redis("SET", "next_post_id", "0")
	if pid := b.Publish(author, "new"); pid <= lost {
		t.Errorf("the new post has the id %d, want more than %d", pid, lost)
	}
	// A cached user that a server has lost is not mistaken for a new user either.
	b.Redis("DEL", "user:1")
	b.Redis("HDEL", "users", "author")
	b.Redis("HSET", "user:1", "username", "other")
	b.Redis("HSET", "users", "other", "1")
	b.Redis("HSET", "users", "author", "2")
	b.Redis("HSET", "user:2", "username", "Author")
	if user, err := b.Users.UserByName(b.Ctx, "author"); err != nil || user.ID != 2 {
		t.Errorf("UserByName = %+v, %v", user, err)
	}
}

// An ID that was added to a list by hand does not change the counter.
func TestCounterIgnoresStrayIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author := b.NewUser("author")
	first := b.Publish(author, "first")
	for _, list := range []string{"timeline", "posts:1"} {
		b.Redis("LPUSH", list, "1800000000")
	}
	peer := on(t, b.DB) // a process that has not posted yet
	for _, bundle := range []*bundle{b, peer} {
		if _, err := bundle.Timelines.Everybody(b.Ctx, 0, 10); err != nil {
			t.Fatal(err)
		}
		if _, err := bundle.Timelines.Home(b.Ctx, author.ID, 0, 10); err != nil {
			t.Fatal(err)
		}
	}
	if second := peer.Publish(author, "second"); second != first+1 {
		t.Errorf("the id after %d is %d, want the next one", first, second)
	}
	if third := b.Publish(author, "third"); third != first+2 {
		t.Errorf("the third post has the id %d, want %d", third, first+2)
	}
}

// Foreign values at the keys of posts and lists are not changed. The post gets the next free ID and
// is delivered to the other lists.
func TestPostSkipsForeignKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author, one, two := b.NewUser("author"), b.NewUser("one"), b.NewUser("two")
	b.Connect(one, author)
	b.Connect(two, author)
	b.Redis("SET", "post:1", "foreign")
	b.Redis("SET", "posts:2", "foreign")
	if pid := b.Publish(author, "hello"); pid != 2 {
		t.Errorf("the post has the id %d, want 2", pid)
	}
	if got := b.Redis("GET", "post:1") + b.Redis("GET", "posts:2"); got != "foreignforeign" {
		t.Errorf("the foreign keys hold %q, want their old values", got)
	}
	if got := b.Redis("LRANGE", "posts:3", "0", "-1"); got != "2" {
		t.Errorf("the timeline of the other follower is %q, want 2", got)
	}
	b.Redis("DEL", "timeline")
	b.Redis("SET", "timeline", "foreign")
	b.Redis("DEL", "profile:1")
	b.Redis("SET", "profile:1", "foreign")
	if pid := b.Publish(author, "still here"); pid != 3 {
		t.Errorf("the post has the id %d, want 3", pid)
	}
	if got := b.Redis("LRANGE", "posts:3", "0", "-1"); got != "3 2" {
		t.Errorf("the timeline of the other follower is %q, want 3 2", got)
	}
	b.Clock.Advance(time.Minute)
	if err := b.RetryTasks(b.Ctx); err != nil {
		t.Error(err)
	}
	if left := b.Redis("ZRANGE", "tasks", "0", "-1"); left != "" {
		t.Errorf("unfinished tasks: %q", left)
	}
}

// A post whose fan-out fails does not block the others.
func TestResumeSkipsUnreadablePosts(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.DB(t).Client(t), noJobs)
	author, damaged, follower := b.NewUser("author"), b.NewUser("damaged"), b.NewUser("follower")
	b.Connect(follower, author)
	stuck, intact := b.Publish(damaged, "stuck"), b.Publish(author, "whole")
	b.Redis("SET", "post:99", "foreign")
	b.Redis("SET", "followers:2", "foreign")
	b.Redis("DEL", "posts:3")
	b.Leave("post:99:1:1", "post:nonsense", b.PostTask(stuck), b.PostTask(intact))
	err := b.RetryTasks(b.Ctx)
	if err == nil || !strings.Contains(err.Error(), "1 members of tasks") {
		t.Errorf("RetryTasks = %v, want an error about 1 failed task", err)
	}
	if got := b.Redis("LRANGE", "posts:3", "0", "-1"); got != fmt.Sprint(intact) {
		t.Errorf("the timeline of the follower is %q, want %d", got, intact)
	}
	if left := b.Redis("ZRANGE", "tasks", "0", "-1"); left != b.PostTask(stuck) {
		t.Errorf("unfinished tasks: %q, want only post %d", left, stuck)
	}
	if err := b.App.RetryTasks(b.Ctx); err != nil {
		t.Errorf("a second RetryTasks at once: %v", err)
	}
	b.Redis("DEL", "followers:2")
	b.Clock.Advance(time.Minute)
	if err := b.RetryTasks(b.Ctx); err != nil {
		t.Error(err)
	}
	if left := b.Redis("ZRANGE", "tasks", "0", "-1"); left != "" {
		t.Errorf("unfinished tasks: %q", left)
	}
}

// Each abandoned fan-out is claimed by one of several processes.
func TestFanOutsAreTakenOnce(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.DB(t).Client(t), noJobs)
	author := b.NewUser("author")
	const posts = 120
	for i := range posts {
		id := b.Publish(author, fmt.Sprint(i))
		b.Leave(b.PostTask(id))
	}
	b.Redis("DEL", "posts:1")
	var finished atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		other := on(t, b.DB, noJobs, func(opt *app.Options) {
			opt.Logger = slog.New(counting{slog.DiscardHandler, "finished an interrupted task", &finished})
		})
		wg.Go(func() {
			if err := other.App.RetryTasks(b.Ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := finished.Load(); n != posts {
		t.Errorf("four processes finished %d fan-outs, want %d", n, posts)
	}
	b.WantHealthy()
}

// counting is a handler that counts the records with a given message.
type counting struct {
	slog.Handler
	text string
	n    *atomic.Int64
}

func (c counting) Enabled(context.Context, slog.Level) bool { return true }

func (c counting) Handle(_ context.Context, r slog.Record) error {
	if r.Message == c.text {
		c.n.Add(1)
	}
	return nil
}

// An interrupted fan-out is finished by repeating it. A repeated fan-out adds the post once to each
// timeline, in order.
func TestResume(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author := b.NewUser("author")
	var followers []social.User
	for i := range 150 {
		follower := b.NewUser(fmt.Sprintf("follower%d", i))
		b.Connect(follower, author)
		followers = append(followers, follower)
	}
	old, lost, latest := b.Publish(author, "old"), b.Publish(author, "lost"), b.Publish(author, "latest")
	// Simulate a process that died during the fan-out of the second post.
	for i, follower := range followers {
		if i%2 == 0 {
			b.Redis("LREM", fmt.Sprintf("posts:%d", follower.ID), "0", fmt.Sprint(lost))
		}
	}
	b.Redis("LREM", "timeline", "0", fmt.Sprint(lost))
	b.Redis("ZREM", fmt.Sprintf("profile:%d", author.ID), fmt.Sprint(lost))
	b.Keep(b.PostTask(lost))

	if err := b.App.RetryTasks(b.Ctx); err != nil {
		t.Fatal(err)
	}
	if left := b.Redis("ZCARD", "tasks"); left != "1" {
		t.Fatal("a fan-out was claimed although its process may be alive")
	}
	b.Clock.Advance(time.Minute)
	for range 2 {
		if err := b.RetryTasks(b.Ctx); err != nil {
			t.Fatal(err)
		}
		if err := b.FanOut().Retry(b.Ctx, lost); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprint(latest, " ", lost, " ", old)
		for _, follower := range append(followers, author) {
			if got := b.Redis("LRANGE", fmt.Sprintf("posts:%d", follower.ID), "0", "-1"); got != want {
				t.Fatalf("the timeline of %s is %q, want %q", follower.Name, got, want)
			}
		}
		if got := b.Redis("LRANGE", "timeline", "0", "-1"); got != want {
			t.Errorf("timeline = %q, want %q", got, want)
		}
	}
	if result := b.WantHealthy(); result.Leftovers != 0 {
		t.Errorf("check = %+v", result)
	}
	if err := b.FanOut().Retry(b.Ctx, 12345); err != nil {
		t.Errorf("Retry of a missing post: %v", err)
	}
}

// Followers beyond the first page get the post in the background.
func TestFanOutInTheBackground(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author := b.NewUser("famous")
	const followers = 3500
	var users []load.NewUser
	for i := range followers {
		users = append(users, load.NewUser{Name: fmt.Sprintf("fan%d", i), PasswordHash: "none", Joined: b.Clock.Now()})
	}
	fans, err := load.New(b.App).AddUsers(b.Ctx, users)
	if err != nil {
		t.Fatal(err)
	}
	var follows []load.NewFollow
	for _, fan := range fans {
		follows = append(follows, load.NewFollow{From: fan.ID, To: author.ID, Time: b.Clock.Now()})
	}
	if err := load.New(b.App).AddFollows(b.Ctx, follows); err != nil {
		t.Fatal(err)
	}
	pid := b.Publish(author, "to all of you")
	b.Eventually("the fan-out to end", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
	for _, fan := range fans {
		if got := b.Redis("LRANGE", fmt.Sprintf("posts:%d", fan.ID), "0", "-1"); got != fmt.Sprint(pid) {
			t.Fatalf("the timeline of %s is %q, want %d", fan.Name, got, pid)
		}
	}
	b.WantHealthy()
}

func TestTimelinesAreCapped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author := b.NewUser("talker")
	var posts []load.NewPost
	for i := range 1300 {
		posts = append(posts, load.NewPost{Author: author.ID, Time: b.Clock.Now(), Body: fmt.Sprint(i)})
	}
	if _, err := load.New(b.App).AddPosts(b.Ctx, posts); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"timeline", "posts:1"} {
		if n := b.Redis("LLEN", key); n != "1000" {
			t.Errorf("%s has %s posts, want 1000", key, n)
		}
	}
	if n := b.Redis("ZCARD", "profile:1"); n != "1300" {
		t.Errorf("the profile has %s posts, want all 1300", n)
	}
	// A post older than a full timeline is not added again.
	if err := b.FanOut().Retry(b.Ctx, 3); err != nil {
		t.Fatal(err)
	}
	if at := b.Redis("LPOS", "timeline", "3"); at != "" {
		t.Errorf("post 3 was added to the timeline again, at index %s", at)
	}
	b.WantHealthy()
}
