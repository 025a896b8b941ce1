package app_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/app"
	"retwis/internal/redis/store"
	"retwis/internal/social"
	"retwis/internal/social/people"
	"retwis/internal/social/timeline"
)

// A user who reads page after page sees each post that existed at the beginning exactly once,
// whatever is posted meanwhile.
func TestPagingProperty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		author := b.NewUser(fmt.Sprintf("author%d", n))
		before := rapid.IntRange(0, 40).Draw(rt, "posts before")
		limit := rapid.IntRange(1, 12).Draw(rt, "page size")
		profile := rapid.Bool().Draw(rt, "profile")
		var want []int64
		for range before {
			want = append(want, b.Publish(author, "before"))
		}
		slices.Reverse(want)
		read := b.Timelines.Home
		if profile {
			read = b.Timelines.Profile
		}
		var got []int64
		for cursor := int64(0); ; {
			page, err := read(b.Ctx, author.ID, cursor, limit)
			if err != nil {
				rt.Fatal(err)
			}
			got = append(got, page.IDs...)
			if len(page.IDs) > limit {
				rt.Fatalf("a page of %d posts, want at most %d", len(page.IDs), limit)
			}
			if cursor = page.Next; cursor == 0 {
				break
			}
			for range rapid.IntRange(0, 5).Draw(rt, "posts meanwhile") {
				b.Publish(author, "meanwhile")
			}
			if rapid.Bool().Draw(rt, "remove the last post") {
				b.Redis("LREM", fmt.Sprintf("posts:%d", author.ID), "0", fmt.Sprint(cursor))
			}
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("saw %v, want %v", got, want)
		}
	})
}

func TestProfileShowsOwnPostsOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.NewUser("one"), b.NewUser("two")
	b.Connect(one, two)
	own := b.Publish(one, "mine")
	followed := b.Publish(two, "theirs")
	profile, err := b.Timelines.Profile(b.Ctx, one.ID, 0, 10)
	if err != nil || !slices.Equal(profile.IDs, []int64{own}) {
		t.Errorf("profile = %v, %v", profile, err)
	}
	home, err := b.Timelines.Home(b.Ctx, one.ID, 0, 10)
	if err != nil || !slices.Equal(home.IDs, []int64{followed, own}) {
		t.Errorf("home = %v, %v", home, err)
	}
	all, err := b.Timelines.Everybody(b.Ctx, 0, 1)
	if err != nil || !slices.Equal(all.IDs, []int64{followed}) || all.Next != followed {
		t.Errorf("everybody = %v, %v", all, err)
	}
	counts, err := b.Follows.Counts(b.Ctx, one.ID)
	if err != nil || counts != (people.Counts{Followers: 0, Following: 1, Posts: 1}) {
		t.Errorf("counts = %+v, %v", counts, err)
	}
}

// A read that begins after a write has returned sees that write, although reads are answered from
// caches.
func TestReadsSeeOwnWrites(t *testing.T) {
	t.Parallel()
	b := setup(t)
	author, other := b.NewUser("author"), b.NewUser("other")
	for i := range 300 {
		pid := b.Publish(author, "again")
		for name, read := range map[string]func() (timeline.Page, error){
			"home":      func() (timeline.Page, error) { return b.Timelines.Home(b.Ctx, author.ID, 0, 10) },
			"profile":   func() (timeline.Page, error) { return b.Timelines.Profile(b.Ctx, author.ID, 0, 10) },
			"everybody": func() (timeline.Page, error) { return b.Timelines.Everybody(b.Ctx, 0, 50) },
		} {
			if page, err := read(); err != nil || page.IDs[0] != pid {
				t.Fatalf("round %d: %s begins with %v, want %d (%v)", i, name, page.IDs, pid, err)
			}
		}
		change, want := b.Follows.Follow, true
		if i%2 == 1 {
			change, want = b.Follows.Unfollow, false
		}
		if err := change(b.Ctx, author, other); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Follows.IsFollowing(b.Ctx, author.ID, other.ID); err != nil || got != want {
			t.Fatalf("round %d: following = %t, want %t (%v)", i, got, want, err)
		}
	}
}

// A read with WithFresh sees a write of another process at once.
func TestWithFresh(t *testing.T) {
	t.Parallel()
	db := setup(t)
	peer := on(t, db.DB)
	author := db.NewUser("author")
	for range 100 {
		pid := db.Publish(author, "fresh")
		page, err := peer.Timelines.Home(social.WithFresh(db.Ctx), author.ID, 0, 10)
		if err != nil || page.IDs[0] != pid {
			t.Fatalf("home begins with %v, want %d (%v)", page.IDs, pid, err)
		}
	}
}

// commandCounter is a client that counts the commands that start with words.
type commandCounter struct {
	rueidis.Client
	words []string
	n     atomic.Int64
}

func (c *commandCounter) count(words []string) {
	if len(words) >= len(c.words) && slices.Equal(words[:len(c.words)], c.words) {
		c.n.Add(1)
	}
}

func (c *commandCounter) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	c.count(cmd.Commands())
	return c.Client.Do(ctx, cmd)
}

func (c *commandCounter) DoCache(ctx context.Context, cmd rueidis.Cacheable, ttl time.Duration) rueidis.RedisResult {
	c.count(cmd.Commands())
	return c.Client.DoCache(ctx, cmd, ttl)
}

// Each process reads the public timeline and the latest users at most once a second. Writes through
// the same process show at once.
func TestReadOnceASecond(t *testing.T) {
	t.Parallel()
	for _, read := range []struct {
		command []string
		write   func(b *bundle, n int) any
		first   func(b *bundle, ctx context.Context) (any, error)
	}{
		{
			[]string{"LRANGE", "timeline"},
			func(b *bundle, n int) any { return b.Publish(social.User{ID: 1}, fmt.Sprint("post ", n)) },
			func(b *bundle, ctx context.Context) (any, error) {
				page, err := b.Timelines.Everybody(ctx, 0, 10)
				return page.IDs[0], err
			},
		},
		{
			[]string{"ZREVRANGE", "users_by_time"},
			func(b *bundle, n int) any { return b.NewUser(fmt.Sprint("user", n)).Name },
			func(b *bundle, ctx context.Context) (any, error) {
				users, err := b.Users.LatestUsers(ctx, &social.Viewer{}, 8)
				return users[0].Name, err
			},
		},
	} {
		t.Run(read.command[1], func(t *testing.T) {
			t.Parallel()
			client := setup(t).DB
			var processes [3]*bundle
			var counts [3]*commandCounter
			for i := range processes {
				counts[i] = &commandCounter{Client: client, words: read.command}
				processes[i] = on(t, counts[i], func(opt *app.Options) { opt.Invalidations = new(store.Invalidations) })
			}
			processes[0].NewUser("first")
			began := time.Now()
			for n := range 60 {
				b := processes[n%3]
				b.Clock.Unix.Store(1_700_000_100 + int64(n))
				want := read.write(b, n)
				if got, err := read.first(b, b.Ctx); err != nil || got != want {
					t.Fatalf("the first entry is %v, want %v (%v)", got, want, err)
				}
			}
			for i, c := range counts {
				if n, limit := c.n.Load(), 1+int64(time.Since(began)/time.Second); n == 0 || n > limit {
					t.Errorf("process %d has read %d times in %v, want 1 to %d", i, n, time.Since(began), limit)
				}
			}
			processes[0].Clock.Advance(time.Hour)
			last := read.write(processes[0], 100)
			fresh, err := read.first(processes[1], social.WithFresh(processes[1].Ctx))
			if err != nil || fresh != last {
				t.Errorf("with WithFresh the first entry is %v, want %v (%v)", fresh, last, err)
			}
		})
	}
}
