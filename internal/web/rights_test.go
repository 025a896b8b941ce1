package web_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/store"
	"retwis/internal/redistest"

	"retwis/internal/app"
	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/adopt"
	"retwis/internal/social/blocklist"
	"retwis/internal/social/check"
	"retwis/internal/social/load"
	"retwis/internal/social/moderation"
	siteinfo "retwis/internal/social/site"
	"retwis/redlock"
)

// rights returns the ACL rules in docs/operations.md, without the word user, by the first word of
// the comment above each rule.
func rights(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```acl\n")
	block, _, _ = strings.Cut(block, "```")
	rules, comment := map[string][]string{}, ""
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(line)
		if about, ok := strings.CutPrefix(line, "# "); ok {
			comment = about
		} else if rule, ok := strings.CutPrefix(line, "user "); ok {
			rules[strings.Fields(comment)[0]] = strings.Fields(rule)
		}
	}
	if len(rules) != 4 {
		t.Fatalf("docs/operations.md has the rules %v", rules)
	}
	return rules
}

func setUser(t *testing.T, server *redistest.Server, rule []string) {
	t.Helper()
	c := server.Client(t)
	if err := c.Do(t.Context(), c.B().Arbitrary("ACL", "SETUSER").Args(rule...).Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

// The documented rights suffice: no command is refused.
func TestDocumentedRights(t *testing.T) {
	t.Parallel()
	rules := rights(t)
	const user = "retwis:PASSWORD@"
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		server := redistest.TCP(t)
		setUser(t, server, rules["one"])
		useAll(t, reach(t, fmt.Sprintf("redis://%s127.0.0.1:%d", user, server.Port())))
		allowed(t, server)
	})
	t.Run("Sentinel", func(t *testing.T) {
		t.Parallel()
		master := redistest.TCP(t)
		replica := redistest.TCP(t, fmt.Sprintf("replicaof 127.0.0.1 %d", master.Port()))
		sentinel := redistest.Sentinel(t, "main", master)
		setUser(t, master, rules["servers"])
		setUser(t, replica, rules["servers"])
		setUser(t, sentinel, rules["their"])
		useAll(t, reach(t, fmt.Sprintf("redis+sentinel://%s127.0.0.1:%d/main?sentinel_username=retwis&sentinel_password=PASSWORD", user, sentinel.Port())))
		for _, server := range []*redistest.Server{master, replica, sentinel} {
			allowed(t, server)
		}
	})
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		cluster := redistest.Cluster(t, 3)
		for _, server := range cluster.Masters {
			setUser(t, server, rules["each"])
		}
		useAll(t, reach(t, strings.Replace(cluster.URL(), "//", "//"+user, 1)))
		for _, server := range cluster.Masters {
			allowed(t, server)
		}
	})
}

// useAll performs actions of a site and commands of its operator.
func useAll(t *testing.T, db *store.Store) {
	t.Helper()
	s := on(t, db.Client())
	if err := adopt.New(s.client, slog.New(slog.DiscardHandler)).Adopt(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	ada.send("/u/ben/follow").want(303)
	ben.send("/post", "status", "first").want(303)
	ada.get("/home").want(200, "first")
	for _, path := range []string{"/timeline", "/timeline?before=9", "/u/ben/followers", "/u/ben", "/u/ben?before=9", "/explore/people"} {
		ada.get(path).want(200)
	}
	ada.send("/u/ben/unfollow").want(303)
	ada.send("/u/ben/dismiss").want(303)
	ada.send("/lists", "name", "Friends").want(303)
	ada.send(listLink.FindString(ada.get("/lists").body)+"/add", "member", "ben").want(303)
	ada.send("/searches", "q", "first").want(303)
	ada.send("/u/ben/block").want(303)
	ada.send("/u/ben/unblock").want(303)
	if err := s.social.Suggestions.Refresh(t.Context()); err != nil {
		t.Error(err)
	}
	s.set(siteinfo.Rules, "Be kind.")
	if _, err := s.social.Blocklist.Add(t.Context(), social.Operator, blocklist.Block{Kind: blocklist.Word, Value: "casino"}, time.Minute); err != nil {
		t.Error(err)
	}
	if err := s.social.Blocklist.Remove(t.Context(), social.Operator, blocklist.Word, "casino"); err != nil {
		t.Error(err)
	}
	for _, mode := range []accounts.SignUpMode{accounts.SignUpApproval, accounts.SignUpOpen} {
		if err := s.social.SignUps.SetSignUpMode(t.Context(), social.Operator, mode); err != nil {
			t.Error(err)
		}
		if mode == accounts.SignUpApproval {
			s.visitor().send("/register", "username", "waits", "password", password, "password2", password, "reason", "please").want(200)
		}
	}
	if _, err := s.social.Applications.DecideAll(t.Context(), social.Operator, "127.0.0.1", moderation.Approve); err != nil {
		t.Error(err)
	}
	ada.send("/logout").want(303)
	ada.send("/login", "username", "ada", "password", password).want(303)
	ada.get("/readyz").want(200).wantNot("read-only")
	if err := s.social.RetryTasks(t.Context()); err != nil {
		t.Error(err)
	}
	if err := store.ProbeScript(t.Context(), db.Client()); err != nil {
		t.Error(err)
	}
	option := db.ClientOption()
	loading, err := app.New(db.Client(), app.Options{Server: &option, HashParams: cheap})
	if err != nil {
		t.Fatal(err)
	}
	defer loading.Close()
	if _, err := load.New(loading).AddUsers(t.Context(), []load.NewUser{{Name: "cleo", PasswordHash: "x", Joined: time.Unix(1, 0)}}); err != nil {
		t.Error(err)
	}
	cleo, err := loading.Users.UserByName(t.Context(), "cleo")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := loading.Posts.Post(t.Context(), cleo, "counted for a #trend"); err != nil {
		t.Error(err)
	}
	if err := loading.Trends.Merge(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := check.Verify(t.Context(), loading, check.Options{}); err != nil {
		t.Error(err)
	}
	locks, err := redlock.New([]rueidis.Client{db.Client()}, redlock.Options{TTL: time.Second}) // each master of a Cluster is quarantined for this long
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	if err := locks.SkipQuarantine(t.Context()); err != nil {
		t.Fatal(err)
	}
	lock, err := locks.Lock(t.Context(), "job")
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Unlock(t.Context()); err != nil && !errors.Is(err, redlock.ErrLost) { // the lock may have expired by then
		t.Error(err)
	}
}

// allowed checks that a server has refused no command.
func allowed(t *testing.T, server *redistest.Server) {
	t.Helper()
	c := server.Client(t)
	entries, err := c.Do(t.Context(), c.B().Arbitrary("ACL", "LOG").Build()).ToArray()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		fields, _ := entry.AsStrMap()
		if strings.HasPrefix(fields["object"], "cluster") {
			continue // a load asks for the slots; without permission it assumes a single server
		}
		t.Errorf("refused: %v", fields)
	}
}
