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

// lostPostScene is a site where a failover lost a post of one author, whose id now belongs to a
// post of another author.
type lostPostScene struct {
	*bundle
	loser, winner                     social.User
	loserFans, sharedFans, winnerFans social.User // followers of the loser, of both, of the winner
	post                              int64
}

func newLostPostScene(b *bundle) *lostPostScene {
	l := &lostPostScene{bundle: b, loser: b.NewUser("loser"), winner: b.NewUser("winner"), loserFans: b.NewUser("mine"), sharedFans: b.NewUser("both"), winnerFans: b.NewUser("theirs")}
	for _, follow := range [][2]social.User{{l.loserFans, l.loser}, {l.sharedFans, l.loser}, {l.sharedFans, l.winner}, {l.winnerFans, l.winner}} {
		b.Connect(follow[0], follow[1])
	}
	for _, user := range []social.User{l.loser, l.winner, l.loserFans, l.sharedFans, l.winnerFans} {
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

// wantRight checks that only the winner's post is left.
func (l *lostPostScene) wantRight() {
	l.T.Helper()
	l.quiet()
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
		l.T.Error("the page of #lost has a post without it")
	}
	for user, want := range map[social.User]string{l.loser: "", l.loserFans: "", l.sharedFans: id, l.winnerFans: id, l.winner: id} {
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
			l.T.Errorf("the home timeline of %s shows the post: %v", user.Name, got)
		}
	}
	if l.Redis("LPOS", "timeline", id) == "" {
		l.T.Error("the public timeline lacks the post")
	}
	l.WantHealthy()
}

// An unfinished fan-out is distinguished from another post that now has its ID, and is removed from
// the lists where that post does not belong; home timelines do not show it.
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
			l.quiet()
			member := posts.Member(l.post, l.loser.ID, fmt.Sprint(l.Clock.Unix.Load()))
			l.Leave(member)
			l.Leave(strings.Replace(member, "post:", "push:", 1) + ":::")
			l.reassign()
			other := on(t, client)
			other.Clock.Unix.Store(l.Clock.Unix.Load() + 60)
			if err := other.RetryTasks(l.Ctx); err != nil {
				t.Fatal(err)
			}
			l.wantRight()
		})
	}
}
