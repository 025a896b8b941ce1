package app_test

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/socialtest"
)

// When the database is out of memory, reads, log-ins and operations that free memory succeed. All
// other writes are refused.
func TestFullMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	b := on(t, server.Client(t))
	ada, bob := b.NewUser("ada"), b.NewUser("bob")
	_, key, _ := b.protected("eve")
	b.Connect(ada, bob)
	liked, deleted := b.Publish(bob, "liked"), b.Publish(ada, "to be deleted")
	if err := b.Reactions.Like(b.Ctx, ada, liked); err != nil {
		t.Fatal(err)
	}
	session, err := b.Auth.Login(b.Ctx, "ada", socialtest.Password)
	if err != nil {
		t.Fatal(err)
	}
	b.Clock.Advance(time.Minute) // until the next one-time code
	b.Eventually("the fan-outs to end", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
	config := func(name, value string) {
		t.Helper()
		if err := b.DB.Do(b.Ctx, b.DB.B().ConfigSet().ParameterValue().ParameterValue(name, value).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	config("maxmemory", "100kb") // less than the server needs
	for _, c := range []struct {
		name    string
		do      func() error
		allowed bool
	}{
		{"read a profile", func() error { _, err := b.Users.UserByName(social.WithFresh(b.Ctx), "bob"); return err }, true},
		{"read posts", func() error { _, err := b.Views.Get(social.WithFresh(b.Ctx), liked); return err }, true},
		{"read a session", func() error { _, err := b.Sessions.SessionUser(social.WithFresh(b.Ctx), session.Secret); return err }, true},
		{"post", func() error { _, err := b.Posts.Post(b.Ctx, ada, "no room"); return err }, false},
		{"register", func() error { _, err := b.Accounts.Register(b.Ctx, "charles", socialtest.Password); return err }, false},
		{"follow", func() error { return b.Follows.Follow(b.Ctx, bob, ada) }, false},
		{"like", func() error { return b.Reactions.Like(b.Ctx, bob, deleted) }, false},
		{"log in", func() error { _, err := b.Auth.Login(b.Ctx, "ada", socialtest.Password); return err }, true},
		{"log in with a code", func() error { _, err := b.Auth.FinishLogin(b.Ctx, b.begin("eve"), b.code(key)); return err }, true},
		{"note a log-in", func() error { return b.Auth.LoggedIn(b.Ctx, ada, "ada", netip.MustParseAddr("203.0.113.9")) }, true},
		{"unlike", func() error { return b.Reactions.Unlike(b.Ctx, ada, liked) }, true},
		{"unfollow", func() error { return b.Follows.Unfollow(b.Ctx, ada, bob) }, true},
		{"delete a post", func() error { return b.Posts.Delete(b.Ctx, ada, deleted) }, true},
		{"log out", func() error { return b.Sessions.Logout(b.Ctx, ada.ID, session.Secret) }, true},
	} {
		err := c.do()
		t.Logf("%s: %v", c.name, err)
		if c.allowed && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if !c.allowed && rediserr.Of(err) != rediserr.WritesRefused {
			t.Errorf("%s: %v, want a refused write", c.name, err)
		}
	}
	// Limits still apply; otherwise passwords could be guessed without limit.
	guesses := 0
	for range 20 {
		if _, err := b.Auth.AllowLogin(b.Ctx, "bob", netip.MustParseAddr("203.0.113.9")); err == nil {
			guesses++
		}
	}
	if guesses != 5 {
		t.Errorf("%d guesses were allowed while memory is full, want 5", guesses)
	}
	config("maxmemory", "0")
	b.Eventually("the refused background tasks to end", func() bool {
		_ = b.RetryTasks(b.Ctx)
		return b.Redis("EXISTS", "tasks") == "0"
	})
	if result := b.WantHealthy(); result.Users != 3 {
		t.Errorf("check = %+v, want 3 users", result)
	}
	b.Eventually("the deletion to end", func() bool {
		return !slices.Contains(strings.Fields(b.Redis("LRANGE", "timeline", "0", "-1")), strconv.FormatInt(deleted, 10))
	})
}
