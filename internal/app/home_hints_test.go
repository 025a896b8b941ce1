package app_test

import (
	"fmt"
	"strconv"
	"testing"

	"retwis/internal/social"
	"retwis/internal/social/storage"
)

// A page that has to skip many posts of unfollowed authors, or deleted posts, removes them from the
// list. A later follow brings back the author's latest posts.
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
		b.do(b.Follows.Unfollow(b.Ctx, eve, ada))
		for _, id := range byCem {
			b.do(b.Posts.Delete(b.Ctx, cem, id))
		}
		length := func() int {
			n, err := strconv.Atoi(b.Redis("LLEN", storage.HomeKey(eve.ID)))
			b.do(err)
			return n
		}
		if n := length(); n < 181 {
			t.Fatalf("the list has %d posts: an unfollow or a deletion has touched it", n)
		}
		b.wantOnHome("after the unfollow", eve, kept...)
		if n := length(); n > 80 {
			t.Errorf("the list still has %d posts", n)
		}
		b.Connect(eve, ada)
		b.wantOnHome("followed again", eve, byAda[20:]...) // the latest 100
		b.wantNoTasks()
		b.WantHealthy()
	})
}

// A reader who follows more people than a process caches sees posts of all of them.
func TestHomeOfManyFollows(t *testing.T) {
	onServerAndCluster(t, func(t *testing.T, b *bundle) {
		eve, ada, bob := b.NewUser("eve"), b.NewUser("ada"), b.NewUser("bob")
		b.Connect(eve, ada)
		b.Connect(eve, bob)
		for from := 1000; from < 7000; from += 1000 {
			words := []string{"ZADD", storage.FollowingKey(eve.ID)}
			for id := from; id < from+1000; id++ {
				words = append(words, "3000000000", strconv.Itoa(id))
			}
			b.Redis(words...)
		}
		post := b.Publish(ada, "hello")
		reply := b.reply(bob, post, "hello, ada")
		b.wantOnHome("with 6,000 later follows", eve, post, reply)
		b.do(b.Follows.Unfollow(b.Ctx, eve, ada))
		b.wantOnHome("without the author", eve)
	})
}
