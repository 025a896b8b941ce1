package app_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/social"
	"retwis/internal/social/socialtest"
)

// onServerAndCluster runs a test on a single server and on a Cluster.
func onServerAndCluster(t *testing.T, test func(t *testing.T, b *bundle)) {
	t.Parallel()
	socialtest.OnEach(t, func(t *testing.T, client rueidis.Client) {
		test(t, on(t, client))
	})
}

func (b *bundle) reply(author social.User, parent int64, body string) int64 {
	b.T.Helper()
	post, err := b.Posts.Reply(b.Ctx, author, parent, body)
	if err != nil {
		b.T.Fatalf("reply to %d: %v", parent, err)
	}
	return post.ID
}

func (b *bundle) want(want string, args ...string) {
	b.T.Helper()
	if got := b.Redis(args...); got != want {
		b.T.Errorf("%v is %q, want %q", args, got, want)
	}
}

func (b *bundle) home(u social.User) string {
	b.T.Helper()
	got, err := homeOf(social.WithFresh(b.Ctx), b.App, u.ID, 50)
	if err != nil {
		b.T.Fatal(err)
	}
	return strings.Trim(fmt.Sprint(got), "[]")
}

// wantNoHomes fails if any of the users has a post on their home timeline.
func (b *bundle) wantNoHomes(uids ...int64) {
	b.T.Helper()
	for _, uid := range uids {
		if got := b.home(social.User{ID: uid}); got != "" {
			b.T.Errorf("the home timeline of user %d is %q, want none", uid, got)
		}
	}
}

// A reply appears in its conversation, on its author's lists, and on the home timelines of users
// who follow both authors.
func TestReply(t *testing.T) {
	onServerAndCluster(t, func(t *testing.T, b *bundle) {
		ada, bob, cid, dan := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("cid"), b.NewUser("dan")
		b.Connect(cid, ada)
		b.Connect(cid, bob)
		b.Connect(dan, bob)
		b.Connect(ada, bob)
		p := b.Publish(ada, "a question")
		r := b.reply(bob, p, "an answer")
		rr := b.reply(ada, r, "thanks")
		if p != 1 || r != 2 || rr != 3 {
			t.Fatalf("ids %d %d %d, want 1 2 3", p, r, rr)
		}
		b.want("2", "SMEMBERS", "replies:{post:1}")
		b.want("1", "HGET", "post:1", "replies")
		b.want("3", "SMEMBERS", "replies:{post:2}")
		b.want("2 3", "ZRANGE", "thread:1", "0", "-1")
		b.want("1", "LRANGE", "timeline", "0", "-1")
		b.want("2", "ZRANGE", "profile_replies:2", "0", "-1")
		b.want("1", "ZRANGE", "profile:1", "0", "-1")
		for user, want := range map[social.User]string{ada: "3 2 1", bob: "2", cid: "3 2 1", dan: ""} {
			if got := b.home(user); got != want {
				t.Errorf("the home timeline of %s is %q, want %q", user.Name, got, want)
			}
		}
		b.wantNoTasks()
		if _, err := b.Posts.Reply(b.Ctx, ada, 99, "to nobody"); !errors.Is(err, social.ErrNotFound) {
			t.Errorf("a reply to a missing post: %v, want ErrNotFound", err)
		}
		if err := b.Posts.Delete(b.Ctx, ada, r); !errors.Is(err, social.ErrNotAuthor) {
			t.Errorf("deletion of another user's post: %v, want ErrNotAuthor", err)
		}
		// A deleted reply in the middle stays as a stub until its last reply is deleted.
		for range 2 {
			if err := b.Posts.Delete(b.Ctx, bob, r); err != nil {
				t.Fatal(err)
			}
		}
		b.want("0", "HGET", "post:1", "replies")
		b.want("2 3", "ZRANGE", "thread:1", "0", "-1")
		b.want("", "HGET", "post:2", "body")
		if got := b.home(cid); got != "3 1" {
			t.Errorf("the home timeline of cid is %q", got)
		}
		if _, err := b.Posts.Reply(b.Ctx, ada, r, "too late"); !errors.Is(err, social.ErrNotFound) {
			t.Errorf("a reply to a deleted post: %v, want ErrNotFound", err)
		}
		if err := b.Posts.Delete(b.Ctx, ada, rr); err != nil {
			t.Fatal(err)
		}
		b.want("", "ZRANGE", "thread:1", "0", "-1")
		b.want("0", "EXISTS", "stubs:{post:1}")
	})
}

// A repost appears once on its author's profile and on followers' timelines.
func TestRepost(t *testing.T) {
	onServerAndCluster(t, func(t *testing.T, b *bundle) {
		ada, bob, cid := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("cid")
		b.Connect(cid, bob)
		p := b.Publish(ada, "good news")
		first, err := b.Posts.Repost(b.Ctx, bob, p)
		if err != nil || first.RepostOf != p {
			t.Fatalf("Repost = %+v, %v", first, err)
		}
		repeated, err := b.Posts.Repost(b.Ctx, bob, first.ID) // reposting a repost yields the same repost
		if err != nil || repeated.ID != first.ID {
			t.Fatalf("Repost of a repost = %+v, %v; want post %d", repeated, err, first.ID)
		}
		b.want("1", "HGET", "post:1", "reposts")
		b.want("2", "ZRANGE", "profile:2", "0", "-1")
		b.want("1", "ZRANGE", "reposted:2", "0", "-1")
		b.want("1", "LRANGE", "timeline", "0", "-1")
		if got := b.home(cid); got != "2" {
			t.Errorf("the home timeline of cid is %q", got)
		}
		for range 2 {
			if err := b.Posts.Unrepost(b.Ctx, bob, p); err != nil {
				t.Fatal(err)
			}
		}
		b.want("0", "HGET", "post:1", "reposts")
		for _, key := range []string{"profile:2", "reposted:2", "reposters:{post:1}"} {
			b.want("0", "EXISTS", key)
		}
		b.wantNoTasks()
		b.wantNoHomes(2, 3)
		if _, err := b.Posts.Repost(b.Ctx, bob, p); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Posts.Repost(b.Ctx, ada, p); err != nil {
			t.Fatal(err)
		}
		if err := b.Posts.Delete(b.Ctx, ada, p); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"profile:1", "profile:2", "reposted:1", "reposted:2", "reposters:{post:1}", "timeline"} {
			b.want("0", "EXISTS", key)
		}
		b.wantNoTasks()
		b.wantNoHomes(1, 2, 3)
	})
}

// An edit keeps the earlier texts.
func TestEdit(t *testing.T) {
	onServerAndCluster(t, func(t *testing.T, b *bundle) {
		ada, bob := b.NewUser("ada"), b.NewUser("bob")
		p := b.Publish(ada, "one")
		for i, body := range []string{"two", "two", "three"} {
			b.Clock.Advance(1e9)
			b.must(b.Posts.Edit(b.Ctx, ada, p, body))
			if post := b.item(ada, p).Post; post.Body != body || post.Edited.IsZero() {
				t.Fatalf("edit %d: %+v", i, post)
			}
		}
		edits, err := b.Posts.Edits(b.Ctx, p)
		if err != nil || len(edits) != 2 || edits[0].Body != "two" || edits[1].Body != "one" || edits[1].Until.Unix() != 1_700_000_001 {
			t.Errorf("edits = %+v, %v; want two and one", edits, err)
		}
		if err := b.Posts.Edit(b.Ctx, bob, p, "mine"); !errors.Is(err, social.ErrNotAuthor) {
			t.Errorf("edit of another user's post: %v, want ErrNotAuthor", err)
		}
		for i := range 48 {
			if err := b.Posts.Edit(b.Ctx, ada, p, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		var invalid *social.InvalidError
		if err := b.Posts.Edit(b.Ctx, ada, p, "once more"); !errors.As(err, &invalid) {
			t.Errorf("the 51st edit: %v, want an InvalidError", err)
		}
		b.want("50", "LLEN", "edits:{post:1}")
		if err := b.Posts.Delete(b.Ctx, ada, p); err != nil {
			t.Fatal(err)
		}
		b.want("0", "EXISTS", "edits:{post:1}")
		if err := b.Posts.Edit(b.Ctx, ada, p, "back"); !errors.Is(err, social.ErrNotFound) {
			t.Errorf("edit of a deleted post: %v, want ErrNotFound", err)
		}
	})
}

// A follow adds the latest posts of the followed user, in order and up to the cap. After an
// unfollow none of the user's posts are shown, except those with a followed tag.
func TestFollowFillsHome(t *testing.T) {
	onServerAndCluster(t, func(t *testing.T, b *bundle) {
		ada, bob, cid := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("cid")
		b.home(cid) // on a Cluster this creates the timeline
		first := b.Publish(ada, "one #gophers")
		own := b.Publish(cid, "my own")
		b.Publish(ada, "two")
		b.reply(ada, own, "three")
		if _, err := b.Posts.Repost(b.Ctx, ada, own); err != nil {
			t.Fatal(err)
		}
		b.Publish(bob, "six")
		for range 2 {
			b.Connect(cid, ada)
		}
		b.Connect(cid, bob)
		if got := b.home(cid); got != "6 3 2 1" { // without the repost of a post that is already listed
			t.Errorf("the home timeline of cid is %q", got)
		}
		b.Redis("ZADD", "following_tags:3", "1", "gophers")
		b.Redis("ZADD", "tag_followers:gophers", "1", "3")
		seven := b.Publish(ada, "seven")
		b.reply(ada, own, "eight, to the reader")
		if got := b.home(cid); got != "8 7 6 3 2 1" {
			t.Errorf("the home timeline of cid is %q", got)
		}
		for range 2 {
			if err := b.Follows.Unfollow(b.Ctx, cid, ada); err != nil {
				t.Fatal(err)
			}
		}
		if got := b.home(cid); got != "6 2 1" {
			t.Errorf("after the unfollow the home timeline of cid is %q", got)
		}
		tagged := b.Publish(ada, "nine #gophers #go")
		if got := b.home(cid); got != "9 6 2 1" {
			t.Errorf("after a post with a followed tag the home timeline of cid is %q", got)
		}
		b.want("1 9", "ZRANGE", "tag:gophers", "0", "-1")
		// An edit changes the tags of a post.
		if err := b.Posts.Edit(b.Ctx, ada, tagged, "nine #go"); err != nil {
			t.Fatal(err)
		}
		if err := b.Posts.Edit(b.Ctx, ada, seven, "seven #gophers"); err != nil {
			t.Fatal(err)
		}
		b.want("1 7", "ZRANGE", "tag:gophers", "0", "-1")
		b.want("9", "ZRANGE", "tag:go", "0", "-1")
		if got := b.home(cid); got != "7 6 2 1" {
			t.Errorf("after the edits the home timeline of cid is %q", got)
		}
		for _, id := range []int64{tagged, seven, first} {
			if err := b.Posts.Delete(b.Ctx, ada, id); err != nil {
				t.Fatal(err)
			}
		}
		b.want("0", "EXISTS", "tag:gophers")
		b.want("0", "EXISTS", "tag:go")
		if got := b.home(cid); got != "6 2" {
			t.Errorf("after the deletions the home timeline of cid is %q", got)
		}
		b.want("0", "EXISTS", "tasks")
		b.WantHealthy()
	})
}
