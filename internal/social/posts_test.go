package social_test

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

	"retwis/internal/social"
)

func TestPost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author, follower, stranger := b.register("author"), b.register("follower"), b.register("stranger")
	b.follow(follower, author)
	pid := b.post(author, "  hello\nworld ")

	for want, got := range map[string]string{
		"1":           b.do("HGET", "post:1", "user_id"),
		"1700000000":  b.do("HGET", "post:1", "time"),
		"hello world": b.do("HGET", "post:1", "body"),
	} {
		if got != want {
			t.Errorf("stored %q, want %q", got, want)
		}
	}
	for key, want := range map[string]string{"posts:1": "1", "posts:2": "1", "posts:3": "", "timeline": "1"} {
		if got := b.do("LRANGE", key, "0", "-1"); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	if left := b.do("EXISTS", "fanouts"); left != "0" {
		t.Error("the fan-out counts as unfinished")
	}
	posts, err := b.Posts(b.ctx, 99, pid)
	if err != nil || len(posts) != 1 {
		t.Fatalf("Posts = %+v, %v", posts, err)
	}
	want := social.Post{ID: pid, Author: author, Time: time.Unix(1_700_000_000, 0).UTC(), Body: "hello world"}
	want.Author.Joined = want.Time
	if posts[0] != want {
		t.Errorf("Posts = %+v, want %+v", posts[0], want)
	}
	if page, err := b.Home(b.ctx, stranger.ID, 0, 10); err != nil || len(page.IDs) != 0 {
		t.Errorf("a stranger's home: %+v, %v", page, err)
	}
	b.wantHealthy()
}

func TestPostBodies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author := b.register("author")
	family := "👨‍👩‍👧‍👦"
	for _, c := range []struct{ typed, want string }{
		{"plain", "plain"},
		{"two\r\nlines\tand\u2028more", "two lines and more"},
		{"bell\x07 and nul\x00", "bell and nul"},
		{"bad \xff utf-8", "bad  utf-8"},
		{"turned \u202eround", "turned round"},
		{"<b>&amp;</b>", "<b>&amp;</b>"},
		{strings.Repeat(family, 280), strings.Repeat(family, 280)},
		{strings.Repeat("é", 280), strings.Repeat("é", 280)},
	} {
		posts, err := b.Posts(b.ctx, b.post(author, c.typed))
		if err != nil || posts[0].Body != c.want {
			t.Errorf("posted %.30q, kept %.30q, want %.30q (%v)", c.typed, posts[0].Body, c.want, err)
		}
	}
	before := b.do("GET", "next_post_id")
	for _, typed := range []string{
		"", " \n\t ", "\u200b\u200d", "\x00\x01",
		strings.Repeat("x", 281),
		strings.Repeat(family, 281),
		"e" + strings.Repeat("\u0301", 10_000), // one character, without end
		strings.Repeat("x", 1<<20),
	} {
		_, err := b.Post(b.ctx, author, typed)
		var invalid *social.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "status" {
			t.Errorf("posted %.30q: %v, want an InvalidError of status", typed, err)
		}
	}
	if after := b.do("GET", "next_post_id"); after != before {
		t.Errorf("refused posts took the ids from %s to %s", before, after)
	}
}

// A counter that fell back, as when a server lost its last second, never makes
// one post overwrite another.
func TestPostNeverOverwrites(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author := b.register("author")
	for i := range 3 {
		b.post(author, fmt.Sprint("first ", i))
	}
	b.do("SET", "next_post_id", "1")
	if pid := b.post(author, "after the crash"); pid != 4 {
		t.Errorf("the post has the id %d, want 4", pid)
	}
	if body := b.do("HGET", "post:2", "body"); body != "first 1" {
		t.Errorf("post 2 says %q now", body)
	}
	b.clock.advance(time.Minute)
	if err := b.ResumeFanOuts(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.wantHealthy()
}

// A server that lost posts does not give their ids to others, which would be
// taken for the lost ones by whoever remembers them.
func TestLostIDsStayLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author := b.register("author")
	lost := b.post(author, "lost")
	b.do("DEL", fmt.Sprintf("post:%d", lost))
	b.do("DEL", "timeline")
	b.do("DEL", "posts:1")
	b.do("DEL", "profile:1")
	b.do("SET", "next_post_id", "0")
	if pid := b.post(author, "new"); pid <= lost {
		t.Errorf("the new post has the id %d, the lost one had %d", pid, lost)
	}
	// Nor is somebody taken for a user who was lost.
	b.do("DEL", "user:1")
	b.do("HDEL", "users", "author")
	b.do("HSET", "user:1", "username", "other")
	b.do("HSET", "users", "other", "1")
	b.do("HSET", "users", "author", "2")
	b.do("HSET", "user:2", "username", "Author")
	if user, err := b.UserByName(b.ctx, "author"); err != nil || user.ID != 2 {
		t.Errorf("UserByName = %+v, %v", user, err)
	}
}

// An id that somebody wrote by hand at the head of a list does not move the
// counter of all posts to come.
func TestIDsAreNotTakenFromAnywhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author := b.register("author")
	first := b.post(author, "first")
	for _, list := range []string{"timeline", "posts:1"} {
		b.do("LPUSH", list, "1800000000")
	}
	elsewhere := on(t, b.client) // a process that has not posted yet
	for _, bundle := range []*bundle{b, elsewhere} {
		if _, err := bundle.Everybody(b.ctx, 0, 10); err != nil {
			t.Fatal(err)
		}
		if _, err := bundle.Home(b.ctx, author.ID, 0, 10); err != nil {
			t.Fatal(err)
		}
	}
	if second := elsewhere.post(author, "second"); second != first+1 {
		t.Errorf("the id after %d is %d", first, second)
	}
	if third := b.post(author, "third"); third != first+2 {
		t.Errorf("the id after the second is %d", third)
	}
}

// A key of another type under the next id is left alone, and so is what the
// author has in the way: the post is written and comes to its readers.
func TestPostPassesOverForeignKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author, one, two := b.register("author"), b.register("one"), b.register("two")
	b.follow(one, author)
	b.follow(two, author)
	b.do("SET", "post:1", "foreign")
	b.do("SET", "posts:2", "foreign")
	if pid := b.post(author, "hello"); pid != 2 {
		t.Errorf("the post has the id %d, want 2", pid)
	}
	if got := b.do("GET", "post:1") + b.do("GET", "posts:2"); got != "foreignforeign" {
		t.Errorf("the foreign keys hold %q", got)
	}
	if got := b.do("LRANGE", "posts:3", "0", "-1"); got != "2" {
		t.Errorf("the other follower has %q", got)
	}
	b.do("DEL", "timeline")
	b.do("SET", "timeline", "foreign")
	b.do("DEL", "profile:1")
	b.do("SET", "profile:1", "foreign")
	if pid := b.post(author, "still here"); pid != 3 {
		t.Errorf("the post has the id %d, want 3", pid)
	}
	if got := b.do("LRANGE", "posts:3", "0", "-1"); got != "3 2" {
		t.Errorf("the other follower has %q", got)
	}
	b.clock.advance(time.Minute)
	if err := b.ResumeFanOuts(b.ctx); err != nil {
		t.Error(err)
	}
	if left := b.do("ZRANGE", "fanouts", "0", "-1"); left != "" {
		t.Errorf("unfinished: %q", left)
	}
}

// One post that cannot be finished does not keep the others from it.
func TestResumePassesOverUnreadablePosts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author, damaged, follower := b.register("author"), b.register("damaged"), b.register("follower")
	b.follow(follower, author)
	stuck, whole := b.post(damaged, "stuck"), b.post(author, "whole")
	b.do("SET", "post:99", "foreign")
	b.do("SET", "followers:2", "foreign")
	b.do("DEL", "posts:3")
	b.do("ZADD", "fanouts", "1", "99", "1", "nonsense", "2", fmt.Sprint(stuck), "3", fmt.Sprint(whole))
	err := b.ResumeFanOuts(b.ctx)
	if err == nil || !strings.Contains(err.Error(), "1 interrupted fan-out") {
		t.Errorf("ResumeFanOuts = %v, want that it counts the one that failed", err)
	}
	if got := b.do("LRANGE", "posts:3", "0", "-1"); got != fmt.Sprint(whole) {
		t.Errorf("the follower has %q, want %d", got, whole)
	}
	if left := b.do("ZRANGE", "fanouts", "0", "-1"); left != fmt.Sprint(stuck) {
		t.Errorf("unfinished: %q, want %d alone", left, stuck)
	}
	if err := b.ResumeFanOuts(b.ctx); err != nil {
		t.Errorf("tried again at once: %v", err)
	}
	b.do("DEL", "followers:2")
	b.clock.advance(time.Minute)
	if err := b.ResumeFanOuts(b.ctx); err != nil {
		t.Error(err)
	}
	if left := b.do("ZRANGE", "fanouts", "0", "-1"); left != "" {
		t.Errorf("unfinished: %q", left)
	}
}

// Fan-outs that wait for their turn in a process that lives are not taken for
// those of a dead one, and each that is left behind is taken once.
func TestFanOutsAreTakenOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author := b.register("author")
	const posts = 120
	for i := range posts {
		id := b.post(author, fmt.Sprint(i))
		b.do("ZADD", "fanouts", "1", fmt.Sprint(id))
	}
	b.do("DEL", "posts:1")
	var finished atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		other := on(t, b.client, func(opt *social.Options) {
			opt.Logger = slog.New(counting{slog.DiscardHandler, "finished an interrupted fan-out", &finished})
		})
		wg.Go(func() {
			if err := other.ResumeFanOuts(b.ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := finished.Load(); n != posts {
		t.Errorf("%d fan-outs were finished by four processes, %d times", posts, n)
	}
	b.wantHealthy()
}

// counting counts the messages that are text.
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

// An interrupted fan-out is finished by repeating it, and repeating does no
// harm: each timeline has the post once, in its place.
func TestResume(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author := b.register("author")
	var followers []social.User
	for i := range 150 {
		follower := b.register(fmt.Sprintf("follower%d", i))
		b.follow(follower, author)
		followers = append(followers, follower)
	}
	old, lost, latest := b.post(author, "old"), b.post(author, "lost"), b.post(author, "latest")
	// As if the process had died in the middle of the second.
	for i, follower := range followers {
		if i%2 == 0 {
			b.do("LREM", fmt.Sprintf("posts:%d", follower.ID), "0", fmt.Sprint(lost))
		}
	}
	b.do("LREM", "timeline", "0", fmt.Sprint(lost))
	b.do("ZREM", fmt.Sprintf("profile:%d", author.ID), fmt.Sprint(lost))
	b.do("ZADD", "fanouts", fmt.Sprint(b.clock.unix.Load()), fmt.Sprint(lost))

	if err := b.ResumeFanOuts(b.ctx); err != nil {
		t.Fatal(err)
	}
	if left := b.do("ZCARD", "fanouts"); left != "1" {
		t.Fatal("a fan-out that may be at work was taken from whoever works on it")
	}
	b.clock.advance(time.Minute)
	for range 2 {
		if err := b.ResumeFanOuts(b.ctx); err != nil {
			t.Fatal(err)
		}
		if err := b.Resume(b.ctx, lost); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprint(latest, " ", lost, " ", old)
		for _, follower := range append(followers, author) {
			if got := b.do("LRANGE", fmt.Sprintf("posts:%d", follower.ID), "0", "-1"); got != want {
				t.Fatalf("%s has %q, want %q", follower.Name, got, want)
			}
		}
		if got := b.do("LRANGE", "timeline", "0", "-1"); got != want {
			t.Errorf("timeline = %q, want %q", got, want)
		}
	}
	if result := b.wantHealthy(); result.Leftovers != 0 {
		t.Errorf("check = %+v", result)
	}
	if err := b.Resume(b.ctx, 12345); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("Resume of no post: %v, want ErrNotFound", err)
	}
}

// Followers beyond the first page get the post in the background.
func TestFanOutInTheBackground(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author := b.register("famous")
	const followers = 3500
	var users []social.NewUser
	for i := range followers {
		users = append(users, social.NewUser{Name: fmt.Sprintf("fan%d", i), PasswordHash: "none", Joined: b.clock.now()})
	}
	fans, err := b.Loader().AddUsers(b.ctx, users)
	if err != nil {
		t.Fatal(err)
	}
	var follows []social.NewFollow
	for _, fan := range fans {
		follows = append(follows, social.NewFollow{From: fan.ID, To: author.ID, Time: b.clock.now()})
	}
	if err := b.Loader().AddFollows(b.ctx, follows); err != nil {
		t.Fatal(err)
	}
	pid := b.post(author, "to all of you")
	b.eventually("the fan-out to end", func() bool { return b.do("EXISTS", "fanouts") == "0" })
	for _, fan := range fans {
		if got := b.do("LRANGE", fmt.Sprintf("posts:%d", fan.ID), "0", "-1"); got != fmt.Sprint(pid) {
			t.Fatalf("%s has %q", fan.Name, got)
		}
	}
	b.wantHealthy()
}

func TestTimelinesAreCapped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author := b.register("talker")
	var posts []social.NewPost
	for i := range 1300 {
		posts = append(posts, social.NewPost{Author: author.ID, Time: b.clock.now(), Body: fmt.Sprint(i)})
	}
	if err := b.Loader().AddPosts(b.ctx, posts); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"timeline", "posts:1"} {
		if n := b.do("LLEN", key); n != "1098" {
			t.Errorf("%s has %s posts, want 1098: 1,000 and what came since the last trim", key, n)
		}
	}
	if n := b.do("ZCARD", "profile:1"); n != "1300" {
		t.Errorf("the profile has %s posts, want all 1300", n)
	}
	// A post that is older than all of a full timeline does not come back.
	if err := b.Resume(b.ctx, 3); err != nil {
		t.Fatal(err)
	}
	if at := b.do("LPOS", "timeline", "3"); at != "" {
		t.Errorf("post 3 came back to the timeline at %s", at)
	}
	b.wantHealthy()
}

// eventually waits until ok, which something in the background brings about.
func (b *bundle) eventually(what string, ok func() bool) {
	b.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-b.ctx.Done():
			b.t.Fatalf("waited in vain for %s", what)
		}
	}
}
