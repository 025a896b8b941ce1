package fanout_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/bulk/snapshot"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/fanout"
	"retwis/internal/social/socialtest"
)

// failoverEnv is how many followers the author of TestFailoverDuringFanOut has,
// for a long run: 1000000, say.
const failoverEnv = "SOCIAL_FAILOVER_FOLLOWERS"

// fans gives an author n followers, from id 1001 on, without accounts. On a Cluster they
// have home timelines: none is made by a post.
func (b *bundle) fans(author social.User, n int) {
	b.T.Helper()
	for from := 0; from < n; from += 1000 {
		words := []string{"ZADD", fmt.Sprintf("followers:%d", author.ID)}
		for i := from; i < min(n, from+1000); i++ {
			words = append(words, fmt.Sprint(1_600_000_000+i), fmt.Sprint(1001+i))
		}
		b.Redis(words...)
	}
	if b.DB.Mode() != rueidis.ClientModeCluster {
		return
	}
	var lists rueidis.Commands
	for i := range n {
		lists = append(lists, b.DB.B().Rpush().Key(fmt.Sprintf("posts:%d", 1001+i)).Element("0").Build())
	}
	for _, res := range b.DB.DoMulti(b.Ctx, lists...) {
		if err := res.Error(); err != nil {
			b.T.Fatal(err)
		}
	}
}

// lacking counts the fans, of n, who do not have the post.
func (b *bundle) lacking(n int, post int64) (lack int) {
	b.T.Helper()
	want := fmt.Sprint(post)
	for from := 0; from < n; from += 1000 {
		var cmds rueidis.Commands
		for i := from; i < min(n, from+1000); i++ {
			cmds = append(cmds, b.DB.B().Lpos().Key(fmt.Sprintf("posts:%d", 1001+i)).Element(want).Build())
		}
		for _, res := range b.DB.DoMulti(b.Ctx, cmds...) {
			if at, err := res.AsInt64(); err != nil || at != 0 {
				lack++
			}
		}
	}
	return lack
}

// A master that dies during a fan-out loses what its replica did not have yet. The
// fan-out is not finished before all of it is written again.
func TestFailoverDuringFanOut(t *testing.T) {
	t.Parallel()
	followers, lag := 4000, time.Hour // the replica gets nothing any more
	if text := os.Getenv(failoverEnv); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		followers, lag = n, 3*time.Second
	}
	p := socialtest.NewPair(t)
	b := on(t, p.DB)
	if followers > 4000 {
		ctx, cancel := context.WithTimeout(context.Background(), 9*time.Minute)
		t.Cleanup(cancel)
		b.Ctx = ctx
	}
	author := b.NewUser("author")
	b.fans(author, followers)
	offset := socialtest.Info(t, p.DB, "master_repl_offset")
	socialtest.Wait(t, "the replica to have all", func() bool {
		return socialtest.Info(t, p.Dial(p.Replica.Socket), "slave_repl_offset") >= offset
	})
	p.Link.Lag.Store(int64(lag))
	began := time.Now()
	post := b.Publish(author, "to all of you")
	middle := fmt.Sprintf("posts:%d", 1001+followers/2) // the latest follower comes first
	socialtest.Wait(t, "half of the fan-out", func() bool { return b.Redis("EXISTS", middle) == "1" })
	p.FailOver()
	lost := b.lacking(followers, post)
	t.Logf("%d followers; master killed after %.1f s, replica promoted", followers, time.Since(began).Seconds())
	if lost == 0 {
		t.Fatal("nothing was lost: the test shows nothing")
	}
	// Everything can be lost, the task included: the fan-out is finished when no
	// fan lacks the post.
	// Or the removal of a finished entry is lost, that of the author's entry in the search
	// index included, and a sweep finds it when it is old.
	last := time.Now()
	isGone := func(key string) bool {
		passed := time.Since(last).Truncate(time.Second)
		b.Clock.Advance(passed)
		last = last.Add(passed)
		if err := b.FanOut().Jobs.Sweep(b.Ctx); err != nil {
			t.Fatal(err)
		}
		return b.Redis("EXISTS", key) == "0"
	}
	if lag < time.Hour { // the task is not lost
		socialtest.Wait(t, "the fan-out to end", func() bool { return isGone("tasks") })
		if lack := b.lacking(followers, post); lack > 0 {
			t.Fatalf("%d of %d followers lack the post, and nobody knows of it", lack, followers)
		}
	}
	socialtest.Wait(t, "everybody to have the post", func() bool { return b.Redis("EXISTS", middle) == "1" && b.lacking(followers, post) == 0 })
	t.Logf("all %d have it after %.1f s", followers, time.Since(began).Seconds())
	socialtest.Wait(t, "the fan-out to be finalized", func() bool { return isGone("tasks") })
	if posts, err := b.Posts.Posts(b.Ctx, post); err != nil || len(posts) != 1 || posts[0].Body != "to all of you" {
		t.Errorf("the post that was acknowledged is %+v, %v", posts, err)
	}
	for _, list := range []string{"timeline", "posts:1"} {
		if got := b.Redis("LRANGE", list, "0", "-1"); got != fmt.Sprint(post) {
			t.Errorf("%s has %q", list, got)
		}
	}
	if got := b.Redis("ZRANGE", "profile:1", "0", "-1"); got != fmt.Sprint(post) {
		t.Errorf("the profile has %q", got)
	}
}

// A deletion that waits in the background is lost with the master, together with all that
// says so. The process that began it begins it again.
func TestFailoverDuringDeletion(t *testing.T) {
	t.Parallel()
	const followers = 400
	p := socialtest.NewPair(t)
	b := on(t, p.DB, noJobs)
	author := b.NewUser("author")
	b.fans(author, followers)
	post := b.Publish(author, "to be deleted")
	socialtest.Wait(t, "the fan-out to end", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
	offset := socialtest.Info(t, p.DB, "master_repl_offset")
	socialtest.Wait(t, "the replica to have all", func() bool {
		return socialtest.Info(t, p.Dial(p.Replica.Socket), "slave_repl_offset") >= offset
	})
	p.Link.Lag.Store(int64(time.Hour))
	if err := b.Posts.Delete(b.Ctx, author, post); err != nil {
		t.Fatal(err)
	}
	p.FailOver()
	if b.Redis("HGET", fmt.Sprint("post:", post), "body") != "to be deleted" || b.Redis("EXISTS", "tasks") != "0" {
		t.Fatal("the deletion was not lost: the test shows nothing")
	}
	on(t, p.DB)
	socialtest.Wait(t, "the post to be deleted", func() bool {
		return b.Redis("HEXISTS", fmt.Sprint("post:", post), "deleted") == "1"
	})
	socialtest.Wait(t, "the deletion to be finished", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
}

// A master that starts again before Sentinel has replaced it takes writes, and has no
// replica any more. What it acknowledges is written again on the new master.
func TestFailoverAfterRestart(t *testing.T) {
	t.Parallel()
	p := socialtest.NewPair(t)
	b := on(t, p.DB)
	author := b.NewUser("author")
	b.Publish(author, "so that this process knows of the replica")
	socialtest.Wait(t, "the first fan-out to end", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
	if err := p.DB.Do(b.Ctx, p.DB.B().Save().Build()).Error(); err != nil {
		t.Fatal(err)
	}
	p.Promote()
	p.Master.Restart(t, true)
	post := b.Publish(author, "to the old master")
	if !strings.Contains(b.Redis("ZRANGE", "tasks", "0", "-1"), fmt.Sprint(post)) {
		t.Error("the fan-out counts as confirmed without a replica")
	}
	p.FailOver()
	promoted := p.Dial(p.Replica.Socket) // the client of the site may still meet the end of its connection
	socialtest.Wait(t, "the post to be written again", func() bool {
		id, err := promoted.Do(b.Ctx, promoted.B().Lindex().Key("timeline").Index(0).Build()).ToString()
		return err == nil && id == fmt.Sprint(post)
	})
	if posts, err := b.Posts.Posts(b.Ctx, post); err != nil || len(posts) != 1 || posts[0].Body != "to the old master" {
		t.Errorf("the post that was acknowledged is %+v, %v", posts, err)
	}
}

// A fan-out that waits, here for a replica, is not claimed by another process.
func TestWaitingFanOutsAreNotTaken(t *testing.T) {
	t.Parallel()
	p := socialtest.NewPair(t)
	b, other := on(t, p.DB), on(t, p.DB)
	author := b.NewUser("author")
	b.Publish(author, "so that this process knows of the replica")
	socialtest.Wait(t, "the first fan-out to end", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
	p.Link.Lag.Store(int64(time.Hour))
	now := fmt.Sprint(b.Clock.Unix.Load())
	post := fanout.Member(b.Publish(author, "waits"), author.ID, now)
	for range 3 {
		before := b.Redis("ZSCORE", "tasks", post)
		b.Clock.Advance(time.Minute)
		other.Clock.Advance(time.Minute)
		b.FanOut().Jobs.Renew(b.Ctx)
		if err := other.RetryTasks(b.Ctx); err != nil {
			t.Fatal(err)
		}
		if after := b.Redis("ZSCORE", "tasks", post); after == before {
			t.Fatalf("the claim is still of %s", after)
		}
		if claims := other.FanOut().Jobs.Claims(); claims != 0 {
			t.Fatalf("another process works on %d fan-outs of one that lives", claims)
		}
	}
	p.Link.Lag.Store(0)
	socialtest.Wait(t, "the fan-out to be finalized", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
}

// A backup that reads a copy of the server is no replica: nothing waits for it.
func TestPostDuringBackup(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "repl-diskless-sync-delay 0", "rdbcompression no")
	b := on(t, server.Client(t))
	author := b.NewUser("author")
	b.Redis("SETRANGE", "large", "50000000", "more than is on the way between two processes")
	snapshotted, to := io.Pipe()
	defer snapshotted.Close()
	go func() { to.CloseWithError(snapshot.Take(b.Ctx, rueidis.MustParseURL(server.URL()), "", to)) }()
	if _, err := snapshotted.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	post := b.Publish(author, "during a backup")
	if socialtest.Info(t, b.DB, "connected_slaves") != "1" {
		t.Fatal("the backup has ended: the test shows nothing")
	}
	b.Eventually("the fan-out to be finalized", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
	if got := b.Redis("LRANGE", "timeline", "0", "-1"); got != fmt.Sprint(post) {
		t.Errorf("the timeline has %q", got)
	}
}
