package adopt_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/adopt"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/timeline"
)

// article writes the database of the case study of 2009 with its own values,
// and a few entries as its programs would have added.
func article(b *bundle) {
	b.T.Helper()
	const secret = "fea5e81ac8ca77622bed1c2132a021f9"
	for _, command := range [][]string{
		{"SET", "global:nextUserId", "1001"},
		{"SET", "uid:1000:username", "antirez"},
		{"SET", "uid:1000:password", "p1pp0"},
		{"SET", "uid:1000:auth", secret},
		{"SET", "username:antirez:uid", "1000"},
		{"SET", "auth:" + secret, "1000"},
		{"SET", "uid:1001:username", "pippo"},
		{"SET", "uid:1001:password", "s3cret"},
		{"SET", "username:pippo:id", "1001"}, // as login.php has it
		{"SADD", "uid:1000:following", "1001"},
		{"SADD", "uid:1001:followers", "1000"},
		{"SET", "global:nextPostId", "10344"},
		{"SET", "post:10343", "1000|1258000000|I'm having fun with Retwis"},
		{"SET", "post:10344", "1001|1258000060|a|b||c"},
		{"LPUSH", "uid:1000:posts", "10343", "10344"},
		{"LPUSH", "uid:1001:posts", "10344"},
		{"LPUSH", "global:timeline", "10343", "10344"},
	} {
		b.Redis(command...)
	}
}

func TestAdopt2009(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]*bundle{
		"single":  setup(t),
		"cluster": on(t, redistest.Cluster(t, 3).Client(t)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			article(b)
			var told bool
			if err := b.Adoption().Adopt(b.Ctx, func(done, total int64) { told = done == total }); err != nil {
				t.Fatal(err)
			}
			if !told {
				t.Error("the progress did not reach its end")
			}
			b.WantHealthy()
			b.wantArticle()

			// The counters continue, and everything else works.
			newcomer := b.NewUser("newcomer")
			antirez, err := b.Users.UserByName(b.Ctx, "Antirez")
			if err != nil {
				t.Fatal(err)
			}
			b.Connect(newcomer, antirez)
			if pid := b.Publish(antirez, "back again"); newcomer.ID != 1002 || pid != 10345 {
				t.Errorf("user %d and post %d, want 1002 and 10345", newcomer.ID, pid)
			}
			if _, err := b.Accounts.Register(b.Ctx, "ANTIREZ", socialtest.Password); !errors.Is(err, social.ErrTaken) {
				t.Errorf("an old name in another case: %v, want ErrTaken", err)
			}
			latest, err := b.Users.LatestUsers(b.Ctx, &social.Viewer{}, 9)
			if err != nil || !slices.EqualFunc(latest, []string{"newcomer", "pippo", "antirez"}, func(user social.User, name string) bool { return user.Name == name }) {
				t.Errorf("latest users = %+v, %v", latest, err)
			}
			b.WantHealthy()
			if err := b.Adoption().Adopt(b.Ctx, func(int64, int64) { t.Error("the database was scanned again") }); err != nil {
				t.Error(err)
			}
		})
	}
}

// wantArticle checks the content of the article's database.
func (b *bundle) wantArticle() {
	t := b.T
	t.Helper()
	user, err := b.Users.UserByName(b.Ctx, "ANTIREZ")
	if err != nil || user.ID != 1000 || user.Name != "antirez" || !user.Joined.IsZero() {
		t.Errorf("antirez = %+v, %v", user, err)
	}
	for which, page := range map[string]func() (timeline.Page, error){
		"home":      func() (timeline.Page, error) { return b.Timelines.Home(b.Ctx, 1000, 0, 10) },
		"everybody": func() (timeline.Page, error) { return b.Timelines.Everybody(b.Ctx, 0, 10) },
	} {
		if got, err := page(); err != nil || !slices.Equal(got.IDs, []int64{10344, 10343}) {
			t.Errorf("%s = %v, %v", which, got, err)
		}
	}
	if got, err := b.Timelines.Profile(b.Ctx, 1001, 0, 10); err != nil || !slices.Equal(got.IDs, []int64{10344}) {
		t.Errorf("the profile of pippo = %v, %v", got, err)
	}
	posts, err := b.Posts.Posts(b.Ctx, 10343, 10344)
	if err != nil || len(posts) != 2 {
		t.Fatalf("posts = %+v, %v", posts, err)
	}
	if posts[0].Body != "I'm having fun with Retwis" || posts[0].Author.Name != "antirez" || posts[0].Time.Unix() != 1258000000 || posts[1].Body != "a|b||c" {
		t.Errorf("posts = %+v", posts)
	}
	if follows, err := b.Follows.IsFollowing(b.Ctx, 1000, 1001); err != nil || !follows {
		t.Errorf("antirez follows pippo: %t, %v", follows, err)
	}
	// The old secret opens nothing, the old password does, and becomes a hash.
	if _, err := b.Sessions.SessionUser(b.Ctx, "fea5e81ac8ca77622bed1c2132a021f9"); !errors.Is(err, social.ErrNoSession) {
		t.Errorf("an old secret: %v, want ErrNoSession", err)
	}
	for _, wrong := range []string{"s3cret", "", "P1PP0"} {
		if _, err := b.Auth.Login(b.Ctx, "antirez", wrong); !errors.Is(err, social.ErrBadLogin) {
			t.Errorf("password %q: %v, want ErrBadLogin", wrong, err)
		}
	}
	if _, err := b.Auth.Login(b.Ctx, "antirez", "p1pp0"); err != nil {
		t.Error(err)
	}
	if phc := b.Redis("HGET", "user:1000", "password"); !strings.HasPrefix(phc, "$argon2id$") {
		t.Errorf("the password is still %q", phc)
	}
	// The old keys are still there.
	for key, want := range map[string]string{
		"uid:1000:username":                          "antirez",
		"legacy:post:10343":                          "1000|1258000000|I'm having fun with Retwis",
		"global:nextPostId":                          "10344",
		"username:pippo:id":                          "1001",
		"global:timeline":                            "",
		"uid:1001:followers":                         "",
		"legacy:state":                               "converted",
		"auth:" + "fea5e81ac8ca77622bed1c2132a021f9": "1000",
	} {
		if want == "" {
			if b.Redis("EXISTS", key) != "1" {
				t.Errorf("%s is gone", key)
			}
		} else if got := b.Redis("GET", key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
}

// Processes that start at once all open the database, and assign the next id once.
func TestAdopt2009AtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	article(b)
	for uid := 2000; uid < 2200; uid++ {
		b.Redis("SET", fmt.Sprintf("uid:%d:username", uid), fmt.Sprintf("user%d", uid))
		b.Redis("SADD", fmt.Sprintf("uid:%d:following", uid), "1000")
		b.Redis("SADD", "uid:1000:followers", strconv.Itoa(uid))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b.wantArticle()
	if got := b.Redis("GET", "next_user_id"); got != "2199" {
		t.Errorf("next_user_id = %s, want 2199", got)
	}
	if result := b.WantHealthy(); result.Users != 202 || result.Follows != 201 {
		t.Errorf("check = %+v", result)
	}
}

// Writes to a database that one process serves already are not undone by another
// that is still converting it.
func TestAdopt2009Late(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]*bundle{
		"single":  setup(t),
		"cluster": on(t, redistest.Cluster(t, 3).Client(t)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			article(b)
			calls := 0
			err := b.Adoption().Adopt(b.Ctx, func(int64, int64) {
				// Users and posts are converted; follows come next.
				if calls++; calls != map[string]int{"single": 3, "cluster": 7}[name] {
					return
				}
				if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
					t.Error(err)
				}
				b.wantArticle()
				if err := b.Follows.Unfollow(b.Ctx, social.User{ID: 1000}, social.User{ID: 1001}); err != nil {
					t.Error(err)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if calls < 3 {
				t.Errorf("only %d steps", calls)
			}
			if follows, err := b.Follows.IsFollowing(social.WithFresh(b.Ctx), 1000, 1001); err != nil || follows {
				t.Errorf("a follow that was ended is back: %t, %v", follows, err)
			}
			b.WantHealthy()
		})
	}
}

// Damaged entries are skipped, and everything else is converted.
func TestAdopt2009Damaged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	article(b)
	for _, command := range [][]string{
		{"SET", "uid:7:password", "nameless"},
		{"LPUSH", "uid:8:username", "a list"},
		{"SET", "uid:9:username", ""},
		{"SET", "uid:10:username", strings.Repeat("x", 300)},
		{"SET", "uid:11:username", "bell\a"},
		{"SET", "uid:x:username", "not a number"},
		{"SET", "uid:99999999999999999:username", "too large"},
		{"SET", "uid:12:username", "antirez"}, // the name leads to 1000
		{"SET", "uid:12:password", "intruder"},
		{"SET", "uid:13:username", "Pippo"}, // another case of a name
		{"SET", "uid:13:password", "other"},
		{"SET", "uid:14:username", "José the 1st."}, // nobody could register so today
		{"SET", "uid:14:password", "olé"},
		{"SADD", "uid:77:following", "1000"},
		{"SADD", "uid:1000:followers", "77", "x", "1000", "14"}, // 14 follows, but does not know it
		{"SET", "uid:1001:following", "a string"},
		{"SET", "post:1", "no bars"},
		{"SET", "post:2", "1000|one bar"},
		{"SET", "post:3", "1000|yesterday|bad time"},
		{"SET", "post:4", "55|1258000000|by nobody"},
		{"SET", "post:5", "1000|1258000000|" + strings.Repeat("x", 300<<10)},
		{"LPUSH", "post:6", "a list"},
		{"SET", "post:20000", "x"}, // beyond the counter
		{"RPUSH", "uid:1000:posts", "1", "6", "99", "x", "10343"},
		{"RPUSH", "global:timeline", "4", "10343", "10344"},
	} {
		b.Redis(command...)
	}
	if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
		t.Fatal(err)
	}
	b.wantArticle()
	for _, login := range []struct {
		name, password string
		want           int64
	}{{"Pippo", "other", 13}, {"pippo", "s3cret", 1001}, {"josé the 1st.", "olé", 14}} {
		session, err := b.Auth.Login(b.Ctx, login.name, login.password)
		if err != nil || session.User.ID != login.want {
			t.Errorf("log in as %s: %+v, %v, want user %d", login.name, session.User, err, login.want)
		}
	}
	if users := b.Redis("HLEN", "users"); users != "5" { // antirez, pippo, Pippo, José and josé
		t.Errorf("users has %s names: %s", users, b.Redis("HGETALL", "users"))
	}
	if got := b.Redis("ZRANGE", "following:14", "0", "-1"); got != "1000" {
		t.Errorf("14 follows %q: what one side knew is not completed", got)
	}
	if got := b.Redis("ZRANGE", "followers:1000", "0", "-1"); got != "14" {
		t.Errorf("the followers of 1000 are %q", got)
	}
	if got := b.Redis("GET", "post:3"); got != "1000|yesterday|bad time" {
		t.Errorf("a post that cannot be read is %q now", got)
	}
	if pid := b.Publish(social.User{ID: 1000, Name: "antirez"}, "new"); pid != 20001 {
		t.Errorf("the next post is %d, want 20001", pid)
	}
}

// A site that was started before the old keys were converted is served as it is;
// a site of 2014 together with one of 2009 is refused.
func TestAdoptTwoSites(t *testing.T) {
	t.Parallel()
	b := setup(t)
	php(b)
	article(b)
	if err := b.Adoption().Adopt(b.Ctx, nil); !errors.Is(err, adopt.ErrTwoSites) || !strings.Contains(err.Error(), "global:nextUserId") {
		t.Errorf("two layouts: %v, want ErrTwoSites", err)
	}
	b.Redis("SET", "layout_version", "2")
	if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
		t.Error(err)
	}
	if beside, err := b.Adoption().NotConverted(b.Ctx); !errors.Is(err, adopt.ErrNotConverted) || !beside {
		t.Errorf("NotConverted = %t, %v", beside, err)
	}
}

// The old counters can be lost: users are found by their keys.
func TestAdopt2009WithoutCounters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	article(b)
	for _, key := range []string{"global:nextUserId", "global:nextPostId", "global:timeline"} {
		b.Redis("DEL", key)
	}
	if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
		t.Fatal(err)
	}
	newcomer := b.NewUser("newcomer")
	if pid := b.Publish(newcomer, "first"); newcomer.ID != 1002 || pid != 10345 {
		t.Errorf("user %d and post %d, want 1002 and 10345", newcomer.ID, pid)
	}
	b.WantHealthy()
}

func TestAdoptForeign(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		keys [][]string
		want string
	}{
		"empty":               {nil, ""},
		"locks":               {[][]string{{"SET", "redlock:token:{x}", "1"}, {"HSET", "redlock:boot", "run", "x"}}, ""},
		"an index":            {[][]string{{"ZADD", "ages", "0", "x"}, {"HSET", "ages.meta", "kind", "x"}, {"HSET", "ages.content", "1", "x"}}, ""},
		"a spread index":      {[][]string{{"ZADD", "{ages.0}", "0", "x"}, {"HSET", "{ages.0}.meta", "kind", "x"}, {"HSET", "{ages.0}.next.content", "1", "x"}}, ""},
		"a model":             {[][]string{{"HSET", "person:1", "n", "x"}, {"HSET", "person.meta", "kind", "x"}, {"SET", "next_person_id", "1"}, {"ZADD", "person.by.age", "0", "x"}}, ""},
		"a shop":              {[][]string{{"HSET", "cart:17", "apples", "2"}}, `"cart:17" (hash)`},
		"users of a shop":     {[][]string{{"HSET", "user:1", "mail", "x"}}, `"user:1" (hash)`},
		"a shop and an index": {[][]string{{"HSET", "ages.meta", "kind", "x"}, {"SET", "stock", "2"}}, `"stock" (string)`},
		"names without users": {[][]string{{"HSET", "users", "bob", "{}"}}, `"users" (hash)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			for _, command := range test.keys {
				b.Redis(command...)
			}
			err := b.Adoption().Adopt(b.Ctx, nil)
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				// The site's first keys do not count as those of another program.
				b.Redis("SET", "anything", "x")
			} else {
				if !errors.Is(err, adopt.ErrForeign) || !strings.Contains(err.Error(), test.want) {
					t.Fatalf("Adopt = %v, want ErrForeign with %s", err, test.want)
				}
				if got := b.Redis("EXISTS", "layout_owner"); got != "0" {
					t.Error("a refused database was written to")
				}
				if err := b.Adoption().Share(b.Ctx); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
				t.Error(err)
			}
		})
	}
}
