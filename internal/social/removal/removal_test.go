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

// scene is a small network from which zoe is deleted. zoe has performed every kind of action, and
// has been the target of every kind of action.
type scene struct {
	zoe, ada, bob, cid social.User
	post, reply        int64 // by zoe: a post that ada replied to, and a reply to ada
	adasPost           int64 // by ada, liked and reposted by zoe
}

// firstTestID is a lower bound of the user IDs in a scene. No other number in a scene contains
// these IDs.
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
	deleted, err := b.Posts.Reply(b.Ctx, s.zoe, s.adasPost, "regretted")
	must(err)
	_, err = b.Posts.Reply(b.Ctx, s.bob, deleted.ID, "but answered")
	must(err)
	must(b.Posts.Delete(b.Ctx, s.zoe, deleted.ID))
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

// traces returns the keys that mention a user by ID or name, with their contents.
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

// content returns the value of a key as text.
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

// namesKey returns the key that holds the name of a user.
func (b *bundle) namesKey(u social.User) string {
	if b.DB.Mode() == rueidis.ClientModeCluster {
		return storage.BucketKey(storage.Bucket(u.Name))
	}
	return storage.UserNames
}

// wantGone checks that no trace of zoe is left except the name, which stays reserved.
func (b *bundle) wantGone(s scene) {
	b.T.Helper()
	for _, trace := range b.traces(s.zoe) {
		key, content, _ := strings.Cut(trace, " ")
		if key != b.namesKey(s.zoe) || strings.Contains(content, fmt.Sprint(s.zoe.ID)) {
			b.T.Errorf("trace of the deleted user: %.300s", trace)
		}
	}
	if got := b.Redis("HGET", b.namesKey(s.zoe), strings.ToLower(s.zoe.Name)); got != "0" {
		b.T.Errorf("the name belongs to user %q, want 0", got)
	}
	for _, name := range []string{s.zoe.Name, strings.ToUpper(s.zoe.Name)} {
		if _, err := b.Accounts.Register(b.Ctx, name, "correct horse battery"); !errors.Is(err, social.ErrTaken) {
			b.T.Errorf("Register(%s): %v, want ErrTaken", name, err)
		}
		if _, err := b.Users.UserByName(b.Ctx, name); !errors.Is(err, social.ErrNotFound) {
			b.T.Errorf("UserByName(%s): %v, want ErrNotFound", name, err)
		}
	}
	if got := b.Redis("HMGET", fmt.Sprintf("post:%d", s.adasPost), "likes", "reposts", "replies"); got != "1 1 0" {
		b.T.Errorf("counts of ada's post: %q, want 1 1 0", got)
	}
}

// servers runs a test on each kind of server.
func servers(t *testing.T, test func(t *testing.T, client rueidis.Client)) {
	socialtest.OnEach(t, func(t *testing.T, client rueidis.Client) {
		test(t, client)
	})
}

// After the deletion of an account, no key mentions the account except for the reserved name, and
// the rest of the network is consistent.
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
			t.Errorf("session after DeleteAccount: %v, want ErrNoSession", err)
		}
		if _, err := b.Auth.Login(b.Ctx, s.zoe.Name, "correct horse"); err == nil {
			t.Error("Login of a closed account succeeded")
		}
		b.Clock.Advance(removal.Grace)
		if err := b.Leaving.FinishRemoval(b.Ctx, s.zoe.ID); err != nil {
			t.Fatal(err)
		}
		b.Eventually("all tasks to end", func() bool { return b.Redis("ZCARD", "tasks") == "0" })
		b.finishJobs()
		b.wantGone(s)
		b.WantHealthy()
		if err := b.Leaving.DeleteAccount(b.Ctx, s.zoe.ID); !errors.Is(err, social.ErrNotFound) {
			t.Errorf("second DeleteAccount: %v, want ErrNotFound", err)
		}
		viewer, err := b.Viewers.Get(b.Ctx, s.ada)
		if err != nil {
			t.Fatal(err)
		}
		if users, err := b.Completions.CompleteNames(b.Ctx, viewer, "zoe", 5); err != nil || len(users) != 0 {
			t.Errorf("completions: %v, %v; want none", users, err)
		}
	})
}

// Deleting the account of an interrupted registration does not affect the account that has the same
// name.
func TestDeletedWithoutItsName(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.DB(t).Client(t))
	ada := b.NewUser("ada")
	const interrupted = 41 // a user ID
	b.Redis("HSET", storage.UserKey(interrupted), "username", "ada", "joined", "1700000000", "standing", "suspended")
	if err := b.Leaving.DeleteAccount(b.Ctx, interrupted); err != nil {
		t.Fatal(err)
	}
	b.Clock.Advance(removal.Grace)
	if err := b.Leaving.FinishRemoval(b.Ctx, interrupted); err != nil {
		t.Fatal(err)
	}
	if b.Redis("EXISTS", storage.UserKey(interrupted)) != "0" {
		t.Error("the account was not deleted")
	}
	if user, err := b.Users.UserByName(b.Ctx, "ada"); err != nil || user.ID != ada.ID {
		t.Errorf("UserByName(ada) = %+v, %v; want user %d", user, err, ada.ID)
	}
	b.WantHealthy()
}
