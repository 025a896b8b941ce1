package storage_test

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
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

func TestMain(m *testing.M) { redistest.Main(m) }

type bundle struct{ *socialtest.Bundle }

func onCluster(t *testing.T) *bundle {
	return &bundle{socialtest.On(t, redistest.Cluster(t, 3).Client(t))}
}

func (b *bundle) must(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

// otherProcess returns another application on the same database.
func (b *bundle) otherProcess(client rueidis.Client) *app.App {
	s, err := app.New(client, app.Options{Logger: socialtest.Quiet(), Now: b.Clock.Now, HashParams: socialtest.CheapHash})
	b.must(err)
	b.T.Cleanup(func() { s.Close() })
	return s
}

// wantFound checks that an application finds users by name.
func (b *bundle) wantFound(s *app.App, names ...string) {
	b.T.Helper()
	for _, name := range names {
		user, err := s.Users.UserByName(social.WithFresh(b.Ctx), name)
		if err != nil || user.Name != name {
			b.T.Errorf("UserByName(%s) = %v, %v", name, user, err)
		}
	}
}

// The name antirez is the example in docs/keys.md.
func TestBucket(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"antirez": 893, "ANTIREZ": 893, "a": 3651} {
		if got := storage.Bucket(name); got != want {
			t.Errorf("Bucket(%s) = %d, want %d", name, got, want)
		}
	}
	counts := map[int]int{}
	for i := range 100 * storage.Buckets {
		counts[storage.Bucket(fmt.Sprint("user", i))]++
	}
	for bucket, n := range counts {
		if n < 50 || n > 150 {
			t.Errorf("bucket %d has %d names, want 50 to 150", bucket, n)
		}
	}
}

// All yields the names of small buckets and of a large bucket that is read in steps.
func TestAll(t *testing.T) {
	t.Parallel()
	b := onCluster(t)
	b.must(b.Adoption().Adopt(b.Ctx, nil))
	const large = 600
	for i := range large {
		b.Redis("HSET", storage.BucketKey(7), fmt.Sprint("large", i), "1")
	}
	b.Redis("HSET", storage.BucketKey(storage.Buckets-1), "small", "2")
	names := map[string]bool{}
	for page, err := range b.Directory().All(b.Ctx, 50) {
		b.must(err)
		for i := 0; i < len(page.Names); i += 2 {
			names[page.Key+" "+page.Names[i]] = true
		}
	}
	if len(names) != large+1 || !names[storage.BucketKey(storage.Buckets-1)+" small"] {
		t.Errorf("All yielded %d names, want %d", len(names), large+1)
	}
}

// An empty database gets the layout of its kind of server.
func TestEmpty(t *testing.T) {
	t.Parallel()
	socialtest.OnEach(t, func(t *testing.T, client rueidis.Client) {
		b := &bundle{socialtest.On(t, client)}
		if empty, err := b.Users.Empty(b.Ctx); err != nil || !empty {
			t.Errorf("Empty() = %v, %v for an empty database", empty, err)
		}
		b.must(b.Adoption().Adopt(b.Ctx, nil))
		if version := b.Redis("GET", "layout_version"); version != "" {
			t.Errorf("an empty database has the layout %s, want none", version)
		}
		_, err := b.Accounts.Register(b.Ctx, "Ada", socialtest.Password)
		b.must(err)
		version, names, elsewhere := "1", "users", storage.BucketKey(storage.Bucket("ada"))
		if client.Mode() == rueidis.ClientModeCluster {
			version, names, elsewhere = "1 cluster", elsewhere, names
		}
		for got, want := range map[string]string{
			b.Redis("GET", "layout_version"):              version,
			b.Redis("HGET", names, "ada"):                 "1",
			b.Redis("EXISTS", elsewhere):                  "0",
			b.Redis("ZRANGE", "users_by_time", "0", "-1"): "Ada",
		} {
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		if empty, err := b.Users.Empty(b.Ctx); err != nil || empty {
			t.Errorf("Empty() = %v, %v for a database with a user", empty, err)
		}
		b.wantFound(b.otherProcess(b.DB), "Ada")
		b.must(b.Adoption().Adopt(b.Ctx, func(int64, int64) { t.Error("Adopt converted a database with the current layout") }))
		b.WantHealthy()
	})
}

// flush removes all keys of a Cluster.
func (b *bundle) flush() {
	for _, node := range b.DB.Nodes() {
		b.must(node.Do(b.Ctx, node.B().Flushall().Build()).Error())
	}
}

// users_by_time keeps only the latest users. AllUsers lists all users, each once.
func TestLatest(t *testing.T) {
	t.Parallel()
	b := onCluster(t)
	b.Redis("SET", "layout_version", storage.Version) // as if the keys of a single server had been loaded
	const more = 30
	var cmds rueidis.Commands
	for i := range storage.MaxLatest + more {
		cmds = append(cmds, b.DB.B().Zadd().Key(storage.UsersByTime).ScoreMember().ScoreMember(float64(1_700_000_001+i), fmt.Sprint("u", i)).Build())
		if i < more {
			uid := fmt.Sprint(1000 + i)
			cmds = append(cmds, b.DB.B().Hset().Key("user:"+uid).FieldValue().FieldValue("username", "u"+fmt.Sprint(i)).
				FieldValue("joined", fmt.Sprint(1_700_000_001+i)).FieldValue("password", "x").Build(),
				b.DB.B().Hset().Key("users").FieldValue().FieldValue("u"+fmt.Sprint(i), uid).Build())
		}
	}
	for _, res := range b.DB.DoMulti(b.Ctx, cmds...) {
		b.must(res.Error())
	}
	b.must(b.Adoption().Adopt(b.Ctx, nil))
	if n := b.Redis("ZCARD", storage.UsersByTime) + " " + b.Redis("EXISTS", "users") + b.Redis("GET", "layout_version"); n != fmt.Sprint(storage.MaxLatest)+" 01 cluster" {
		t.Fatalf("users by time, EXISTS users, and the layout: %s", n)
	}
	b.Clock.Advance(1_000_000_000_000) // later than all other users
	last := b.NewUser("last")
	if n := b.Redis("ZCARD", storage.UsersByTime); n != fmt.Sprint(storage.MaxLatest) {
		t.Fatalf("%s users by time after a new user, want %d", n, storage.MaxLatest)
	}
	seen := map[int64]int{}
	for page, err := range b.Users.AllUsers(b.Ctx) {
		b.must(err)
		for _, user := range page {
			seen[user.ID]++
		}
	}
	if len(seen) != more+1 || seen[last.ID] != 1 || seen[1000] != 1 {
		t.Errorf("AllUsers listed %d users, want %d: %v", len(seen), more+1, seen)
	}
}

// writeForeignKeys writes keys in the layout of the other kind of server: a user with a session, a
// user with a capital letter in the name, and the name of a deleted account. writeForeignKeys
// returns the secret of the session.
func (b *bundle) writeForeignKeys() (secret string) {
	random := strings.Repeat("s", 43)
	secret = "1." + random
	_, token, _ := auth.SessionToken(secret)
	b.redisEach(
		"SET next_user_id 3", "ZADD users_by_time 1700000002 Bob",
		"HSET user:1 username ada joined 1700000001 password x auth "+token,
		"HSET user:2 username Bob joined 1700000002 password x",
	)
	for name, id := range map[string]string{"ada": "1", "Bob": "2", "bob": "2", "gone": "0"} {
		key := storage.UserNames
		if b.DB.Mode() != rueidis.ClientModeCluster {
			key = storage.BucketKey(storage.Bucket(name))
		}
		b.redisEach("HSET " + key + " " + name + " " + id)
	}
	version := storage.ClusterVersion
	if b.DB.Mode() == rueidis.ClientModeCluster {
		version = storage.Version
		b.redisEach("ZADD users_by_time 1700000001 ada")
	}
	b.Redis("SET", "layout_version", version)
	return secret
}

// wantRearranged checks that the keys of writeForeignKeys were rearranged and that more users have
// registered since.
func (b *bundle) wantRearranged(name, secret string, more int) {
	b.T.Helper()
	after := b.otherProcess(b.DB)
	b.wantFound(after, "ada", "Bob")
	if user, err := after.Sessions.SessionUser(b.Ctx, secret); err != nil || user.ID != 1 {
		b.T.Errorf("%s: session: %v", name, err)
	}
	for _, username := range []string{"ADA", "bob", "Gone"} {
		if _, err := after.Accounts.Register(b.Ctx, username, socialtest.Password); !errors.Is(err, social.ErrTaken) {
			b.T.Errorf("%s: Register(%s): %v, want ErrTaken", name, username, err)
		}
	}
	version, old := "1", storage.BucketKey(storage.Bucket("ada"))
	if b.DB.Mode() == rueidis.ClientModeCluster {
		version, old = "1 cluster", storage.UserNames
	}
	if got := b.Redis("GET", "layout_version") + " " + b.Redis("EXISTS", old) + b.Redis("ZCARD", "users_by_time"); got != fmt.Sprint(version, " 0", 2+more) {
		b.T.Errorf("%s: layout, EXISTS of the old names, and users by time: %s", name, got)
	}
	if _, err := check.Verify(b.Ctx, after, check.Options{Report: func(p check.Problem) {
		b.T.Errorf("%s: %v", name, p)
	}}); err != nil {
		b.T.Fatal(err)
	}
}

// Adopt converts the keys of a Cluster on a single server, and the keys of a single server on a
// Cluster, even if Rearrange was interrupted before. Sessions stay open.
func TestRearrangeKilled(t *testing.T) {
	t.Parallel()
	for kind, begin := range map[string]func(t *testing.T) (*bundle, int64){
		"single": func(t *testing.T) (*bundle, int64) { // reading the buckets takes 4,096 commands
			return &bundle{socialtest.New(t)}, 311
		},
		"cluster": func(t *testing.T) (*bundle, int64) { return onCluster(t), 1 },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b, stride := begin(t)
			if redistest.Long && stride > 1 {
				stride = 17
			}
			for cut := int64(0); ; cut += stride {
				b.flush()
				secret := b.writeForeignKeys()
				process := socialtest.Dying(b.DB, cut)
				err := storage.NewDirectory(process).Rearrange(b.Ctx, func(int64, int64) {})
				completed := err == nil && process.Left() > 0
				b.must(b.Adoption().Adopt(b.Ctx, nil))
				b.wantRearranged(fmt.Sprintf("killed after %d", cut), secret, 0)
				if t.Failed() || completed {
					break
				}
			}
		})
	}
}

// Several processes concurrently open a Cluster that has the keys of a single server, and serve the
// site as soon as Adopt returns.
func TestRearrangeTogether(t *testing.T) {
	t.Parallel()
	b := onCluster(t)
	secret := b.writeForeignKeys()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			if err := b.Adoption().Adopt(b.Ctx, nil); err != nil {
				t.Error(err)
			}
			if _, err := b.otherProcess(b.DB).Accounts.Register(b.Ctx, fmt.Sprint("user", i), socialtest.Password); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b.wantFound(b.otherProcess(b.DB), "user0", "user1", "user2", "user3")
	b.wantRearranged("together", secret, 4)
}

// redisEach runs commands whose arguments contain no blanks.
func (b *bundle) redisEach(commands ...string) {
	b.T.Helper()
	for _, command := range commands {
		b.Redis(strings.Fields(command)...)
	}
}
