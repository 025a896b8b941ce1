package users_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/check"
	"retwis/internal/social/layout"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/users"
)

func TestMain(m *testing.M) { redistest.Main(m) }

type bundle struct{ *socialtest.Bundle }

func onCluster(t *testing.T) *bundle {
	return &bundle{socialtest.On(t, redistest.Cluster(t, 3).Client(t))}
}

func (b *bundle) do(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

// again is another process of this version on the same database.
func (b *bundle) again(client rueidis.Client) *app.App {
	s, err := app.New(client, app.Options{Logger: socialtest.Quiet(), Now: b.Clock.Now, HashParams: socialtest.CheapHash})
	b.do(err)
	b.T.Cleanup(func() { s.Close() })
	return s
}

// old gives an empty Cluster the layout that an earlier version wrote, with users and a
// session of each, and returns their secrets. That version registered like this.
func (b *bundle) old(names ...string) map[string]string {
	b.Redis("SET", "layout_version", layout.Version)
	secrets := map[string]string{}
	for _, name := range names {
		session, err := b.Accounts.Register(b.Ctx, name, socialtest.Password)
		b.do(err)
		secrets[name] = session.Secret
		b.Redis("DEL", layout.BucketKey(users.Bucket(name)))
	}
	return secrets
}

// oldProcess registers a name as a process of an earlier version does, and reports
// whether it could.
func (b *bundle) oldProcess(uid int64, name string) bool {
	b.T.Helper()
	id := fmt.Sprint(uid)
	b.Redis("HSET", "user:"+id, "username", name, "password", "x", "joined", "1700000000")
	err := b.DB.Do(b.Ctx, b.DB.B().Hsetnx().Key(layout.Users).Field(layout.Fold(name)).Value(id).Build()).Error()
	if err != nil && !strings.Contains(err.Error(), "WRONGTYPE") {
		b.T.Fatal(err)
	}
	if err != nil {
		b.Redis("DEL", "user:"+id)
		return false
	}
	b.Redis("ZADD", layout.UsersByTime, "1700000000", name)
	b.Redis("SET", layout.NextUserID, id)
	return true
}

func (b *bundle) wantFound(s *app.App, names ...string) {
	b.T.Helper()
	for _, name := range names {
		user, err := s.Users.UserByName(social.WithFresh(b.Ctx), name)
		if err != nil || user.Name != name {
			b.T.Errorf("%s: %v, %v", name, user, err)
		}
	}
}

// The names of the documentation: docs/keys.md has the first one.
func TestBucket(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"antirez": 893, "ANTIREZ": 893, "a": 3651} {
		if got := users.Bucket(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	counts := map[int]int{}
	for i := range 100 * layout.Buckets {
		counts[users.Bucket(fmt.Sprint("user", i))]++
	}
	for bucket, n := range counts {
		if n < 50 || n > 150 {
			t.Errorf("bucket %d has %d names, 100 expected", bucket, n)
		}
	}
}

// All yields the names of small buckets and of one that is read in steps.
func TestAll(t *testing.T) {
	t.Parallel()
	b := onCluster(t)
	b.do(b.Adoption().Adopt(b.Ctx, nil))
	const large = 600
	for i := range large {
		b.Redis("HSET", layout.BucketKey(7), fmt.Sprint("large", i), "1")
	}
	b.Redis("HSET", layout.BucketKey(layout.Buckets-1), "small", "2")
	names := map[string]bool{}
	for page, err := range b.Directory().All(b.Ctx, 50) {
		b.do(err)
		for i := 0; i < len(page.Names); i += 2 {
			names[page.Key+" "+page.Names[i]] = true
		}
	}
	if len(names) != large+1 || !names[layout.BucketKey(layout.Buckets-1)+" small"] {
		t.Errorf("%d names", len(names))
	}
}

// An empty Cluster begins with its layout.
func TestEmptyCluster(t *testing.T) {
	t.Parallel()
	b := onCluster(t)
	if empty, err := b.Users.Empty(b.Ctx); err != nil || !empty {
		t.Errorf("an empty Cluster: %v, %v", empty, err)
	}
	if err := b.Directory().Move(b.Ctx, nil); !errors.Is(err, users.ErrNoSite) {
		t.Errorf("a layout without a site: %v", err)
	}
	b.do(b.Adoption().Adopt(b.Ctx, nil))
	session, err := b.Accounts.Register(b.Ctx, "Ada", socialtest.Password)
	b.do(err)
	for got, want := range map[string]string{
		b.Redis("GET", "layout_version"):                                           "3",
		b.Redis("HGET", layout.BucketKey(users.Bucket("ada")), "ada"):              "1",
		b.Redis("TYPE", "users"):                                                   "string",
		b.Redis("EXISTS", "auths") + b.Redis("ZRANGE", "users_by_time", "0", "-1"): "0Ada",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if !strings.HasPrefix(session.Secret, "1.") {
		t.Errorf("the secret of a session of user 1 is %q", session.Secret)
	}
	if b.oldProcess(9, "bob") {
		t.Error("a process of an earlier version could register a user")
	}
	if empty, err := b.Users.Empty(b.Ctx); err != nil || empty {
		t.Errorf("a Cluster with a user: %v, %v", empty, err)
	}
	b.wantFound(b.again(b.DB), "Ada")
	b.WantHealthy()
}

// Processes of this version and of an earlier one find each other's users until the
// layout changes, and never share a name.
func TestBothVersions(t *testing.T) {
	t.Parallel()
	b := onCluster(t)
	secrets := b.old("Ada", "bob")
	if strings.Contains(secrets["Ada"], ".") {
		t.Error("an earlier version cannot read this cookie")
	}
	if !b.oldProcess(100, "Eve") {
		t.Fatal("an earlier version cannot register")
	}
	b.wantFound(b.again(b.DB), "Ada", "bob", "Eve")
	if _, err := b.Accounts.Register(b.Ctx, "EVE", socialtest.Password); !errors.Is(err, social.ErrTaken) {
		t.Errorf("a name of an earlier version was taken again: %v", err)
	}
	b.NewUser("Zoe")
	if id := b.Redis("HGET", "users", "zoe"); id == "" {
		t.Error("an earlier version does not see a new user")
	}
	if b.Redis("HSETNX", "users", "zoe", "7") != "0" {
		t.Error("an earlier version could take the name of a new user")
	}
	b.WantHealthy()
}

// The change of the layout is interrupted after each of its commands, while users
// register with both versions. Nobody is lost, nobody is logged out, no name has two
// users, and the next change finishes it.
func TestMoveKilled(t *testing.T) {
	t.Parallel()
	stride := int64(3)
	if redistest.Long {
		stride = 1
	}
	b := onCluster(t)
	for cut, round := int64(0), 0; ; cut, round = cut+stride, round+1 {
		b.flush()
		secrets := b.old("Ada", "bob", "carl")
		b.DB.Do(b.Ctx, b.DB.B().Hset().Key("users").FieldValue().FieldValue("Ada", "1").Build()) // as it was typed
		process := socialtest.Dying(b.DB, cut)
		err := users.NewDirectory(process).Move(b.Ctx, nil)
		ended := err == nil && process.Left() > 0
		mid := b.again(b.DB)
		b.wantFound(mid, "Ada", "bob", "carl")
		names := []string{"Ada", "bob", "carl"}
		if b.oldProcess(100, "Late") {
			names = append(names, "Late")
		}
		if _, err := mid.Accounts.Register(b.Ctx, "ADA", socialtest.Password); !errors.Is(err, social.ErrTaken) {
			t.Errorf("killed after %d: a name could be taken again: %v", cut, err)
		}
		_, err = mid.Accounts.Register(b.Ctx, "Late", socialtest.Password)
		if want := len(names) == 4; errors.Is(err, social.ErrTaken) != want {
			t.Errorf("killed after %d: a new name: %v", cut, err)
		}
		b.do(b.Directory().Move(b.Ctx, nil))
		state, err := b.Directory().State(b.Ctx)
		if err != nil || !state.Done() {
			t.Errorf("killed after %d: %+v, %v", cut, state, err)
		}
		after := b.again(b.DB)
		b.wantFound(after, append(names, "Late")...)
		for name, secret := range secrets {
			user, err := after.Sessions.SessionUser(b.Ctx, secret)
			if err != nil || user.Name != name {
				t.Errorf("killed after %d: the session of %s: %v, %v", cut, name, user, err)
			}
		}
		if _, err := check.Verify(b.Ctx, after, check.Options{Report: func(p check.Problem) {
			t.Errorf("killed after %d: %v", cut, p)
		}}); err != nil {
			t.Fatal(err)
		}
		if t.Failed() || ended {
			break
		}
	}
}

// flush removes all keys of a Cluster.
func (b *bundle) flush() {
	for _, node := range b.DB.Nodes() {
		b.do(node.Do(b.Ctx, node.B().Flushall().Build()).Error())
	}
}

// Users register in several processes of both versions while two processes change the
// layout: each name has one user, found by everybody.
func TestMoveUnderLoad(t *testing.T) {
	t.Parallel()
	b := onCluster(t)
	b.old("Ada")
	var wg sync.WaitGroup
	var mu sync.Mutex
	registered := map[string]int64{} // by folded name
	note := func(name string, uid int64) {
		mu.Lock()
		defer mu.Unlock()
		if other := registered[layout.Fold(name)]; other != 0 {
			t.Errorf("%s belongs to %d and to %d", name, other, uid)
		}
		registered[layout.Fold(name)] = uid
	}
	moved := make(chan struct{})
	for worker := range 4 {
		s := b.again(b.DB)
		wg.Go(func() {
			for i, after := 0, 0; after < 20; i++ {
				select {
				case <-moved:
					after++
				default:
				}
				name := fmt.Sprintf("user%d", (worker%2*7+i)%200) // two workers want the same
				session, err := s.Accounts.Register(b.Ctx, name, socialtest.Password)
				if err == nil {
					note(name, session.User.ID)
				} else if !errors.Is(err, social.ErrTaken) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	wg.Go(func() { // a process of an earlier version
		for i := range 200 {
			uid := int64(100_000 + i)
			name := fmt.Sprintf("user%d", i)
			id := fmt.Sprint(uid)
			b.DB.Do(b.Ctx, b.DB.B().Hset().Key("user:"+id).FieldValue().FieldValue("username", name).Build())
			took, err := b.DB.Do(b.Ctx, b.DB.B().Hsetnx().Key("users").Field(name).Value(id).Build()).AsBool()
			if err == nil && took {
				note(name, uid)
				continue
			}
			b.DB.Do(b.Ctx, b.DB.B().Del().Key("user:"+id).Build())
		}
	})
	var movers sync.WaitGroup
	for range 2 {
		movers.Go(func() {
			if err := users.NewDirectory(b.DB).Move(b.Ctx, nil); err != nil {
				t.Error(err)
			}
		})
	}
	movers.Wait()
	close(moved)
	wg.Wait()
	after := b.again(b.DB)
	for name, uid := range registered {
		user, err := after.Users.UserByName(b.Ctx, name)
		if err != nil || user.ID != uid {
			t.Errorf("%s: user %d, %v; registered as %d", name, user.ID, err, uid)
		}
	}
	if len(registered) < 20 {
		t.Errorf("only %d users", len(registered))
	}
}

// Sessions from before the change stay open until they end, under both forms of their
// secret; what ends sessions ends them.
func TestSessionsOfAnEarlierLayout(t *testing.T) {
	t.Parallel()
	b := onCluster(t)
	secrets := b.old("Ada")
	b.do(b.Directory().Move(b.Ctx, nil))
	s := b.again(b.DB)
	old := secrets["Ada"]
	renewed, err := s.Sessions.RenewedSecret(b.Ctx, 1, old)
	if err != nil || renewed != "1."+old {
		t.Fatalf("renewed as %q, %v", renewed, err)
	}
	fresh, err := s.Auth.Login(b.Ctx, "ada", socialtest.Password)
	b.do(err)
	if n := b.Redis("HLEN", "auths"); n != "1" {
		t.Errorf("auths has %s entries", n)
	}
	for _, process := range []*app.App{s, b.again(b.DB)} {
		for _, secret := range []string{old, renewed, fresh.Secret} {
			if user, err := process.Sessions.SessionUser(b.Ctx, secret); err != nil || user.ID != 1 {
				t.Errorf("%.5s: %v", secret, err)
			}
		}
		for _, secret := range []string{"2" + renewed[1:], "01" + renewed[1:], "." + old, "1." + old[1:], "1.1." + old} {
			if _, err := process.Sessions.SessionUser(b.Ctx, secret); !errors.Is(err, social.ErrNoSession) {
				t.Errorf("%.5s opened a session: %v", secret, err)
			}
		}
	}
	if _, err := b.again(b.DB).Sessions.SessionUser(b.Ctx, fresh.Secret[2:]); !errors.Is(err, social.ErrNoSession) {
		t.Errorf("a new session is open without its user: %v", err)
	}
	b.WantHealthy()
	for _, key := range []string{"user:1", "sessions:{user:1}"} {
		if strings.Contains(b.Redis("HGETALL", key), old) || strings.Contains(b.Redis("HGETALL", key), fresh.Secret[2:]) {
			t.Errorf("%s holds a secret", key)
		}
	}
	b.do(s.Sessions.LogoutOthers(b.Ctx, 1, fresh.Secret))
	other := b.again(b.DB)
	for secret, want := range map[string]error{old: social.ErrNoSession, renewed: social.ErrNoSession, fresh.Secret: nil} {
		if _, err := other.Sessions.SessionUser(b.Ctx, secret); !errors.Is(err, want) {
			t.Errorf("%.5s: %v", secret, err)
		}
	}
	if n := b.Redis("EXISTS", "auths"); n != "0" {
		t.Errorf("auths is left: %s", b.Redis("HGETALL", "auths"))
	}
}

// `users_by_time` keeps the latest; all others are listed too, each once.
func TestLatest(t *testing.T) {
	t.Parallel()
	b := onCluster(t)
	b.old("first")
	const more = 30
	var cmds rueidis.Commands
	for i := range users.MaxLatest + more {
		cmds = append(cmds, b.DB.B().Zadd().Key(layout.UsersByTime).ScoreMember().ScoreMember(float64(1_700_000_001+i), fmt.Sprint("u", i)).Build())
		if i < more {
			uid := fmt.Sprint(1000 + i)
			cmds = append(cmds, b.DB.B().Hset().Key("user:"+uid).FieldValue().FieldValue("username", "u"+fmt.Sprint(i)).
				FieldValue("joined", fmt.Sprint(1_700_000_001+i)).FieldValue("password", "x").Build(),
				b.DB.B().Hset().Key("users").FieldValue().FieldValue("u"+fmt.Sprint(i), uid).Build())
		}
	}
	for _, res := range b.DB.DoMulti(b.Ctx, cmds...) {
		b.do(res.Error())
	}
	b.do(b.Directory().Move(b.Ctx, nil))
	if n := b.Redis("ZCARD", layout.UsersByTime); n != fmt.Sprint(users.MaxLatest) {
		t.Fatalf("%s users by time", n)
	}
	b.Clock.Advance(1_000_000_000_000) // a second beyond all others
	last := b.NewUser("last")
	if n := b.Redis("ZCARD", layout.UsersByTime); n != fmt.Sprint(users.MaxLatest) {
		t.Fatalf("%s users by time after another", n)
	}
	seen := map[int64]int{}
	for page, err := range b.Users.AllUsers(b.Ctx) {
		b.do(err)
		for _, user := range page {
			seen[user.ID]++
		}
	}
	if len(seen) != more+2 || seen[last.ID] != 1 || seen[1] != 1 {
		t.Errorf("%d users are listed: %v", len(seen), seen)
	}
}

// A single server that has loaded the keys of a Cluster gets the layout of the tutorial,
// whatever interrupts it; sessions stay open.
func TestGatherKilled(t *testing.T) {
	t.Parallel()
	stride := int64(311) // the buckets alone are 4,096 commands
	if redistest.Long {
		stride = 17
	}
	b := &bundle{socialtest.New(t)}
	for cut := int64(0); ; cut += stride {
		b.do(b.DB.Do(b.Ctx, b.DB.B().Flushdb().Build()).Error())
		b.all(
			"SET layout_version 3", "SET next_user_id 2",
			"HSET users:"+fmt.Sprint(users.Bucket("ada"))+" ada 1", "HSET users:"+fmt.Sprint(users.Bucket("gone"))+" gone 0",
			"HSET {users}:moved bob 2",
			"HSET user:2 username bob joined 1700000002 password x",
			"ZADD users_by_time 1700000002 bob",
		)
		b.do(b.DB.Do(b.Ctx, b.DB.B().Set().Key("users").Value(layout.UsersMoved).Build()).Error())
		secret := strings.Repeat("s", 43)
		token, _ := auth.SessionToken(secret)
		b.all("HSET user:1 username Ada joined 1700000001 password x auth " + token)
		process := socialtest.Dying(b.DB, cut)
		err := users.NewDirectory(process).Gather(b.Ctx, func(int64, int64) {})
		ended := err == nil && process.Left() > 0
		b.do(b.Adoption().Adopt(b.Ctx, nil))
		after := b.again(b.DB)
		b.wantFound(after, "Ada", "bob")
		if _, err := after.Sessions.SessionUser(b.Ctx, "1."+secret); err != nil {
			t.Errorf("killed after %d: %v", cut, err)
		}
		if _, err := after.Sessions.SessionUser(b.Ctx, secret); err != nil {
			t.Errorf("killed after %d: %v", cut, err)
		}
		left := b.Redis("EXISTS", layout.MovedUsers) + b.Redis("EXISTS", layout.BucketKey(users.Bucket("ada")))
		if got := b.Redis("HLEN", "users") + b.Redis("ZCARD", "users_by_time") + b.Redis("GET", "layout_version") + left; got != "32200" {
			t.Errorf("killed after %d: %s", cut, got)
		}
		if _, err := check.Verify(b.Ctx, after, check.Options{Report: func(p check.Problem) {
			t.Errorf("killed after %d: %v", cut, p)
		}}); err != nil {
			t.Fatal(err)
		}
		if t.Failed() || ended {
			break
		}
	}
}

// all runs commands without blanks in their arguments.
func (b *bundle) all(commands ...string) {
	b.T.Helper()
	for _, command := range commands {
		b.Redis(strings.Fields(command)...)
	}
}
