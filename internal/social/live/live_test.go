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

// conn is a client.
type conn struct {
	mu     sync.Mutex
	text   strings.Builder
	stuck  bool // it accepts no data
	dead   bool
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
			whoSeesWhat(t, url(t))
		})
	}
}

func whoSeesWhat(t *testing.T, url string) {
	here, there := start(t, url, live.Options{}), start(t, url, live.Options{})
	ada, bob, cyd, dan := here.NewUser("ada"), here.NewUser("bob"), here.NewUser("cyd"), here.NewUser("dan")
	here.Connect(bob, ada)
	here.Connect(cyd, ada)
	here.Connect(cyd, dan)
	root := here.Publish(dan, "root")
	home := func(user social.User) *conn { return there.mustOpen(live.Subscription{Viewer: user, Page: live.Home}) }
	conns := map[string]*conn{
		"ada": home(ada), "bob": home(bob), "cyd": home(cyd), "dan": home(dan),
		"timeline": there.mustOpen(live.Subscription{Page: live.Everyone}),
		"tag":      there.mustOpen(live.Subscription{Page: live.Tag, Tag: "redis"}),
		"thread":   there.mustOpen(live.Subscription{Page: live.Thread, ID: root}),
		"profile":  there.mustOpen(live.Subscription{Page: live.Profile, ID: ada.ID}),
		"nothing":  there.mustOpen(live.Subscription{Viewer: bob}),
		"stranger": there.mustOpen(live.Subscription{Page: live.Home}),
	}
	plain := here.Publish(ada, "plain")
	tagged := here.Publish(ada, "tagged #Redis")
	answer, err := here.Posts.Reply(here.Ctx, ada, root, "answer")
	if err != nil {
		t.Fatal(err)
	}
	repeat, err := here.Posts.Repost(here.Ctx, ada, root)
	if err != nil {
		t.Fatal(err)
	}
	last := here.Publish(ada, "last #redis")
	if _, err := here.Posts.Reply(here.Ctx, dan, root, "the end of the thread"); err != nil {
		t.Fatal(err)
	}
	end := last + 1
	all := []int64{plain, tagged, answer.ID, repeat.ID, last}
	for name, want := range map[string][]int64{
		"ada":      {plain, tagged, answer.ID, last}, // one's own reposts are not reported
		"bob":      {plain, tagged, repeat.ID, last},
		"cyd":      append(all, end),
		"dan":      {end}, // a notification reports the reply
		"timeline": {plain, tagged, last},
		"tag":      {tagged, last},
		"thread":   {answer.ID, end},
		"profile":  {plain, tagged, repeat.ID, last},
	} {
		here.Eventually("the posts of "+name, func() bool { return slices.Contains(conns[name].posts(), want[len(want)-1]) })
		if got := conns[name].posts(); !slices.Equal(got, want) {
			t.Errorf("%s is notified of %d, want %d", name, got, want)
		}
	}
	for _, name := range []string{"nothing", "stranger"} {
		if got := conns[name].posts(); len(got) > 0 {
			t.Errorf("%s is notified of %d", name, got)
		}
	}

	// Follows, mutes and blocks through other processes take effect immediately.
	reaches := func(c *conn, want bool) func() bool {
		return func() bool {
			post, end := here.Publish(ada, "again"), here.Publish(ada, "when all have it")
			here.Eventually("the timeline", func() bool { return slices.Contains(conns["timeline"].posts(), end) })
			return slices.Contains(c.posts(), post) == want
		}
	}
	here.Connect(dan, ada)
	list := listOf(here, dan, ada)
	here.Eventually("the follow", reaches(conns["dan"], true))
	if err := here.Relations.Mute(here.Ctx, dan, ada, time.Time{}); err != nil {
		t.Fatal(err)
	}
	here.Eventually("the mute", reaches(conns["dan"], false))
	if err := here.Relations.Unmute(here.Ctx, dan, ada); err != nil {
		t.Fatal(err)
	}
	here.Eventually("the end of the mute", reaches(conns["dan"], true))
	leftOut := func(leftOut bool) {
		t.Helper()
		if err := here.Library.Edit(here.Ctx, dan, list.ID, "Loud", leftOut); err != nil {
			t.Fatal(err)
		}
	}
	leftOut(true)
	here.Eventually("the list to be left out of home", reaches(conns["dan"], false))
	leftOut(false)
	here.Eventually("the list to be at home again", reaches(conns["dan"], true))
	if err := here.Follows.Unfollow(here.Ctx, dan, ada); err != nil {
		t.Fatal(err)
	}
	here.Eventually("the unfollow", reaches(conns["dan"], false))
	everyone := there.mustOpen(live.Subscription{Viewer: cyd, Page: live.Everyone, Posts: []int64{plain, root}})
	here.Eventually("the timeline of cyd", reaches(everyone, true))
	if err := here.Relations.Block(here.Ctx, ada, cyd, time.Time{}); err != nil {
		t.Fatal(err)
	}
	here.Eventually("the block", reaches(everyone, false))
	blocked := there.mustOpen(live.Subscription{Viewer: cyd, Page: live.Profile, ID: ada.ID, Posts: []int64{plain, root}})
	if counts, _ := blocked.events("counts"); len(counts) != 1 || !strings.HasPrefix(counts[0], fmt.Sprint(root, ":")) || strings.Contains(counts[0], ",") {
		t.Errorf("counts of who has blocked the viewer: %q", counts)
	}
	reaches(blocked, false)()
	if got := blocked.posts(); len(got) > 0 {
		t.Errorf("posts of who has blocked the viewer: %d", got)
	}
	// A moderator sees them, while the role lasts.
	for _, role := range []social.Role{social.Moderator, social.Member} {
		if err := here.Moderation.SetRole(here.Ctx, social.Operator, cyd.ID, role, ""); err != nil {
			t.Fatal(err)
		}
		here.Eventually("the role "+role.String(), reaches(blocked, role == social.Moderator))
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
			here, there := start(t, u, live.Options{}), start(t, u, live.Options{})
			ada, bob := here.NewUser("ada"), here.NewUser("bob")
			post := here.Publish(ada, "text")
			c := there.mustOpen(live.Subscription{Viewer: ada, Posts: []int64{post, post, 1234}})
			last := func(kind, want string) func() bool {
				return func() bool {
					data, _ := c.events(kind)
					return len(data) > 0 && data[len(data)-1] == want
				}
			}
			if !last("counts", fmt.Sprint(post, ":0:0:0"))() || !last("unread", "0")() {
				t.Fatalf("it begins with %q", c.text.String())
			}
			if err := here.Reactions.Like(here.Ctx, bob, post); err != nil {
				t.Fatal(err)
			}
			here.Eventually("the like", last("counts", fmt.Sprint(post, ":0:0:1")))
			here.Eventually("its notification", last("unread", "1"))
			if err := here.Notifications.MarkRead(here.Ctx, ada, ""); err != nil {
				t.Fatal(err)
			}
			here.Eventually("it to be read", last("unread", "0"))
			if err := here.Posts.Delete(here.Ctx, ada, post); err != nil {
				t.Fatal(err)
			}
			here.Eventually("the deletion", last("counts", fmt.Sprint(post, ":gone")))

			mention := here.Publish(bob, "hello @ada")
			c = there.mustOpen(live.Subscription{Viewer: ada, Posts: []int64{mention}})
			here.Eventually("the notification of the mention", last("unread", "1"))
			if err := here.Posts.Delete(here.Ctx, bob, mention); err != nil {
				t.Fatal(err)
			}
			here.Eventually("the notification to go with the mention", last("unread", "0"))
		})
	}
}

// However often the process that a client is connected to is replaced and the server restarted, the
// client gets every post.
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
	// Any process later finishes what the restarts have interrupted.
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

// newest returns the ID of the last entry of the stream.
func newest(p *process) string {
	entries, err := p.DB.Do(p.Ctx, p.DB.B().Xrevrange().Key("live").End("+").Start("-").Count(1).Build()).AsXRange()
	if err != nil || len(entries) != 1 {
		p.T.Fatalf("the stream: %v", err)
	}
	return entries[0].ID
}
