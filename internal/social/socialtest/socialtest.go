// Package socialtest is shared by the tests of the application: Retwis on a
// private database, and servers that fail over.
package socialtest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/app"
	"retwis/internal/redis/store"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/adopt"
	"retwis/internal/social/check"
	"retwis/internal/social/posts"
	"retwis/internal/social/storage"

	"retwis/maintain"
)

// CheapHash makes password hashing cheap.
var CheapHash = &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 8, KeyLength: 16}

// Password is the password of every user.
const Password = "correct horse"

// Quiet returns a logger that discards everything.
func Quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// Bundle is Retwis on a database.
type Bundle struct {
	*app.App
	T     testing.TB
	Ctx   context.Context // of one test
	DB    rueidis.Client
	Clock *Clock
}

// Clock stands still until it is moved.
type Clock struct{ Unix atomic.Int64 }

// Now returns the time.
func (c *Clock) Now() time.Time { return time.Unix(c.Unix.Load(), 0) }

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) { c.Unix.Add(int64(d / time.Second)) }

// New returns Retwis on a private database of the test.
func New(t testing.TB) *Bundle {
	t.Helper()
	return On(t, redistest.DB(t).Client(t))
}

// Watched returns Retwis on a private database of the test, with all its caches, like a process
// that serves the database. Several Bundles can use the same database: see redistest.DB.
func Watched(t testing.TB, url string, change ...func(*app.Options)) *Bundle {
	t.Helper()
	db, err := store.Open(t.Context(), url, store.Options{Logger: Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return On(t, db.Client(), append(change, func(opt *app.Options) { opt.Invalidations = db.Invalidations() })...)
}

// On returns Retwis on a database.
func On(t testing.TB, client rueidis.Client, change ...func(*app.Options)) *Bundle {
	t.Helper()
	clock := new(Clock)
	clock.Unix.Store(1_700_000_000)
	opt := app.Options{Logger: Quiet(), Now: clock.Now, HashParams: CheapHash}
	for _, c := range change {
		c(&opt)
	}
	svc, err := app.New(client, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { svc.Close() })
	return &Bundle{App: svc, T: t, Ctx: untilTimeout(t), DB: client, Clock: clock}
}

// untilTimeout returns a context that ends with the test, after its deferred functions, and shortly
// before the timeout of go test, so that a pending wait can report what it waits for.
func untilTimeout(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if timeout, ok := d.Deadline(); ok {
			ctx, cancel = context.WithDeadline(context.Background(), timeout.Add(-10*time.Second))
		}
	}
	t.Cleanup(cancel)
	return ctx
}

// FanOut returns the engine that puts posts on timelines.
func (b *Bundle) FanOut() *posts.Engine { return b.Internals().FanOut }

// Directory returns the directory of usernames.
func (b *Bundle) Directory() *storage.Directory { return b.Internals().Directory }

// NewUser registers a user.
func (b *Bundle) NewUser(name string) social.User {
	b.T.Helper()
	session, err := b.Accounts.Register(b.Ctx, name, Password)
	if err != nil {
		b.T.Fatalf("register %s: %v", name, err)
	}
	return session.User
}

// Publish posts a text and returns the ID of the post.
func (b *Bundle) Publish(author social.User, body string) int64 {
	b.T.Helper()
	post, err := b.Posts.Post(b.Ctx, author, body)
	if err != nil {
		b.T.Fatalf("post %q: %v", body, err)
	}
	return post.ID
}

// PostTask returns the task that fans a post out.
func (b *Bundle) PostTask(post int64) string {
	b.T.Helper()
	author, err := strconv.ParseInt(b.Redis("HGET", storage.PostKey(post), "user_id"), 10, 64)
	if err != nil {
		b.T.Fatal(err)
	}
	return posts.Member(post, author, b.Redis("HGET", storage.PostKey(post), "time"))
}

// Expire ends all leases on tasks, as if their processes had died a while ago, and all pauses.
func (b *Bundle) Expire() {
	b.T.Helper()
	b.Redis("EVAL", `redis.call('ZREM', KEYS[1], '')
	for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
		local at = tonumber(redis.call('ZSCORE', KEYS[1], member))
		local band = math.floor(at / 2e15) * 2e15
		redis.call('ZADD', KEYS[1], string.format('%.0f', math.max(at - 3.6e9, band + at % 2)), member)
	end
	for i = 2, #KEYS do
		redis.call('RPUSH', KEYS[i], '1')
		redis.call('LTRIM', KEYS[i], 0, 9)
	end`, "4", storage.Tasks, storage.WakeKey(0), storage.WakeKey(1), storage.WakeKey(2))
}

// RetryTasks finishes, in this process, the tasks that other processes have left; see Expire.
func (b *Bundle) RetryTasks(ctx context.Context) error {
	b.T.Helper()
	b.Expire()
	return b.App.RetryTasks(ctx)
}

const (
	// leftTask is the score of a short task whose process has died.
	leftTask = "-5999999999999998"
	// heldTask is the score of a task that another process holds for years.
	heldTask = "-5000000000000000"
)

// Leave adds tasks whose process has died.
func (b *Bundle) Leave(members ...string) { b.addTasks(leftTask, members) }

// Keep adds tasks that another process holds.
func (b *Bundle) Keep(members ...string) { b.addTasks(heldTask, members) }

func (b *Bundle) addTasks(score string, members []string) {
	b.T.Helper()
	args := []string{"ZADD", storage.Tasks}
	for _, member := range members {
		args = append(args, score, member)
	}
	b.Redis(args...)
}

// Connect makes one user follow another.
func (b *Bundle) Connect(from, to social.User) {
	b.T.Helper()
	if err := b.Follows.Follow(b.Ctx, from, to); err != nil {
		b.T.Fatalf("%s follows %s: %v", from.Name, to.Name, err)
	}
}

// Redis runs a command and returns its reply as text.
func (b *Bundle) Redis(args ...string) string {
	b.T.Helper()
	// The second command ensures that the invalidation messages of the first have arrived, so that
	// a read through the same client sees the write.
	res := b.DB.DoMulti(b.Ctx,
		b.DB.B().Arbitrary(args[0]).Keys(args[1]).Args(args[2:]...).Build(),
		b.DB.B().Exists().Key(args[1]).Build())[0]
	if rueidis.IsRedisNil(res.Error()) {
		return ""
	}
	if err := res.Error(); err != nil {
		b.T.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	if list, err := res.AsStrSlice(); err == nil {
		return strings.Join(list, " ")
	}
	if n, err := res.AsInt64(); err == nil {
		return strconv.FormatInt(n, 10)
	}
	s, _ := res.ToString()
	return s
}

// Adoption returns the database in the form for package adopt.
func (b *Bundle) Adoption() adopt.Database { return adopt.New(b.DB, Quiet()) }

// Check verifies the database.
func (b *Bundle) Check(opt check.Options) (check.Result, error) {
	return check.Verify(b.Ctx, b.App, opt)
}

// WantHealthy verifies the database, and fails the test if there are problems.
func (b *Bundle) WantHealthy() check.Result {
	b.T.Helper()
	result, err := b.Check(check.Options{Report: func(p check.Problem) { b.T.Error(p) }})
	if err != nil {
		b.T.Fatal(err)
	}
	WantIndexRight(b)
	return result
}

// WantIndexRight fails the test if a search index exists and differs from a rebuilt one. An index
// of an adopted database may lack entries until it is built.
func WantIndexRight(b *Bundle) {
	b.T.Helper()
	report, err := b.SearchIndex.Verify(b.Ctx, maintain.Options{}, false)
	problems := report.Posts.Problems() + report.People.Problems()
	if isBuilt, _ := b.SearchIndex.IsBuilt(b.Ctx); !isBuilt && b.Redis("EXISTS", storage.AdoptedPosts) == "1" {
		problems -= report.Posts.Missing + report.People.Missing
	}
	if err != nil && !errors.Is(err, index.ErrNotFound) || problems > 0 {
		b.T.Errorf("the search index: %+v, %v", report, err)
	}
}

// Eventually polls until ok returns true.
func (b *Bundle) Eventually(what string, ok func() bool) {
	b.T.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-b.Ctx.Done():
			b.T.Fatalf("timed out waiting for %s", what)
		}
	}
}

// OnEach runs a test on a server and on a Cluster, side by side. The subtest opens the Cluster that
// it uses, because a Cluster opened by the parent would be held while the subtest waits for its
// turn.
func OnEach(t *testing.T, test func(t *testing.T, client rueidis.Client)) {
	t.Helper()
	t.Run("single", func(t *testing.T) {
		t.Parallel()
		test(t, redistest.DB(t).Client(t))
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		test(t, redistest.Cluster(t, 3).Client(t))
	})
}
