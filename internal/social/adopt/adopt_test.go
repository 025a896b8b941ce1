package adopt_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"retwis/internal/social"
	"retwis/internal/social/socialtest"
)

// php writes a database like the original PHP program: passwords and session secrets in clear text,
// user names as typed, and no profiles.
func php(b *bundle) {
	b.T.Helper()
	for i, name := range []string{"antirez", "Pippo", "PIPPO"} {
		uid := fmt.Sprint(i + 1)
		b.Redis("HSET", "users", name, uid)
		b.Redis("HSET", "user:"+uid, "username", name, "password", "pw"+uid, "auth", "fea5e81ac8ca77622bed1c2132a021f"+uid)
		b.Redis("HSET", "auths", "fea5e81ac8ca77622bed1c2132a021f"+uid, uid)
		b.Redis("ZADD", "users_by_time", fmt.Sprint(1_400_000_000+i), name)
	}
	b.Redis("SET", "next_user_id", "3")
	b.Redis("ZADD", "following:1", "1400000100", "2")
	b.Redis("ZADD", "followers:2", "1400000100", "1")
	for i := 1; i <= 30; i++ {
		pid, author := fmt.Sprint(i), fmt.Sprint(i%2+1)
		b.Redis("HSET", "post:"+pid, "user_id", author, "time", fmt.Sprint(1_400_000_200+i), "body", "old post "+pid)
		b.Redis("LPUSH", "posts:"+author, pid)
		if author == "2" {
			b.Redis("LPUSH", "posts:1", pid)
		}
		b.Redis("LPUSH", "timeline", pid)
	}
	b.Redis("SET", "next_post_id", "30")
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	php(b)
	var finished bool
	if err := b.Adoption().Adopt(b.Ctx, func(done, total int64) { finished = done == total }); err != nil {
		t.Fatal(err)
	}
	if !finished {
		t.Error("the last progress was below the total")
	}

	for name, want := range map[string]int64{"antirez": 1, "ANTIREZ": 1, "Pippo": 2, "PIPPO": 3} {
		if user, err := b.Users.UserByName(b.Ctx, name); err != nil || user.ID != want {
			t.Errorf("UserByName(%s) = %+v, %v, want user %d", name, user, err, want)
		}
	}
	user, err := b.Users.UserByName(b.Ctx, "antirez")
	if err != nil || user.Joined.Unix() != 1_400_000_000 {
		t.Errorf("antirez = %+v, %v", user, err)
	}
	if _, err := b.Accounts.Register(b.Ctx, "AntiRez", socialtest.Password); !errors.Is(err, social.ErrTaken) {
		t.Errorf("Register of an old name in another case: %v, want ErrTaken", err)
	}
	// Profiles, timelines and follows are complete.
	for uid, newest := range map[int64]int64{1: 30, 2: 29} {
		page, err := b.Timelines.Profile(b.Ctx, uid, 0, 20)
		if err != nil || len(page.IDs) != 15 || page.IDs[0] != newest {
			t.Errorf("profile of %d: %v, %v; want 15 posts from %d", uid, page.IDs, err, newest)
		}
	}
	if page, err := b.Timelines.Everybody(b.Ctx, 0, 50); err != nil || len(page.IDs) != 30 {
		t.Errorf("everybody: %v, %v; want 30 posts", page.IDs, err)
	}
	posts, err := b.Posts.Posts(b.Ctx, 7)
	if err != nil || posts[0].Body != "old post 7" || posts[0].Author.Name != "Pippo" || posts[0].Time.Unix() != 1_400_000_207 {
		t.Errorf("post 7 = %+v, %v", posts, err)
	}
	if follows, err := b.Follows.IsFollowing(b.Ctx, 1, 2); err != nil || !follows {
		t.Errorf("IsFollowing(antirez, Pippo) = %t, %v; want true", follows, err)
	}

	// The old cookie is rejected. The old password is accepted and then stored as a hash.
	if _, err := b.Sessions.SessionUser(b.Ctx, "fea5e81ac8ca77622bed1c2132a021f1"); !errors.Is(err, social.ErrNoSession) {
		t.Errorf("an old secret: %v, want ErrNoSession", err)
	}
	if _, err := b.Auth.Login(b.Ctx, "antirez", "pw2"); !errors.Is(err, social.ErrBadLogin) {
		t.Errorf("log-in with the password of another user: %v, want ErrBadLogin", err)
	}
	for range 2 {
		session, err := b.Auth.Login(b.Ctx, "antirez", "pw1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Sessions.SessionUser(b.Ctx, session.Secret); err != nil {
			t.Error(err)
		}
		if phc := b.Redis("HGET", "user:1", "password"); !strings.HasPrefix(phc, "$argon2id$") {
			t.Errorf("the password is stored as %q, want an argon2id hash", phc)
		}
	}
	if exists := b.Redis("EXISTS", "auths"); exists != "0" || strings.Contains(b.Redis("HGET", "user:1", "auth"), "fea5e81ac8ca77622bed1c2132a021f1") {
		t.Error("an old secret was not deleted")
	}
	// New posts come first.
	pid := b.Publish(user, "a new one")
	home, err := b.Timelines.Home(b.Ctx, 1, 0, 3)
	if err != nil || !slices.Equal(home.IDs, []int64{pid, 30, 29}) || pid != 31 {
		t.Errorf("home = %v, %v", home, err)
	}
	b.WantHealthy()
	// A second Adopt has nothing to do.
	if err := b.Adoption().Adopt(b.Ctx, func(int64, int64) { t.Error("Adopt converted the database again") }); err != nil {
		t.Error(err)
	}
}

// Adopt sets missing counters past the IDs in use.
func TestAdoptWithoutCounters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	php(b)
	b.Redis("DEL", "next_user_id")
	b.Redis("DEL", "next_post_id")
	if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
		t.Fatal(err)
	}
	user := b.NewUser("newcomer")
	if pid := b.Publish(user, "first"); user.ID != 4 || pid != 31 {
		t.Errorf("user %d and post %d, want 4 and 31", user.ID, pid)
	}
	b.WantHealthy()
}

func TestAdoptRefusesOtherVersions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, version := range []string{"2", "3", "1 ring"} {
		b.Redis("SET", "layout_version", version)
		if err := b.Adoption().Adopt(b.Ctx, nil); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("has layout %q", version)) {
			t.Errorf("layout %s: %v, want an error with the layout", version, err)
		}
	}
}
