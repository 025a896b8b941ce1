package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"retwis/internal/redis/keys"
	"retwis/internal/redis/store"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/backup"
	"retwis/internal/social/check"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// diskless makes a server send snapshots immediately.
var diskless = []string{"repl-diskless-sync yes", "repl-diskless-sync-delay 0"}

// database is Retwis on a server or a Cluster of the test's own.
type database struct {
	*socialtest.Bundle
	backup.Source
}

func open(t *testing.T, url string) *database {
	t.Helper()
	db, err := store.Open(t.Context(), url, store.Options{Logger: socialtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &database{socialtest.On(t, db.Client()), backup.Source{Client: db.Client(), Options: db.ClientOption()}}
}

func single(t *testing.T) *database { return open(t, redistest.Own(t, diskless...).URL()) }

func cluster(t *testing.T) *database { return open(t, clusterServers(t).URL()) }

func clusterServers(t *testing.T) *redistest.ClusterServers {
	c := redistest.Cluster(t, 3)
	for _, m := range c.Masters {
		c := m.Client(t)
		for _, line := range diskless {
			name, value, _ := strings.Cut(line, " ")
			if err := c.Do(t.Context(), c.B().ConfigSet().ParameterValue().ParameterValue(name, value).Build()).Error(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

// busy makes users post, follow, like and delete until stop is called, and returns the posts that
// exist throughout.
func (db *database) busy() (kept []int64, stop func()) {
	var users []social.User
	for i := range 8 {
		users = append(users, db.NewUser(fmt.Sprintf("user%d", i)))
	}
	for i, u := range users {
		// On a Cluster a view builds the home timeline, and a backup has only existing ones.
		if _, err := db.Timelines.Home(db.Ctx, u.ID, 0, 10); err != nil {
			db.T.Fatal(err)
		}
		for j := range i {
			db.Connect(u, users[j])
		}
		for n := range 5 {
			kept = append(kept, db.Publish(u, fmt.Sprintf("post %d of @user%d #tag%d", n, (i+1)%8, n)))
		}
	}
	ctx, cancel := context.WithCancel(db.Ctx)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(worker), 7))
			for ctx.Err() == nil {
				u, other := users[rng.IntN(len(users))], users[rng.IntN(len(users))]
				var err error
				switch rng.IntN(6) {
				case 0, 1:
					var post social.Post
					if post, err = db.Posts.Post(ctx, u, fmt.Sprintf("while it is backed up, says @%s #busy", other.Name)); err == nil && rng.IntN(3) == 0 {
						err = db.Posts.Delete(ctx, u, post.ID)
					}
				case 2:
					_, err = db.Posts.Reply(ctx, u, kept[rng.IntN(len(kept))], "an answer")
				case 3:
					err = db.Reactions.Like(ctx, u, kept[rng.IntN(len(kept))])
				case 4:
					err = db.Follows.Unfollow(ctx, u, other)
				case 5:
					err = db.Follows.Follow(ctx, u, other)
				}
				if invalid := (*social.InvalidError)(nil); err != nil && ctx.Err() == nil && !errors.As(err, &invalid) &&
					!errors.Is(err, social.ErrNotFound) && !errors.Is(err, social.ErrSelfFollow) {
					db.T.Errorf("under load: %v", err)
				}
			}
		})
	}
	return kept, func() { cancel(); wg.Wait() }
}

// A backup of a busy site, restored elsewhere, has everything acknowledged before it began, and its
// keys agree.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		from, to func(*testing.T) *database
		method   backup.Method
		want     backup.Method
	}{
		"one server":                      {single, single, backup.Auto, backup.Snapshot},
		"from one server into a Cluster":  {single, cluster, backup.Auto, backup.Snapshot},
		"from a Cluster into one server":  {cluster, single, backup.Auto, backup.Snapshot},
		"one server, by a scan":           {single, single, backup.Scan, backup.Scan},
		"a Cluster, by a scan":            {cluster, single, backup.Scan, backup.Scan},
		"one of the databases of servers": {shared, single, backup.Auto, backup.Scan},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := test.from(t), test.to(t)
			kept, stop := from.busy()
			defer stop()
			var file bytes.Buffer
			result, err := backup.Write(from.Ctx, from.Source, &file, backup.Options{Method: test.method, Version: "test"})
			if err != nil {
				t.Fatal(err)
			}
			stop()
			if result.Method != test.want || result.Written != int64(file.Len()) {
				t.Errorf("got %+v for a file of %d bytes", result, file.Len())
			}
			if _, _, err := backup.Verify(to.Ctx, bytes.NewReader(file.Bytes())); err != nil {
				t.Errorf("verify: %v", err)
			}
			restored, err := backup.Restore(to.Ctx, to.Source, &file, backup.RestoreOptions{})
			if err != nil {
				t.Fatal(err)
			}
			to.wantConsistent(restored, kept)
		})
	}
}

// onFirstWrite calls a function before the first bytes are written.
type onFirstWrite struct {
	bytes.Buffer
	once sync.Once
	do   func()
}

func (w *onFirstWrite) Write(p []byte) (int, error) {
	w.once.Do(w.do)
	return w.Buffer.Write(p)
}

// A Cluster cannot be backed up while slots migrate: a key that moves to a server whose part is
// already written would be in no part.
func TestSlotsMoveDuringABackup(t *testing.T) {
	t.Parallel()
	for _, method := range []backup.Method{backup.Snapshot, backup.Scan} {
		t.Run(string(method), func(t *testing.T) {
			t.Parallel()
			servers := clusterServers(t)
			db := open(t, servers.URL())
			user := db.NewUser("ada")
			for i := range 20 {
				db.Publish(user, fmt.Sprint("post ", i))
			}
			first, last := 0, 0 // in the order of a backup: by address
			for i, s := range servers.Masters {
				if s.Port() < servers.Masters[first].Port() {
					first = i
				}
				if s.Port() > servers.Masters[last].Port() {
					last = i
				}
			}
			c := servers.Masters[last].Client(t)
			key, err := c.Do(db.Ctx, c.B().Randomkey().Build()).ToString()
			if err != nil {
				t.Fatal(err)
			}
			move := func() {
				if err := servers.MoveSlot(db.Ctx, keys.Slot([]byte(key)), last, first); err != nil {
					t.Error(err)
				}
			}
			if _, err := backup.Write(db.Ctx, db.Source, &onFirstWrite{do: move}, backup.Options{Method: method}); !errors.Is(err, backup.ErrSlotsMove) {
				t.Errorf("a slot has moved meanwhile: %v", err)
			}
			if _, err := backup.Write(db.Ctx, db.Source, io.Discard, backup.Options{Method: method}); err != nil {
				t.Errorf("a slot has moved before: %v", err)
			}
		})
	}
}

// A server restarted during a scan returns its keys in a different order, and all of them are in
// the backup.
func TestRestartDuringAScan(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t, "appendonly yes", "appendfsync always")
	db := open(t, server.URL())
	ada := db.NewUser("ada")
	var ids []int64
	for i := range 400 {
		ids = append(ids, db.Publish(ada, fmt.Sprint("post ", i)))
	}
	var once sync.Once
	restart := func(_, _, _ int64) { once.Do(func() { server.Restart(t, true) }) }
	var file bytes.Buffer
	if _, err := backup.Write(db.Ctx, db.Source, &file, backup.Options{Method: backup.Scan, Progress: restart}); err != nil {
		t.Fatal(err)
	}
	to := single(t)
	if _, err := backup.Restore(to.Ctx, to.Source, &file, backup.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	views, err := to.Views.Get(to.Ctx, ids...)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range views {
		if v == nil || v.Deleted {
			t.Fatalf("post %d of %d is not in the backup", i, len(ids))
		}
	}
}

// shared is one database of a server with other databases.
func shared(t *testing.T) *database {
	server := redistest.Own(t, diskless...)
	c := server.Client(t)
	if err := c.Do(t.Context(), c.B().Set().Key("of another program").Value("secret").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	return open(t, server.URL()+"?db=3")
}

// wantConsistent repairs a restored database as the command does, then expects that its keys agree
// and that it has these posts.
func (db *database) wantConsistent(restored backup.Restored, kept []int64) {
	db.T.Helper()
	if err := db.Adoption().Adopt(db.Ctx, nil); err != nil {
		db.T.Fatal(err)
	}
	repaired, err := check.Repair(db.Ctx, db.App, check.Options{Exclusive: true})
	if err != nil {
		db.T.Fatal(err)
	}
	if restored.AtOneMoment() && repaired.Remaining > 0 {
		db.T.Errorf("a repair leaves %d problems", repaired.Remaining)
	}
	if err := db.SearchIndex.Build(db.Ctx); err != nil {
		db.T.Fatal(err)
	}
	result := db.WantHealthy()
	if result.Problems > 0 || result.Leftovers > 0 {
		db.T.Errorf("a check finds %d problems and %d leftovers", result.Problems, result.Leftovers)
	}
	views, err := db.Views.Get(db.Ctx, kept...)
	if err != nil {
		db.T.Fatal(err)
	}
	for i, v := range views {
		if v == nil || v.Deleted {
			db.T.Errorf("post %d is lost", kept[i])
		}
	}
	if n := db.Redis("EXISTS", "restoring") + db.Redis("EXISTS", "of another program"); n != "00" {
		db.T.Errorf("keys that do not belong there: %s", n)
	}
	// New posts get new IDs, and everything works.
	author, err := db.Users.UserByName(db.Ctx, "user0")
	if err != nil {
		db.T.Fatal(err)
	}
	db.Publish(author, "after the restore")
}

// small returns a backup of a small site, and the database.
func small(t *testing.T) (*database, []byte) {
	t.Helper()
	db := single(t)
	ada, bob := db.NewUser("ada"), db.NewUser("bob")
	db.Connect(bob, ada)
	for n := range 30 {
		db.Publish(ada, fmt.Sprintf("post %d", n))
	}
	db.Eventually("the fan-outs to end", func() bool { return db.Redis("EXISTS", "tasks") == "0" })
	var file bytes.Buffer
	if _, err := backup.Write(db.Ctx, db.Source, &file, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	return db, file.Bytes()
}

// A file that was truncated anywhere, or has a wrong byte, is rejected.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	db, file := small(t)
	want, keys, err := backup.Verify(db.Ctx, bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	refused := func(what string, data []byte) {
		t.Helper()
		_, _, err := backup.Verify(db.Ctx, bytes.NewReader(data))
		if err == nil {
			t.Errorf("%s: accepted", what)
			return
		}
		if !errors.Is(err, backup.ErrDamaged) && !strings.Contains(err.Error(), "not a retwis backup") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for n := 0; n < len(file); n += 1 + len(file)/150 {
		refused(fmt.Sprintf("cut after %d of %d bytes", n, len(file)), file[:n])
		changed := bytes.Clone(file)
		changed[n] ^= 0x10
		// A few bits have no meaning, such as the padding of a block.
		if m, k, err := backup.Verify(db.Ctx, bytes.NewReader(changed)); err == nil && (m != want || k != keys) {
			t.Errorf("accepted with byte %d changed: %+v, %d keys", n, m, k)
		} else if err == nil {
			accepted++
		}
	}
	if accepted > 5 {
		t.Errorf("accepted %d changed files", accepted)
	}
	refused("without its last byte", file[:len(file)-1])
	refused("another file", []byte("REDIS0011\xff"))
	refused("empty", nil)
	refused("twice", append(bytes.Clone(file), file...))
}

// A restore needs an empty database. An interrupted one can be repeated.
func TestRestoreAgain(t *testing.T) {
	t.Parallel()
	from, _ := small(t)
	random := rand.NewChaCha8([32]byte{})
	for n := range 20 { // so that half a file has something to load
		value := make([]byte, 100_000)
		_, _ = random.Read(value)
		from.Redis("SET", fmt.Sprintf("random:%d", n), string(value))
	}
	var buffer bytes.Buffer
	if _, err := backup.Write(from.Ctx, from.Source, &buffer, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	file := buffer.Bytes()
	_, other := small(t)
	to := single(t)
	restore := func(data []byte, replace bool) (backup.Restored, error) {
		return backup.Restore(to.Ctx, to.Source, bytes.NewReader(data), backup.RestoreOptions{Replace: replace})
	}
	if _, err := restore(file[:len(file)/2], false); !errors.Is(err, backup.ErrDamaged) {
		t.Errorf("half a file: %v", err)
	}
	var copied bytes.Buffer
	if _, err := backup.Write(to.Ctx, to.Source, &copied, backup.Options{}); !errors.Is(err, backup.ErrRestoring) {
		t.Errorf("a backup of half a database: %v", err)
	}
	if _, err := restore(other, false); !errors.Is(err, backup.ErrOther) {
		t.Errorf("another file: %v", err)
	}
	if _, err := restore(file, false); err != nil {
		t.Errorf("the same file again: %v", err)
	}
	if _, err := restore(file, false); !errors.Is(err, backup.ErrNotEmpty) {
		t.Errorf("into a full database: %v", err)
	}
	to.Redis("SET", "stale", "1")
	to.Redis("ZADD", storage.Processes, "1", "a site")
	if _, err := restore(other, true); !errors.Is(err, backup.ErrInUse) {
		t.Errorf("into a database in use: %v", err)
	}
	to.Redis("DEL", storage.Processes)
	restored, err := restore(file, true)
	if err != nil {
		t.Fatal(err)
	}
	if n := to.Redis("EXISTS", "stale"); n != "0" {
		t.Error("a key from before is still there")
	}
	for _, key := range []string{"next_post_id", "next_user_id"} {
		if got, want := to.Redis("GET", key), from.Redis("GET", key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	if result := to.WantHealthy(); result.Users != 2 || result.Posts != 30 || restored.Keys == 0 {
		t.Errorf("%+v after %+v", result, restored)
	}
}

// The permissions of the site are sufficient.
func TestRightsOfTheSite(t *testing.T) {
	t.Parallel()
	server := redistest.TCP(t)
	c := server.Client(t)
	err := c.Do(t.Context(), c.B().Arbitrary("ACL", "SETUSER", "retwis", "on", ">x", "~*", "&*", "-@all", "+@read", "+@write", "+@connection",
		"+@transaction", "+@scripting", "+@pubsub", "+info", "+time").Build()).Error()
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, fmt.Sprintf("redis://retwis:x@127.0.0.1:%d", server.Port()))
	db.Publish(db.NewUser("ada"), "hello")
	var file bytes.Buffer
	result, err := backup.Write(db.Ctx, db.Source, &file, backup.Options{})
	if err != nil || result.Method != backup.Scan || !strings.Contains(result.Reason, "NOPERM") {
		t.Fatalf("%+v, %v", result, err)
	}
	if _, err := backup.Write(db.Ctx, db.Source, &file, backup.Options{Method: backup.Snapshot}); err == nil {
		t.Error("a snapshot without the right to it")
	}
	if _, err := backup.Restore(db.Ctx, db.Source, &file, backup.RestoreOptions{Replace: true}); err != nil {
		t.Error(err)
	}
}
