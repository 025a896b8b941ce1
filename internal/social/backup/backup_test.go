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

// database is a site on a server or Cluster that no other test uses.
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

// startLoad creates users who post, follow, like and delete until stop is called, and returns posts
// that are never deleted.
func (db *database) startLoad() (kept []int64, stop func()) {
	var users []social.User
	for i := range 8 {
		users = append(users, db.NewUser(fmt.Sprintf("user%d", i)))
	}
	for i, u := range users {
		// On a Cluster, the first view builds the home timeline.
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

// A backup of a busy site contains all writes that were acknowledged before the backup began, and
// the restored database is consistent.
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
		"one database of a shared server": {shared, single, backup.Auto, backup.Scan},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := test.from(t), test.to(t)
			kept, stop := from.startLoad()
			defer stop()
			var file bytes.Buffer
			result, err := backup.Write(from.Ctx, from.Source, &file, backup.Options{Method: test.method, Version: "test"})
			if err != nil {
				t.Fatal(err)
			}
			stop()
			if result.Method != test.want || result.Written != int64(file.Len()) {
				t.Errorf("Write = %+v for a file of %d bytes, want method %s", result, file.Len(), test.want)
			}
			if _, _, err := backup.Verify(to.Ctx, bytes.NewReader(file.Bytes())); err != nil {
				t.Errorf("Verify: %v", err)
			}
			restored, err := backup.Restore(to.Ctx, to.Source, &file, backup.RestoreOptions{})
			if err != nil {
				t.Fatal(err)
			}
			to.wantConsistent(restored, kept)
		})
	}
}

// onFirstWrite is a buffer that calls do before the first write.
type onFirstWrite struct {
	bytes.Buffer
	once sync.Once
	do   func()
}

func (w *onFirstWrite) Write(p []byte) (int, error) {
	w.once.Do(w.do)
	return w.Buffer.Write(p)
}

// Write fails if slots migrate during the backup, because a key that moves to a server whose part
// is already written would be in no part.
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
			first, last := 0, 0 // masters that a backup reads first and last
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
				t.Errorf("Write while a slot moves: %v, want ErrSlotsMove", err)
			}
			if _, err := backup.Write(db.Ctx, db.Source, io.Discard, backup.Options{Method: method}); err != nil {
				t.Errorf("Write after a slot has moved: %v", err)
			}
		})
	}
}

// A backup contains all keys although the server restarts during the scan and then returns the keys
// in a different order.
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

// shared returns one database of a server that also has another database.
func shared(t *testing.T) *database {
	server := redistest.Own(t, diskless...)
	c := server.Client(t)
	if err := c.Do(t.Context(), c.B().Set().Key("of another program").Value("secret").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	return open(t, server.URL()+"?db=3")
}

// wantConsistent repairs a restored database as the restore command does, and checks that the
// database is consistent and has the posts in kept.
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
		db.T.Errorf("%d problems remain after the repair", repaired.Remaining)
	}
	if err := db.SearchIndex.Build(db.Ctx); err != nil {
		db.T.Fatal(err)
	}
	result := db.WantHealthy()
	if result.Problems > 0 || result.Leftovers > 0 {
		db.T.Errorf("check found %d problems and %d leftovers", result.Problems, result.Leftovers)
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
		db.T.Errorf("EXISTS of the restore mark and of a key of another database: %s, want 00", n)
	}
	// Users can publish new posts.
	author, err := db.Users.UserByName(db.Ctx, "user0")
	if err != nil {
		db.T.Fatal(err)
	}
	db.Publish(author, "after the restore")
}

// smallSite returns a site with two users and a backup of the site.
func smallSite(t *testing.T) (*database, []byte) {
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

// Verify rejects a file that is truncated anywhere or has a changed byte.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	db, file := smallSite(t)
	want, keys, err := backup.Verify(db.Ctx, bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	wantRefused := func(name string, data []byte) {
		t.Helper()
		_, _, err := backup.Verify(db.Ctx, bytes.NewReader(data))
		if err == nil {
			t.Errorf("Verify accepted a file: %s", name)
			return
		}
		if !errors.Is(err, backup.ErrDamaged) && !strings.Contains(err.Error(), "not a retwis backup") {
			t.Errorf("%s: %v, want ErrDamaged", name, err)
		}
	}
	for n := 0; n < len(file); n += 1 + len(file)/150 {
		wantRefused(fmt.Sprintf("cut after %d of %d bytes", n, len(file)), file[:n])
		changed := bytes.Clone(file)
		changed[n] ^= 0x10
		// A few bits have no meaning, such as the padding of a block.
		if m, k, err := backup.Verify(db.Ctx, bytes.NewReader(changed)); err == nil && (m != want || k != keys) {
			t.Errorf("Verify accepted a change of byte %d: %+v, %d keys", n, m, k)
		} else if err == nil {
			accepted++
		}
	}
	if accepted > 5 {
		t.Errorf("Verify accepted %d changed files, want at most 5", accepted)
	}
	wantRefused("without its last byte", file[:len(file)-1])
	wantRefused("another file", []byte("REDIS0011\xff"))
	wantRefused("empty", nil)
	wantRefused("twice", append(bytes.Clone(file), file...))
}

// Restore requires an empty database. An interrupted restore can be repeated.
func TestRestoreAgain(t *testing.T) {
	t.Parallel()
	from, _ := smallSite(t)
	random := rand.NewChaCha8([32]byte{})
	for n := range 20 { // so that half of the file has keys to load
		value := make([]byte, 100_000)
		_, _ = random.Read(value)
		from.Redis("SET", fmt.Sprintf("random:%d", n), string(value))
	}
	var buffer bytes.Buffer
	if _, err := backup.Write(from.Ctx, from.Source, &buffer, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	file := buffer.Bytes()
	_, other := smallSite(t)
	to := single(t)
	restore := func(data []byte, replace bool) (backup.Restored, error) {
		return backup.Restore(to.Ctx, to.Source, bytes.NewReader(data), backup.RestoreOptions{Replace: replace})
	}
	if _, err := restore(file[:len(file)/2], false); !errors.Is(err, backup.ErrDamaged) {
		t.Errorf("Restore of half a file: %v, want ErrDamaged", err)
	}
	var copied bytes.Buffer
	if _, err := backup.Write(to.Ctx, to.Source, &copied, backup.Options{}); !errors.Is(err, backup.ErrRestoring) {
		t.Errorf("Write of a partly restored database: %v, want ErrRestoring", err)
	}
	if _, err := restore(other, false); !errors.Is(err, backup.ErrOther) {
		t.Errorf("Restore of another file: %v, want ErrOther", err)
	}
	if _, err := restore(file, false); err != nil {
		t.Errorf("second Restore of the same file: %v", err)
	}
	if _, err := restore(file, false); !errors.Is(err, backup.ErrNotEmpty) {
		t.Errorf("Restore into a restored database: %v, want ErrNotEmpty", err)
	}
	to.Redis("SET", "stale", "1")
	to.Redis("ZADD", storage.Processes, "1", "a site")
	if _, err := restore(other, true); !errors.Is(err, backup.ErrInUse) {
		t.Errorf("Restore into a database in use: %v, want ErrInUse", err)
	}
	to.Redis("DEL", storage.Processes)
	restored, err := restore(file, true)
	if err != nil {
		t.Fatal(err)
	}
	if n := to.Redis("EXISTS", "stale"); n != "0" {
		t.Error("Restore with Replace left an old key")
	}
	for _, key := range []string{"next_post_id", "next_user_id"} {
		if got, want := to.Redis("GET", key), from.Redis("GET", key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	if result := to.WantHealthy(); result.Users != 2 || result.Posts != 30 || restored.Keys == 0 {
		t.Errorf("check = %+v after Restore = %+v, want 2 users and 30 posts", result, restored)
	}
}

// Write and Restore work with the permissions of the site.
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
		t.Fatalf("Write = %+v, %v; want a scan because of NOPERM", result, err)
	}
	if _, err := backup.Write(db.Ctx, db.Source, &file, backup.Options{Method: backup.Snapshot}); err == nil {
		t.Error("Write took a snapshot without the permission")
	}
	if _, err := backup.Restore(db.Ctx, db.Source, &file, backup.RestoreOptions{Replace: true}); err != nil {
		t.Error(err)
	}
}
