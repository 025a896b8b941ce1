package live_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/redis/store"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/live"
	"retwis/internal/social/people"
	"retwis/internal/social/socialtest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// process is a process of Retwis with its hub.
type process struct {
	*socialtest.Bundle
	hub *live.Hub
}

func start(t testing.TB, url string, opt live.Options) *process {
	t.Helper()
	db, err := store.Open(t.Context(), url, store.Options{Logger: socialtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	server := db.ClientOption()
	p := &process{Bundle: socialtest.On(t, db.Client(), func(opt *app.Options) {
		opt.Invalidations, opt.Server = db.Invalidations(), &server
	})}
	opt.Logger = socialtest.Quiet()
	if p.hub, err = live.New(p.App, opt); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.hub.Close)
	return p
}

// conn is the connection of a client.
type conn struct {
	mu     sync.Mutex
	text   strings.Builder
	stuck  bool // writes do not complete
	dead   bool // writes fail
	closed chan struct{}
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return 0, os.ErrClosed
	}
	if c.stuck {
		return 0, nil
	}
	return c.text.Write(p)
}

func (c *conn) WriteAll(p []byte, by time.Time) error {
	c.mu.Lock()
	stuck := c.stuck
	c.mu.Unlock()
	if !stuck {
		_, err := c.Write(p)
		return err
	}
	select {
	case <-c.closed:
	case <-time.After(time.Until(by)):
	}
	return os.ErrDeadlineExceeded
}

func (c *conn) Alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.dead
}

func (c *conn) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isClosed() {
		close(c.closed)
	}
}

func (c *conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

func (c *conn) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// events returns the data of the events of a kind, and the ID of the last event.
func (c *conn) events(kind string) (data []string, last string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for event := range strings.SplitSeq(c.text.String(), "\n\n") {
		for line := range strings.SplitSeq(event, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			if name == "id" {
				last = value
			}
			if name == "data" && strings.Contains(event, "event: "+kind+"\n") {
				data = append(data, value)
			}
		}
	}
	return data, last
}

// posts returns the IDs of the new posts reported to a client.
func (c *conn) posts() []int64 {
	data, _ := c.events("posts")
	var ids []int64
	for _, list := range data {
		for text := range strings.SplitSeq(list, ",") {
			id, _ := strconv.ParseInt(text, 10, 64)
			ids = append(ids, id)
		}
	}
	return ids
}

func (p *process) open(sub live.Subscription) (*conn, func(), error) {
	c := &conn{closed: make(chan struct{})}
	detach, err := p.hub.Attach(p.Ctx, sub, func() (live.Conn, error) { return c, nil })
	return c, detach, err
}

func (p *process) mustOpen(sub live.Subscription) *conn {
	p.T.Helper()
	c, _, err := p.open(sub)
	if err != nil {
		p.T.Fatal(err)
	}
	return c
}

// distinct removes duplicates, which repeated fan-outs cause.
func distinct(ids []int64) []int64 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

func TestWhoSeesWhat(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(testing.TB) string{
		"one server": func(t testing.TB) string { return redistest.Own(t).URL() },
		"cluster":    func(t testing.TB) string { return redistest.Cluster(t, 2).URL() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testWhoSeesWhat(t, url(t))
		})
	}
}

func testWhoSeesWhat(t *testing.T, url string) {
	writer, reader := start(t, url, live.Options{}), start(t, url, live.Options{})
	ada, bob, cyd, dan := writer.NewUser("ada"), writer.NewUser("bob"), writer.NewUser("cyd"), writer.NewUser("dan")
	writer.Connect(bob, ada)
	writer.Connect(cyd, ada)
	writer.Connect(cyd, dan)
	root := writer.Publish(dan, "root")
	home := func(user social.User) *conn { return reader.mustOpen(live.Subscription{Viewer: user, Page: live.Home}) }
	conns := map[string]*conn{
		"ada": home(ada), "bob": home(bob), "cyd": home(cyd), "dan": home(dan),
		"timeline": reader.mustOpen(live.Subscription{Page: live.Everyone}),
		"tag":      reader.mustOpen(live.Subscription{Page: live.Tag, Tag: "redis"}),
		"thread":   reader.mustOpen(live.Subscription{Page: live.Thread, ID: root}),
		"profile":  reader.mustOpen(live.Subscription{Page: live.Profile, ID: ada.ID}),
		"nothing":  reader.mustOpen(live.Subscription{Viewer: bob}),
		"stranger": reader.mustOpen(live.Subscription{Page: live.Home}),
	}
	plain := writer.Publish(ada, "plain")
	tagged := writer.Publish(ada, "tagged #Redis")
	answer, err := writer.Posts.Reply(writer.Ctx, ada, root, "answer")
	if err != nil {
		t.Fatal(err)
	}
	repeat, err := writer.Posts.Repost(writer.Ctx, ada, root)
	if err != nil {
		t.Fatal(err)
	}
	last := writer.Publish(ada, "last #redis")
	if _, err := writer.Posts.Reply(writer.Ctx, dan, root, "the end of the thread"); err != nil {
		t.Fatal(err)
	}
	end := last + 1
	all := []int64{plain, tagged, answer.ID, repeat.ID, last}
	for name, want := range map[string][]int64{
		"ada":      {plain, tagged, answer.ID, last}, // a user's own reposts are not reported
		"bob":      {plain, tagged, repeat.ID, last},
		"cyd":      append(all, end),
		"dan":      {end}, // a notification reports the reply
		"timeline": {plain, tagged, last},
		"tag":      {tagged, last},
		"thread":   {answer.ID, end},
		"profile":  {plain, tagged, repeat.ID, last},
	} {
		writer.Eventually("the posts of "+name, func() bool { return slices.Contains(conns[name].posts(), want[len(want)-1]) })
		if got := conns[name].posts(); !slices.Equal(got, want) {
			t.Errorf("%s got posts %d, want %d", name, got, want)
		}
	}
	for _, name := range []string{"nothing", "stranger"} {
		if got := conns[name].posts(); len(got) > 0 {
			t.Errorf("%s got posts %d, want none", name, got)
		}
	}

	// Follows, mutes and blocks through other processes take effect immediately.
	reaches := func(c *conn, want bool) func() bool {
		return func() bool {
			post, end := writer.Publish(ada, "again"), writer.Publish(ada, "marker")
			writer.Eventually("the timeline", func() bool { return slices.Contains(conns["timeline"].posts(), end) })
			return slices.Contains(c.posts(), post) == want
		}
	}
	writer.Connect(dan, ada)
	list := listOf(writer, dan, ada)
	writer.Eventually("the follow", reaches(conns["dan"], true))
	if err := writer.Relations.Mute(writer.Ctx, dan, ada, time.Time{}); err != nil {
		t.Fatal(err)
	}
	writer.Eventually("the mute", reaches(conns["dan"], false))
	if err := writer.Relations.Unmute(writer.Ctx, dan, ada); err != nil {
		t.Fatal(err)
	}
	writer.Eventually("the end of the mute", reaches(conns["dan"], true))
	setLeftOut := func(leftOut bool) {
		t.Helper()
		if err := writer.Library.Edit(writer.Ctx, dan, list.ID, "Loud", leftOut); err != nil {
			t.Fatal(err)
		}
	}
	setLeftOut(true)
	writer.Eventually("the list to be left out of home", reaches(conns["dan"], false))
	setLeftOut(false)
	writer.Eventually("the list to be at home again", reaches(conns["dan"], true))
	if err := writer.Follows.Unfollow(writer.Ctx, dan, ada); err != nil {
		t.Fatal(err)
	}
	writer.Eventually("the unfollow", reaches(conns["dan"], false))
	everyone := reader.mustOpen(live.Subscription{Viewer: cyd, Page: live.Everyone, Posts: []int64{plain, root}})
	writer.Eventually("the timeline of cyd", reaches(everyone, true))
	if err := writer.Relations.Block(writer.Ctx, ada, cyd, time.Time{}); err != nil {
		t.Fatal(err)
	}
	writer.Eventually("the block", reaches(everyone, false))
	blocked := reader.mustOpen(live.Subscription{Viewer: cyd, Page: live.Profile, ID: ada.ID, Posts: []int64{plain, root}})
	if counts, _ := blocked.events("counts"); len(counts) != 1 || !strings.HasPrefix(counts[0], fmt.Sprint(root, ":")) || strings.Contains(counts[0], ",") {
		t.Errorf("counts for a blocked viewer: %q, want only those of post %d", counts, root)
	}
	reaches(blocked, false)()
	if got := blocked.posts(); len(got) > 0 {
		t.Errorf("posts for a blocked viewer: %d, want none", got)
	}
	// A blocked viewer sees the posts while having the role of a moderator.
	for _, role := range []social.Role{social.Moderator, social.Member} {
		if err := writer.Moderation.SetRole(writer.Ctx, social.Operator, cyd.ID, role, ""); err != nil {
			t.Fatal(err)
		}
		writer.Eventually("the role "+role.String(), reaches(blocked, role == social.Moderator))
	}
}

// listOf returns a list with one member.
func listOf(p *process, owner, member social.User) people.List {
	p.T.Helper()
	list, err := p.Library.Create(p.Ctx, owner, "Loud")
	if err != nil {
		p.T.Fatal(err)
	}
	v, err := p.Viewers.Get(p.Ctx, owner)
	if err == nil {
		err = p.Library.Add(p.Ctx, v, list.ID, member)
	}
	if err != nil {
		p.T.Fatal(err)
	}
	return list
}

func TestCountsAndNotifications(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(testing.TB) string{
		"one server": func(t testing.TB) string { return redistest.Own(t).URL() },
		"cluster":    func(t testing.TB) string { return redistest.Cluster(t, 2).URL() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := url(t)
			writer, reader := start(t, u, live.Options{}), start(t, u, live.Options{})
			ada, bob := writer.NewUser("ada"), writer.NewUser("bob")
			post := writer.Publish(ada, "text")
			c := reader.mustOpen(live.Subscription{Viewer: ada, Posts: []int64{post, post, 1234}})
			last := func(kind, want string) func() bool {
				return func() bool {
					data, _ := c.events(kind)
					return len(data) > 0 && data[len(data)-1] == want
				}
			}
			if !last("counts", fmt.Sprint(post, ":0:0:0"))() || !last("unread", "0")() {
				t.Fatalf("first events: %q", c.text.String())
			}
			if err := writer.Reactions.Like(writer.Ctx, bob, post); err != nil {
				t.Fatal(err)
			}
			writer.Eventually("the like", last("counts", fmt.Sprint(post, ":0:0:1")))
			writer.Eventually("the notification of the like", last("unread", "1"))
			if err := writer.Notifications.MarkRead(writer.Ctx, ada, ""); err != nil {
				t.Fatal(err)
			}
			writer.Eventually("the notification to be read", last("unread", "0"))
			if err := writer.Posts.Delete(writer.Ctx, ada, post); err != nil {
				t.Fatal(err)
			}
			writer.Eventually("the deletion", last("counts", fmt.Sprint(post, ":gone")))

			mention := writer.Publish(bob, "hello @ada")
			c = reader.mustOpen(live.Subscription{Viewer: ada, Posts: []int64{mention}})
			writer.Eventually("the notification of the mention", last("unread", "1"))
			if err := writer.Posts.Delete(writer.Ctx, bob, mention); err != nil {
				t.Fatal(err)
			}
			writer.Eventually("the notification to be removed with the mention", last("unread", "0"))
		})
	}
}

// A client gets every post although its process is replaced and the server restarted several times.
func TestNothingIsMissed(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "appendonly yes", "appendfsync always")
	writer := start(t, server.URL(), live.Options{})
	ada, bob := writer.NewUser("ada"), writer.NewUser("bob")
	writer.Connect(bob, ada)
	since := ""
	writer.Eventually("a position", func() bool { since = writer.hub.Position(); return since != "" })
	stop, done := make(chan struct{}), make(chan []int64)
	go func() {
		var posted []int64
		for {
			select {
			case <-stop:
				done <- posted
				return
			default:
			}
			ctx, cancel := context.WithTimeout(writer.Ctx, time.Second)
			if post, err := writer.Posts.Post(ctx, ada, "text"); err == nil {
				posted = append(posted, post.ID)
			}
			cancel()
		}
	}()
	var got []int64
	for round := range 6 {
		reader := start(t, server.URL(), live.Options{})
		var c *conn
		writer.Eventually("a connection", func() bool {
			var err error
			c, _, err = reader.open(live.Subscription{Viewer: bob, Page: live.Home, Since: since})
			return err == nil
		})
		from := len(c.posts())
		if round%3 == 1 {
			server.Kill(t)
			server.Restart(t, true)
		}
		writer.Eventually("more posts", func() bool { return len(c.posts()) > from+20 })
		reader.hub.Close()
		if _, last := c.events("posts"); last != "" {
			since = last
		}
		got = append(got, c.posts()...)
	}
	close(stop)
	posted := <-done
	// A later retry completes the posts that the restarts interrupted.
	writer.Clock.Advance(5 * time.Minute)
	writer.Eventually("the interrupted posts", func() bool { return writer.RetryTasks(writer.Ctx) == nil })
	c := writer.mustOpen(live.Subscription{Viewer: bob, Page: live.Home, Since: since})
	writer.Eventually("all posts", func() bool {
		all := distinct(append(slices.Clone(got), c.posts()...))
		missing := slices.DeleteFunc(slices.Clone(posted), func(id int64) bool {
			_, ok := slices.BinarySearch(all, id)
			return ok
		})
		return len(missing) == 0
	})
	t.Logf("%d posts", len(posted))
}

// newest returns the ID of the newest entry of the stream.
func newest(p *process) string {
	entries, err := p.DB.Do(p.Ctx, p.DB.B().Xrevrange().Key("live").End("+").Start("-").Count(1).Build()).AsXRange()
	if err != nil || len(entries) != 1 {
		p.T.Fatalf("newest entry of the stream: %v", err)
	}
	return entries[0].ID
}
