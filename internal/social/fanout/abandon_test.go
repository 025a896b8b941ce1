package fanout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/fanout"
	"retwis/internal/social/layout"
	"retwis/internal/social/timeline"
)

// losing is a site where a failover has lost a post of one author, whose id belongs to a
// post of another author by now.
type losing struct {
	*bundle
	loser, winner      social.User
	mine, both, theirs social.User // followers of the loser, of both, of the winner
	post               int64
}

func newLosing(b *bundle) *losing {
	l := &losing{bundle: b, loser: b.NewUser("loser"), winner: b.NewUser("winner"), mine: b.NewUser("mine"), both: b.NewUser("both"), theirs: b.NewUser("theirs")}
	for _, follow := range [][2]social.User{{l.mine, l.loser}, {l.both, l.loser}, {l.both, l.winner}, {l.theirs, l.winner}} {
		b.Connect(follow[0], follow[1])
	}
	for _, user := range []social.User{l.loser, l.winner, l.mine, l.both, l.theirs} {
		if _, err := b.Timelines.Home(b.Ctx, user.ID, 0, 10); err != nil { // on a Cluster, makes the list
			b.T.Fatal(err)
		}
	}
	return l
}

// reassign gives the id of the lost post to one of the winner, which dies after its first
// write.
func (l *losing) reassign() {
	l.T.Helper()
	l.Redis("DEL", fmt.Sprintf("post:%d", l.post))
	l.Clock.Advance(5 * time.Second)
	l.write(l.winner.ID, l.post, "another post")
}

// wantRight checks that only the post of the winner is left.
func (l *losing) wantRight() {
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
	if l.Redis("ZSCORE", layout.TagKey("lost"), id) != "" {
		l.T.Error("the page of #lost has a post without it")
	}
	for user, want := range map[social.User]string{l.loser: "", l.mine: "", l.both: id, l.theirs: id, l.winner: id} {
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

// What a process leaves unfinished is told from another post that has its id by now, and
// removed from the lists where that one does not belong; home timelines do not show it.
func TestIDAssignedTwice(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) rueidis.Client{
		"single":  func(t testing.TB) rueidis.Client { return redistest.DB(t).Client(t) },
		"cluster": func(t testing.TB) rueidis.Client { return redistest.Cluster(t, 3).Client(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := open(t)
			l := newLosing(on(t, client, noJobs))
			l.post = l.Publish(l.loser, "a post that is lost")
			l.quiet()
			member := fanout.Member(l.post, l.loser.ID, fmt.Sprint(l.Clock.Unix.Load()))
			l.Redis("ZADD", "tasks", "1", member)
			l.Redis("ZADD", "tasks", "1", strings.Replace(member, "post:", "push:", 1)+":::")
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

// The process that has the text of a lost post knows its tags and its conversation too, and
// publishes it under a new id.
func TestLostPostOfThisProcess(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "appendonly yes", "appendfsync always")
	b := on(t, server.Client(t))
	l := newLosing(b)
	parent := b.Publish(l.loser, "the beginning")
	b.quiet()
	job := b.FanOut().NewJob(b.Ctx, fanout.Entry{
		Author: l.loser.ID, Parent: parent, Root: parent, To: l.loser.ID, Tags: []string{"lost"},
		Fields: []string{
			"user_id", fmt.Sprint(l.loser.ID), "time", fmt.Sprint(b.Clock.Unix.Load()), "body", "#lost",
			"parent", fmt.Sprint(parent), "root", fmt.Sprint(parent),
		},
	})
	l.post = 50
	b.Redis("SET", "next_post_id", "50")
	member := fanout.Member(l.post, l.loser.ID, fmt.Sprint(b.Clock.Unix.Load()))
	if created, err := b.FanOut().CreateAs(b.Ctx, &job, l.post); err != nil || !created {
		t.Fatal(created, err)
	}
	server.Restart(t, true)
	l.reassign()
	if err := b.FanOut().Publish(b.Ctx, job); err != nil {
		t.Fatal(err)
	}
	b.Eventually("the process to notice", func() bool { return b.Redis("ZSCORE", "tasks", member) == "" })
	other := on(t, server.Client(t))
	other.Clock.Unix.Store(b.Clock.Unix.Load() + 60)
	if err := other.RetryTasks(b.Ctx); err != nil {
		t.Fatal(err)
	}
	l.wantRight()
	again := b.Redis("GET", "next_post_id")
	if got := b.Redis("HMGET", "post:"+again, "body", "user_id"); again == fmt.Sprint(l.post) || got != fmt.Sprint("#lost ", l.loser.ID) {
		t.Errorf("post %s is %q", again, got)
	}
	for _, key := range []string{layout.ThreadKey(parent), layout.ProfileRepliesKey(l.loser.ID), layout.TagKey("lost")} {
		if got := b.Redis("ZRANGE", key, "0", "-1"); got != again {
			t.Errorf("%s has %q, want post %s", key, got, again)
		}
	}
	if got := b.Redis("SMEMBERS", layout.RepliesKey(parent)); got != again {
		t.Errorf("the first post has the replies %q, want post %s", got, again)
	}
	if got := b.Redis("LRANGE", layout.HomeKey(l.mine.ID), "0", "0"); got != again {
		t.Errorf("the home timeline of a follower begins with %q, want post %s", got, again)
	}
}

// A post that was deleted while its process keeps it for a failover stays deleted: what is
// left of one with pictures lacks more fields than its text.
func TestDeletedPostOfThisProcess(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "appendonly yes", "appendfsync always")
	b := on(t, server.Client(t))
	author := b.NewUser("author")
	job := b.FanOut().NewJob(b.Ctx, fanout.Entry{Author: author.ID, Fields: []string{
		"user_id", fmt.Sprint(author.ID), "time", fmt.Sprint(b.Clock.Unix.Load()), "body", "the wrong picture", "media", "[]", "sensitive", "1",
	}})
	if err := b.FanOut().Create(b.Ctx, &job); err != nil {
		t.Fatal(err)
	}
	if err := b.Posts.Delete(b.Ctx, author, job.ID()); err != nil {
		t.Fatal(err)
	}
	key := fmt.Sprint("post:", job.ID())
	b.Redis("HDEL", key, "media", "sensitive") // as where there is a place for pictures
	server.Restart(t, true)
	last := b.Redis("GET", "next_post_id")
	if err := b.FanOut().Publish(b.Ctx, job); err != nil {
		t.Fatal(err)
	}
	b.Eventually("the fan-out to end", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
	if again := b.Redis("GET", "next_post_id"); again != last || b.Redis("EXISTS", "timeline") == "1" {
		t.Errorf("the deleted post is published again, as post %s", again)
	}
}

// A deletion that finds its post lost in a failover leaves a stub, and the process that has
// the text does not write it again.
func TestDeletionOfLostPost(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := on(t, client, noJobs)
	author := b.NewUser("author")
	job := b.FanOut().NewJob(b.Ctx, fanout.Entry{Author: author.ID, Fields: []string{
		"user_id", fmt.Sprint(author.ID), "time", fmt.Sprint(b.Clock.Unix.Load()), "body", "to be deleted",
	}})
	if err := b.FanOut().Create(b.Ctx, &job); err != nil {
		t.Fatal(err)
	}
	key := fmt.Sprint("post:", job.ID())
	b.Redis("DEL", key, "tasks")
	b.Redis("ZADD", "tasks", "1", fmt.Sprintf("delete:%d:%d:%d", job.ID(), author.ID, b.Clock.Unix.Load()))
	other := on(t, client)
	other.Clock.Unix.Store(b.Clock.Unix.Load() + 60)
	if err := other.RetryTasks(b.Ctx); err != nil {
		t.Fatal(err)
	}
	if created, err := b.FanOut().CreateAs(b.Ctx, &job, job.ID()); err != nil || !created {
		t.Fatal(created, err)
	}
	if got := b.Redis("HMGET", key, "deleted", "body"); !strings.HasPrefix(got, "17") || strings.Contains(got, "to be deleted") {
		t.Errorf("the deleted post is %q", b.Redis("HGETALL", key))
	}
	b.WantHealthy()
}
