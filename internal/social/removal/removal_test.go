package removal_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/scan"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/removal"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// scene is a small network. zoe, who leaves, has done everything that a user can do, and everything
// was done to her.
type scene struct {
	zoe, ada, bob, cid social.User
	post, reply        int64 // by zoe: a post that ada replied to, and a reply to ada
	adasPost           int64 // by ada, liked and reposted by zoe
}

// The user IDs that the test looks for start here: no other number in a scene contains them.
const firstTestID = 770_077_000

func newScene(b *bundle, n int) scene {
	b.T.Helper()
	must := func(err error) {
		b.T.Helper()
		if err != nil {
			b.T.Fatal(err)
		}
	}
	b.Redis("SET", "next_user_id", fmt.Sprint(firstTestID+1000*n))
	user := func(name string) social.User { return b.NewUser(fmt.Sprintf("%s%d", name, n)) }
	s := scene{zoe: user("Zoe"), ada: user("ada"), bob: user("bob"), cid: user("cid")}
	for _, f := range [][2]social.User{{s.zoe, s.ada}, {s.ada, s.zoe}, {s.bob, s.zoe}, {s.bob, s.ada}} {
		b.Connect(f[0], f[1])
	}
	must(b.Profiles.Edit(b.Ctx, s.zoe, accounts.UserProfile{DisplayName: fmt.Sprintf("Zoe %d of the lake", n), Bio: "hello"}))
	s.post = b.Publish(s.zoe, fmt.Sprintf("about #lakes%d for @%s", n, s.cid.Name))
	err := b.Posts.Edit(b.Ctx, s.zoe, s.post, fmt.Sprintf("about #rivers%d for @%s", n, s.cid.Name))
	must(err)
	must(b.Profiles.Pin(b.Ctx, s.zoe, s.post))
	_, err = b.Posts.Reply(b.Ctx, s.ada, s.post, "an answer to @"+s.zoe.Name[:2])
	must(err)
	s.adasPost = b.Publish(s.ada, "hers")
	reply, err := b.Posts.Reply(b.Ctx, s.zoe, s.adasPost, "an answer")
	must(err)
	s.reply = reply.ID
	gone, err := b.Posts.Reply(b.Ctx, s.zoe, s.adasPost, "regretted")
	must(err)
	_, err = b.Posts.Reply(b.Ctx, s.bob, gone.ID, "but answered")
	must(err)
	must(b.Posts.Delete(b.Ctx, s.zoe, gone.ID))
	must(b.Posts.Delete(b.Ctx, s.zoe, b.Publish(s.zoe, "regretted too")))
	for _, u := range []social.User{s.zoe, s.bob} {
		must(b.Reactions.Like(b.Ctx, u, s.adasPost))
		must(b.Reactions.Like(b.Ctx, u, s.post))
		_, err = b.Posts.Repost(b.Ctx, u, s.adasPost)
		must(err)
		_, err = b.Posts.Repost(b.Ctx, u, s.post)
		must(err)
		must(b.Reactions.Bookmark(b.Ctx, u, s.post))
		must(b.Reactions.Bookmark(b.Ctx, u, s.adasPost))
		must(b.Tags.FollowTag(b.Ctx, u, fmt.Sprintf("lakes%d", n)))
	}
	must(b.Reactions.Unlike(b.Ctx, s.zoe, s.post))
	must(b.Reactions.Like(b.Ctx, s.zoe, s.post))
	for _, limit := range []string{
		"export:{" + fmt.Sprint(s.zoe.ID) + "}:1h", "second-factor:{" + fmt.Sprint(s.zoe.ID) + "@192.0.2.1}:1d",
		"login:{" + strings.ToLower(s.zoe.Name) + "@192.0.2.1}:1d", "login-account:{" + strings.ToLower(s.zoe.Name) + "}:1h",
	} {
		b.Redis("SET", "ratelimit:"+limit, "1.1")
	}
	must(b.Relations.Mute(b.Ctx, s.zoe, s.bob, time.Time{}))
	must(b.Relations.Mute(b.Ctx, s.bob, s.zoe, time.Time{}))
	must(b.Suggestions.Dismiss(b.Ctx, s.zoe, s.bob))
	must(b.Suggestions.Dismiss(b.Ctx, s.bob, s.zoe))
	must(b.Suggestions.Refresh(b.Ctx))
	must(b.Relations.Block(b.Ctx, s.zoe, s.cid, time.Time{}))
	must(b.Relations.Block(b.Ctx, s.cid, s.zoe, time.Time{}))
	return s
}

// traces returns the keys that mention a user, by ID or by name, and where.
func (b *bundle) traces(u social.User) []string {
	b.T.Helper()
	var found []string
	id, name := fmt.Sprint(u.ID), strings.ToLower(u.Name)
	for page, err := range scan.Keys(b.Ctx, b.DB, scan.Pattern{Count: 1000}) {
		if err != nil {
			b.T.Fatal(err)
		}
		for _, key := range page.Keys {
			content := b.content(key)
			if text := strings.ToLower(key + " " + content); strings.Contains(text, id) || strings.Contains(text, name) {
				found = append(found, key+" "+content)
			}
		}
	}
	return found
}

func (b *bundle) content(key string) string {
	switch b.Redis("TYPE", key) {
	case "string":
		return b.Redis("GET", key)
	case "hash":
		return b.Redis("HGETALL", key)
	case "list":
		return b.Redis("LRANGE", key, "0", "-1")
	case "set":
		return b.Redis("SMEMBERS", key)
	case "zset":
		return b.Redis("ZRANGE", key, "0", "-1")
	case "stream":
		var text strings.Builder
		entries, err := b.DB.Do(b.Ctx, b.DB.B().Xrange().Key(key).Start("-").End("+").Build()).AsXRange()
		if err != nil {
			b.T.Fatal(err)
		}
		for _, e := range entries {
			fmt.Fprintln(&text, e.FieldValues)
		}
		return text.String()
	}
	return ""
}

// names returns the key that has the name of a user.
func (b *bundle) names(u social.User) string {
	if b.DB.Mode() == rueidis.ClientModeCluster {
		return storage.BucketKey(storage.Bucket(u.Name))
	}
	return storage.UserNames
}

// wantGone fails if anything of a user is left except the name, which stays reserved.
func (b *bundle) wantGone(s scene) {
	b.T.Helper()
	for _, trace := range b.traces(s.zoe) {
		key, content, _ := strings.Cut(trace, " ")
		if key != b.names(s.zoe) || strings.Contains(content, fmt.Sprint(s.zoe.ID)) {
			b.T.Errorf("left: %.300s", trace)
		}
	}
	if got := b.Redis("HGET", b.names(s.zoe), strings.ToLower(s.zoe.Name)); got != "0" {
		b.T.Errorf("the name leads to %q", got)
	}
	for _, name := range []string{s.zoe.Name, strings.ToUpper(s.zoe.Name)} {
		if _, err := b.Accounts.Register(b.Ctx, name, "correct horse battery"); !errors.Is(err, social.ErrTaken) {
			b.T.Errorf("register %s: %v", name, err)
		}
		if _, err := b.Users.UserByName(b.Ctx, name); !errors.Is(err, social.ErrNotFound) {
			b.T.Errorf("%s: %v", name, err)
		}
	}
	if got := b.Redis("HMGET", fmt.Sprintf("post:%d", s.adasPost), "likes", "reposts", "replies"); got != "1 1 0" {
		b.T.Errorf("ada's post counts %q", got)
	}
}

func servers(t *testing.T, test func(t *testing.T, client rueidis.Client)) {
	socialtest.OnEach(t, func(t *testing.T, client rueidis.Client) {
		test(t, client)
	})
}

// After the deletion of an account no key mentions it, except for the name in `users`, and the rest
// of the network is consistent.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	servers(t, func(t *testing.T, client rueidis.Client) {
		b := on(t, client)
		s := newScene(b, 1)
		session, err := b.Auth.Login(b.Ctx, s.zoe.Name, "correct horse")
		if err != nil {
			t.Fatal(err)
		}
		if len(b.traces(s.zoe)) < 20 {
			t.Fatalf("the scene has too few traces: %q", b.traces(s.zoe))
		}
		if err := b.Leaving.DeleteAccount(b.Ctx, s.zoe.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Sessions.SessionUser(b.Ctx, session.Secret); !errors.Is(err, social.ErrNoSession) {
			t.Errorf("the session is still open: %v", err)
		}
		if _, err := b.Auth.Login(b.Ctx, s.zoe.Name, "correct horse"); err == nil {
			t.Error("a closed account logs in")
		}
		b.Clock.Advance(removal.Grace)
		if err := b.Leaving.FinishRemoval(b.Ctx, s.zoe.ID); err != nil {
			t.Fatal(err)
		}
		b.Eventually("the end of all tasks", func() bool { return b.Redis("ZCARD", "tasks") == "0" })
		b.finishJobs()
		b.wantGone(s)
		b.WantHealthy()
		if err := b.Leaving.DeleteAccount(b.Ctx, s.zoe.ID); !errors.Is(err, social.ErrNotFound) {
			t.Errorf("deleted again: %v", err)
		}
		viewer, err := b.Viewers.Get(b.Ctx, s.ada)
		if err != nil {
			t.Fatal(err)
		}
		if users, err := b.Completions.CompleteNames(b.Ctx, viewer, "zoe", 5); err != nil || len(users) != 0 {
			t.Errorf("completions: %v, %v", users, err)
		}
	})
}

// The account of an interrupted registration is deleted, and the account that has got the name
// keeps it.
func TestDeletedWithoutItsName(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.DB(t).Client(t))
	ada := b.NewUser("ada")
	const cut = 41
	b.Redis("HSET", storage.UserKey(cut), "username", "ada", "joined", "1700000000", "standing", "suspended")
	if err := b.Leaving.DeleteAccount(b.Ctx, cut); err != nil {
		t.Fatal(err)
	}
	b.Clock.Advance(removal.Grace)
	if err := b.Leaving.FinishRemoval(b.Ctx, cut); err != nil {
		t.Fatal(err)
	}
	if b.Redis("EXISTS", storage.UserKey(cut)) != "0" {
		t.Error("the account is not gone")
	}
	if user, err := b.Users.UserByName(b.Ctx, "ada"); err != nil || user.ID != ada.ID {
		t.Errorf("%+v, %v", user, err)
	}
	b.WantHealthy()
}
