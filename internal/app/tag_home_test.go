package app_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"retwis/internal/social"
)

func (b *bundle) wantOnHome(what string, user social.User, want ...int64) {
	b.T.Helper()
	got, err := homeOf(b.Ctx, b.App, user.ID, 50)
	slices.SortFunc(want, func(x, y int64) int { return int(y - x) })
	got = got[:min(len(got), 100)] // on a Cluster a new list has more
	if err != nil || !slices.Equal(got, want) {
		b.T.Errorf("%s: home timeline %v, want %v (%v)", what, got, want, err)
	}
}

func (b *bundle) wantNoTasks() {
	b.T.Helper()
	b.Eventually("the tasks to be finished", func() bool { return b.Redis("ZCARD", "tasks") == "0" })
}

// Following a tag adds its posts to the home timeline. Unfollowing the tag removes them, except
// posts that belong there for another reason.
func TestTagsOnHome(t *testing.T) {
	onServerAndCluster(t, func(t *testing.T, b *bundle) {
		eve, ada, bob, cem := b.NewUser("eve"), b.NewUser("ada"), b.NewUser("bob"), b.NewUser("cem")
		b.Connect(eve, bob)
		var early []int64
		for i := range 120 {
			early = append(early, b.Publish(ada, fmt.Sprint("early ", i, " #t")))
		}
		for _, id := range early[:18] {
			b.must(b.Posts.Delete(b.Ctx, ada, id))
		}
		latest := early[20:]
		own := b.Publish(eve, "mine #t")
		ofBob := b.Publish(bob, "of one I follow #t")
		b.must(b.Tags.FollowTag(b.Ctx, eve, "t"))
		b.wantOnHome("followed", eve, append(slices.Clone(latest[2:]), own, ofBob)...)
		b.must(b.Tags.FollowTag(b.Ctx, eve, "other"))
		two := b.Publish(cem, "two #t #other")
		toStranger := b.reply(bob, latest[50], "to a stranger #t")
		toEve := b.reply(bob, own, "to me #t")
		edited := b.Publish(cem, "edited #t")
		err := b.Posts.Edit(b.Ctx, cem, edited, "no tag any more")
		b.must(err)
		b.must(b.Tags.FollowTag(b.Ctx, eve, "t")) // again
		for range 2 {
			b.must(b.Tags.UnfollowTag(b.Ctx, eve, "t"))
			b.wantOnHome("unfollowed", eve, own, ofBob, two, toEve)
		}
		b.Publish(ada, "late #t")
		b.wantOnHome("a later post", eve, own, ofBob, two, toEve)
		b.must(b.Tags.UnfollowTag(b.Ctx, eve, "other"))
		b.wantOnHome("unfollowed #other", eve, own, ofBob, toEve)
		for author, ids := range map[social.User][]int64{ada: latest[2:5], cem: {two, edited}, bob: {toStranger}} {
			for _, id := range ids {
				b.must(b.Posts.Delete(b.Ctx, author, id))
			}
		}
		b.must(b.Leaving.DeleteAccount(b.Ctx, ada.ID))
		b.Clock.Advance(time.Hour)
		b.must(b.Leaving.FinishRemoval(b.Ctx, ada.ID))
		b.wantNoTasks()
		b.WantHealthy()
	})
}

// If follows and unfollows of a tag and its author run at the same time as posts, the home timeline
// gets all posts that belong there and no others.
func TestTagsOnHomeTogether(t *testing.T) {
	onServerAndCluster(t, func(t *testing.T, b *bundle) {
		eve, ada := b.NewUser("eve"), b.NewUser("ada")
		for round := range 8 {
			var wg sync.WaitGroup
			ids := make([]int64, 6)
			for i := range ids {
				wg.Go(func() { ids[i] = b.Publish(ada, fmt.Sprint(round, " #t ", i)) })
			}
			wg.Go(func() { b.must(b.Tags.FollowTag(b.Ctx, eve, "t")) })
			wg.Go(func() { b.must(b.Tags.UnfollowTag(b.Ctx, eve, "t")) })
			wg.Go(func() {
				b.must(b.Follows.Follow(b.Ctx, eve, ada))
				b.must(b.Follows.Unfollow(b.Ctx, eve, ada))
			})
			wg.Wait()
			follows, err := b.Tags.IsFollowingTag(b.Ctx, eve.ID, "t")
			b.must(err)
			if follows {
				b.must(b.Tags.UnfollowTag(b.Ctx, eve, "t"))
			}
			b.wantOnHome("nothing is followed", eve)
			b.must(b.Tags.FollowTag(b.Ctx, eve, "t"))
			wg.Go(func() { b.must(b.Follows.Follow(b.Ctx, eve, ada)) })
			wg.Go(func() { b.must(b.Tags.UnfollowTag(b.Ctx, eve, "t")) })
			wg.Wait()
			b.wantOnHome("the author is followed", eve, ids...)
			b.must(b.Follows.Unfollow(b.Ctx, eve, ada))
			for _, id := range ids {
				b.must(b.Posts.Delete(b.Ctx, ada, id))
			}
		}
		b.wantNoTasks()
		b.WantHealthy()
	})
}
