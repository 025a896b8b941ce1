package social_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/social"
)

func TestMain(m *testing.M) {
	if os.Getenv(posterEnv) != "" {
		postWithoutEnd()
	}
	if os.Getenv(adopterEnv) != "" {
		adoptAndPrint()
	}
	redistest.Main(m)
}

// cheap is a password hash that costs nothing, for tests.
var cheap = &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 8, KeyLength: 16}

const password = "correct horse"

// bundle is Retwis on a database of the test's own.
type bundle struct {
	*social.Service
	t      testing.TB
	ctx    context.Context
	client rueidis.Client
	clock  *clock
}

// clock stands still until it is moved.
type clock struct{ unix atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(c.unix.Load(), 0) }
func (c *clock) advance(d time.Duration) { c.unix.Add(int64(d / time.Second)) }

func setup(t testing.TB) *bundle {
	t.Helper()
	return on(t, redistest.DB(t).Client(t))
}

func on(t testing.TB, client rueidis.Client, change ...func(*social.Options)) *bundle {
	t.Helper()
	clock := new(clock)
	clock.unix.Store(1_700_000_000)
	opt := social.Options{
		Logger:     slog.New(slog.NewTextHandler(io.Discard, nil)),
		Now:        clock.now,
		HashParams: cheap,
	}
	for _, c := range change {
		c(&opt)
	}
	svc, err := social.New(client, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { svc.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	return &bundle{Service: svc, t: t, ctx: ctx, client: client, clock: clock}
}

// register makes a user.
func (b *bundle) register(name string) social.User {
	b.t.Helper()
	session, err := b.Register(b.ctx, name, password)
	if err != nil {
		b.t.Fatalf("register %s: %v", name, err)
	}
	return session.User
}

// post publishes a text and returns the post's id.
func (b *bundle) post(author social.User, body string) int64 {
	b.t.Helper()
	post, err := b.Post(b.ctx, author, body)
	if err != nil {
		b.t.Fatalf("post %q: %v", body, err)
	}
	return post.ID
}

func (b *bundle) follow(from, to social.User) {
	b.t.Helper()
	if err := b.Follow(b.ctx, from, to); err != nil {
		b.t.Fatalf("%s follows %s: %v", from.Name, to.Name, err)
	}
}

// do runs a command and returns its reply as text.
func (b *bundle) do(words ...string) string {
	b.t.Helper()
	res := b.client.Do(b.ctx, b.client.B().Arbitrary(words[0]).Keys(words[1]).Args(words[2:]...).Build())
	if rueidis.IsRedisNil(res.Error()) {
		return ""
	}
	if err := res.Error(); err != nil {
		b.t.Fatalf("%s: %v", strings.Join(words, " "), err)
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

// wantHealthy fails when two keys that must agree do not.
func (b *bundle) wantHealthy() social.CheckResult {
	b.t.Helper()
	result, err := b.Check(b.ctx, func(p social.Problem) { b.t.Error(p) })
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}
