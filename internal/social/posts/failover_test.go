package posts_test

import (
	"context"
	"errors"
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
	"retwis/internal/social/posts"
	"retwis/internal/social/socialtest"
)

// failoverEnv sets the number of followers of the author in TestFailoverDuringFanOut, such as
// 1000000 for a long run.
const failoverEnv = "SOCIAL_FAILOVER_FOLLOWERS"

// addFans gives an author n followers without accounts, with IDs from 1001 on. On a Cluster,
// addFans also creates their home timelines, because posting does not.
func (b *bundle) addFans(author social.User, n int) {
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

// countMissing returns how many of n fans do not have the post.
func (b *bundle) countMissing(n int, post int64) (missing int) {
	b.T.Helper()
	want := fmt.Sprint(post)
	for from := 0; from < n; from += 1000 {
		var cmds rueidis.Commands
		for i := from; i < min(n, from+1000); i++ {
			cmds = append(cmds, b.DB.B().Lpos().Key(fmt.Sprintf("posts:%d", 1001+i)).Element(want).Build())
		}
		for _, res := range b.DB.DoMulti(b.Ctx, cmds...) {
			if at, err := res.AsInt64(); err != nil || at != 0 {
				missing++
			}
		}
	}
	return missing
}

// waitForReplica waits until the replica of a pair is up to date.
func (b *bundle) waitForReplica(p *socialtest.Pair) {
	b.T.Helper()
	socialtest.Wait(b.T, "the replica to catch up", func() bool {
		return strings.Contains(socialtest.Info(b.T, p.DB, "slave0"), ",state=online,offset="+socialtest.Info(b.T, p.DB, "master_repl_offset")+",")
	})
}

// A master that dies during a fan-out loses the writes that its replica does not have. The replica
// has the acknowledged post, and the fan-out does not finish before all lost writes are repeated.
func TestFailoverDuringFanOut(t *testing.T) {
	t.Parallel()
	followers := 4000
	if text := os.Getenv(failoverEnv); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		followers = n
	}
	p := socialtest.NewPair(t)
	b := on(t, p.DB, noJobs)
	if followers > 4000 {
		ctx, cancel := context.WithTimeout(context.Background(), 9*time.Minute)
		t.Cleanup(cancel)
		b.Ctx = ctx
	}
	author := b.NewUser("author")
	b.addFans(author, followers)
	b.waitForReplica(p)
	post := b.Publish(author, "to all of you")
	p.Link.Lag.Store(int64(time.Hour))    // the replica gets nothing from now on
	on(t, p.DB)                           // a process that does background work
	last := fmt.Sprintf("posts:%d", 1001) // the latest follower comes first
	socialtest.Wait(t, "the fan-out", func() bool { return b.Redis("EXISTS", last) == "1" })
	p.FailOver()
	if lost := b.countMissing(followers, post); lost == 0 {
		t.Fatal("the failover lost nothing, so the test proves nothing")
	}
	socialtest.Wait(t, "all followers to have the post", func() bool { return b.Redis("EXISTS", last) == "1" && b.countMissing(followers, post) == 0 })
	socialtest.Wait(t, "the fan-out to be finished", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
	if posts, err := b.Posts.Posts(b.Ctx, post); err != nil || len(posts) != 1 || posts[0].Body != "to all of you" {
		t.Errorf("acknowledged post: %+v, %v", posts, err)
	}
	for _, list := range []string{"timeline", "posts:1"} {
		if got := b.Redis("LRANGE", list, "0", "-1"); got != fmt.Sprint(post) {
			t.Errorf("%s has %q, want post %d", list, got, post)
		}
	}
	if got := b.Redis("ZRANGE", "profile:1", "0", "-1"); got != fmt.Sprint(post) {
		t.Errorf("the profile has %q, want post %d", got, post)
	}
}

// A write that the replica does not have is not acknowledged, and can be repeated after a failover.
func TestUncertain(t *testing.T) {
	t.Parallel()
	p := socialtest.NewPair(t)
	b := on(t, p.DB)
	author, reader := b.NewUser("author"), b.NewUser("reader")
	kept := b.Publish(author, "acknowledged")
	b.waitIdle()
	b.waitForReplica(p)
	p.Link.Lag.Store(int64(time.Hour))
	post := func() error {
		_, err := b.Posts.PostOnce(b.Ctx, author, posts.Draft{Body: "uncertain"})
		return err
	}
	writes := map[string]func() error{
		"post":   post,
		"delete": func() error { return b.Posts.Delete(b.Ctx, author, kept) },
		"follow": func() error { return b.Follows.Follow(b.Ctx, reader, author) },
	}
	for name, write := range writes {
		if err := write(); !errors.Is(err, social.ErrUncertain) {
			t.Errorf("%s without the replica: %v, want ErrUncertain", name, err)
		}
	}
	p.FailOver()
	if b.Redis("HGET", fmt.Sprint("post:", kept), "body") != "acknowledged" || b.Redis("ZCARD", "profile:1") != "1" {
		t.Fatal("the failover lost nothing, so the test proves nothing")
	}
	for name, repeat := range writes {
		socialtest.Wait(t, name, func() bool {
			err := repeat()
			if err != nil && !errors.Is(err, social.ErrUncertain) {
				t.Logf("%s: %v", name, err)
			}
			return err == nil
		})
	}
	b.waitIdle()
	if got := strings.Fields(b.Redis("ZRANGE", "profile:1", "0", "-1")); len(got) != 1 || got[0] == fmt.Sprint(kept) {
		t.Errorf("the profile has %q, want only the repeated post", got)
	}
	b.WantHealthy()
}

// If one of two replicas is promoted while the old master still has the other replica, writes to
// the old master are lost and must not be acknowledged.
func TestOtherReplicaAcknowledges(t *testing.T) {
	t.Parallel()
	p := socialtest.NewPair(t)
	other := redistest.TCP(t, fmt.Sprintf("replicaof 127.0.0.1 %d", p.Master.Port()))
	link := p.Dial(other.Socket)
	socialtest.Wait(t, "the other replica to catch up", func() bool { return socialtest.Info(t, link, "master_link_status") == "up" })
	b := on(t, p.DB)
	author := b.NewUser("author")
	socialtest.Wait(t, "both replicas to acknowledge", func() bool {
		_, err := b.Posts.Post(b.Ctx, author, "kept")
		return err == nil && socialtest.Info(t, p.DB, "connected_slaves") == "2"
	})
	p.Promote()
	if _, err := b.Posts.Post(b.Ctx, author, "lost"); !errors.Is(err, social.ErrUncertain) {
		t.Errorf("post to the old master: %v, want ErrUncertain", err)
	}
}

// A fan-out that waits for a replica is not started by another process.
func TestWaitingFanOutsAreNotTaken(t *testing.T) {
	t.Parallel()
	p := socialtest.NewPair(t)
	b, other := on(t, p.DB), on(t, p.DB)
	author := b.NewUser("author")
	b.waitForReplica(p)
	b.Publish(author, "so that this process knows of the replica")
	b.waitIdle()
	b.waitForReplica(p)
	p.Link.Lag.Store(int64(time.Hour))
	if _, err := b.Posts.Post(b.Ctx, author, "waits"); !errors.Is(err, social.ErrUncertain) {
		t.Fatal(err)
	}
	post := b.Redis("ZRANGE", "tasks", "0", "0")
	before := b.Redis("ZSCORE", "tasks", post)
	for range 2 {
		socialtest.Wait(t, "the lease to be renewed", func() bool { return b.Redis("ZSCORE", "tasks", post) != before })
		before = b.Redis("ZSCORE", "tasks", post)
		if err := other.App.RetryTasks(b.Ctx); err != nil {
			t.Fatal(err)
		}
	}
	states, err := other.Jobs(b.Ctx)
	if err != nil || states[0].Stats.Done != 0 {
		t.Errorf("another process ran %d tasks, %v; want 0", states[0].Stats.Done, err)
	}
	p.Link.Lag.Store(0)
	b.waitIdle()
}

// A backup that reads a snapshot of the server does not count as a replica, so posts do not wait
// for it.
func TestPostDuringBackup(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "repl-diskless-sync-delay 0", "rdbcompression no")
	b := on(t, server.Client(t))
	author := b.NewUser("author")
	b.Redis("SETRANGE", "large", "50000000", "more than is on the way between two processes")
	r, w := io.Pipe()
	defer r.Close()
	go func() { w.CloseWithError(snapshot.Take(b.Ctx, rueidis.MustParseURL(server.URL()), "", w)) }()
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	post := b.Publish(author, "during a backup")
	if socialtest.Info(t, b.DB, "connected_slaves") != "1" {
		t.Fatal("the backup has already ended, so the test proves nothing")
	}
	b.Eventually("the fan-out to be finalized", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
	if got := b.Redis("LRANGE", "timeline", "0", "-1"); got != fmt.Sprint(post) {
		t.Errorf("the timeline has %q, want post %d", got, post)
	}
}
