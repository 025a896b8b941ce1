package posts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/posts"
	"retwis/internal/social/storage"
	"retwis/internal/social/timeline"
)

// lostPostScene is a site where a failover lost a post of one author. The ID of the post now
// belongs to a post of another author.
type lostPostScene struct {
	*bundle
	loser, winner                  social.User
	loserFan, sharedFan, winnerFan social.User // a follower of the loser, of both, of the winner
	post                           int64
}

func newLostPostScene(b *bundle) *lostPostScene {
	l := &lostPostScene{bundle: b, loser: b.NewUser("loser"), winner: b.NewUser("winner"), loserFan: b.NewUser("loser_fan"), sharedFan: b.NewUser("shared_fan"), winnerFan: b.NewUser("winner_fan")}
	for _, follow := range [][2]social.User{{l.loserFan, l.loser}, {l.sharedFan, l.loser}, {l.sharedFan, l.winner}, {l.winnerFan, l.winner}} {
		b.Connect(follow[0], follow[1])
	}
	for _, user := range []social.User{l.loser, l.winner, l.loserFan, l.sharedFan, l.winnerFan} {
		if _, err := b.Timelines.Home(b.Ctx, user.ID, 0, 10); err != nil { // on a Cluster, creates the list
			b.T.Fatal(err)
		}
	}
	return l
}

// reassign gives the ID of the lost post to a post of the winner, whose process dies after its
// first write.
func (l *lostPostScene) reassign() {
	l.T.Helper()
	l.Redis("DEL", fmt.Sprintf("post:%d", l.post))
	l.Clock.Advance(5 * time.Second)
	l.write(l.winner.ID, l.post, "another post")
}

// wantWinner checks that only the winner's post is left.
func (l *lostPostScene) wantWinner() {
	l.T.Helper()
	l.waitIdle()
	id := fmt.Sprint(l.post)
	for _, key := range []string{"profile:%d", "profile_replies:%d"} {
		if l.Redis("ZSCORE", fmt.Sprintf(key, l.loser.ID), id) != "" {
			l.T.Errorf("%s has the post of another author", fmt.Sprintf(key, l.loser.ID))
		}
	}
	if l.Redis("ZSCORE", fmt.Sprintf("profile:%d", l.winner.ID), id) == "" {
		l.T.Error("the profile of the winner lacks the post")
	}
	if l.Redis("ZSCORE", storage.TagKey("lost"), id) != "" {
		l.T.Error("the page of #lost has a post without the tag")
	}
	for user, want := range map[social.User]string{l.loser: "", l.loserFan: "", l.sharedFan: id, l.winnerFan: id, l.winner: id} {
		viewer, err := l.Viewers.Get(social.WithFresh(l.Ctx), user)
		if err != nil {
			l.T.Fatal(err)
		}
		page, err := l.Lists.HomePosts(social.WithFresh(l.Ctx), viewer, 0, 20)
		if err != nil {
			l.T.Fatal(err)
		}
		got := slices.ContainsFunc(page.Items, func(item timeline.Item) bool { return item.Entry.ID == l.post })
		if got != (want != "") {
			l.T.Errorf("the home timeline of %s shows the post: %v, want %v", user.Name, got, want != "")
		}
	}
	if l.Redis("LPOS", "timeline", id) == "" {
		l.T.Error("the public timeline lacks the post")
	}
	l.WantHealthy()
}

// If the ID of a lost post now belongs to another post, the unfinished fan-out of the lost post
// removes the ID from the lists where the other post does not belong. Home timelines do not show
// the lost post.
func TestIDAssignedTwice(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) rueidis.Client{
		"single":  func(t testing.TB) rueidis.Client { return redistest.DB(t).Client(t) },
		"cluster": func(t testing.TB) rueidis.Client { return redistest.Cluster(t, 3).Client(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := open(t)
			l := newLostPostScene(on(t, client, noJobs))
			l.post = l.Publish(l.loser, "a post that is lost")
			l.waitIdle()
			member := posts.Member(l.post, l.loser.ID, fmt.Sprint(l.Clock.Unix.Load()))
			l.Leave(member)
			l.Leave(strings.Replace(member, "post:", "push:", 1) + ":::")
			l.reassign()
			other := on(t, client)
			other.Clock.Unix.Store(l.Clock.Unix.Load() + 60)
			if err := other.RetryTasks(l.Ctx); err != nil {
				t.Fatal(err)
			}
			l.wantWinner()
		})
	}
}
