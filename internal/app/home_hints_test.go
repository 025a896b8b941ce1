package app_test

import (
	"fmt"
	"strconv"
	"testing"

	"retwis/internal/social"
	"retwis/internal/social/storage"
)

// If a page skips many deleted posts or posts of unfollowed authors, these posts are removed from
// the list. A later follow adds the author's latest posts again.
func TestHomeIsCleaned(t *testing.T) {
	onServerAndCluster(t, func(t *testing.T, b *bundle) {
		eve, ada, bob, cem := b.NewUser("eve"), b.NewUser("ada"), b.NewUser("bob"), b.NewUser("cem")
		for _, other := range []social.User{ada, bob, cem} {
			b.Connect(eve, other)
		}
		b.home(eve) // on a Cluster this creates the timeline
		kept := []int64{b.Publish(bob, "from before")}
		var byAda, byCem []int64
		for i := range 120 {
			byAda = append(byAda, b.Publish(ada, fmt.Sprint("post ", i)))
			if i < 60 {
				byCem = append(byCem, b.Publish(cem, fmt.Sprint("post ", i)))
			}
		}
		b.must(b.Follows.Unfollow(b.Ctx, eve, ada))
		for _, id := range byCem {
			b.must(b.Posts.Delete(b.Ctx, cem, id))
		}
		length := func() int {
			n, err := strconv.Atoi(b.Redis("LLEN", storage.HomeKey(eve.ID)))
			b.must(err)
			return n
		}
		if n := length(); n < 181 {
			t.Fatalf("the list has %d posts before the first read, want at least 181", n)
		}
		b.wantOnHome("after the unfollow", eve, kept...)
		if n := length(); n > 80 {
			t.Errorf("the list still has %d posts, want at most 80", n)
		}
		b.Connect(eve, ada)
		b.wantOnHome("after another follow", eve, byAda[20:]...) // the latest 100
		b.wantNoTasks()
		b.WantHealthy()
	})
}

// A reader who follows more people than a process caches sees the posts of all of them.
func TestHomeOfManyFollows(t *testing.T) {
	onServerAndCluster(t, func(t *testing.T, b *bundle) {
		eve, ada, bob := b.NewUser("eve"), b.NewUser("ada"), b.NewUser("bob")
		b.Connect(eve, ada)
		b.Connect(eve, bob)
		for from := 1000; from < 7000; from += 1000 {
			args := []string{"ZADD", storage.FollowingKey(eve.ID)}
			for id := from; id < from+1000; id++ {
				args = append(args, "3000000000", strconv.Itoa(id))
			}
			b.Redis(args...)
		}
		post := b.Publish(ada, "hello")
		reply := b.reply(bob, post, "hello, ada")
		b.wantOnHome("with 6,000 later follows", eve, post, reply)
		b.must(b.Follows.Unfollow(b.Ctx, eve, ada))
		b.wantOnHome("after the unfollow", eve)
	})
}
