package import2009_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/import2009"
	"retwis/internal/social/socialtest"
)

// differences lists the lines in which the result of an import differs from the result of the
// in-place conversion of development versions, with the reasons.
var differences = map[string][]string{
	"article": {
		`- "layout_adopted_posts" string "10344"`, // all posts are on all lists, so the checks need no exception
	},
	"damaged": {
		`- "layout_adopted_posts" string "20000"`,
		`- "next_user_id" string "99999999999999999"`, // not an ID
		`+ "next_user_id" string "1001"`,
		`+ "posts:14" list "[\"10343\"]"`, // a completed follow: the post of the followed user
	},
	"without-counters": {
		`- "layout_adopted_posts" string "10344"`,
		`+ "timeline" list "[\"10344\" \"10343\"]"`, // the old list is missing, and the conversion copied it
	},
}

// An import has the same result as the in-place conversion, except for differences. testdata has
// the keys after conversions, without the kept keys of 2009.
func TestLikeConversion(t *testing.T) {
	t.Parallel()
	for name, commands := range fixtures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := source(t, commands())
			before := dump(t, old)
			b := on(t, source(t, nil))
			if _, err := b.importFrom(old).Run(b.Ctx); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(dump(t, old), before) {
				t.Error("the import changed the source")
			}
			b.WantHealthy()
			recorded, err := os.ReadFile("testdata/" + name + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			want, got := strings.Split(strings.TrimSpace(string(recorded)), "\n"), b.unindexed()
			var differ []string
			for _, line := range want {
				if !slices.Contains(got, line) {
					differ = append(differ, "- "+line)
				}
			}
			for _, line := range got {
				if !slices.Contains(want, line) {
					differ = append(differ, "+ "+line)
				}
			}
			expected := slices.Clone(differences[name])
			slices.Sort(expected)
			slices.Sort(differ)
			if !slices.Equal(differ, expected) {
				t.Errorf("differences:\n%s\nwant\n%s", strings.Join(differ, "\n"), strings.Join(expected, "\n"))
			}
		})
	}
}

// unindexed returns the contents of the database without the search index, which the in-place
// conversion did not build.
func (b *bundle) unindexed() []string {
	for _, uid := range []string{"13", "14", "1000", "1001"} {
		b.Redis("HDEL", "user:"+uid, "searched")
	}
	return slices.DeleteFunc(dump(b.T, b.DB), func(line string) bool { return strings.HasPrefix(line, `"{search`) })
}

// An imported site works, on a single server and on a Cluster.
func TestImported(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) *bundle{
		"single":  func(t *testing.T) *bundle { return on(t, redistest.DB(t).Client(t)) },
		"cluster": func(t *testing.T) *bundle { return on(t, redistest.Cluster(t, 3).Client(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			finished := false
			i := b.importFrom(source(t, damaged()))
			i.Progress = func(done, total int64) { finished = done == total }
			got, err := i.Run(b.Ctx)
			if want := (import2009.Result{Users: 4, Follows: 2, Posts: 2, Skipped: 20}); err != nil || got != want || !finished {
				t.Errorf("Run = %+v, %v, want %+v; progress reached the total: %t", got, err, want, finished)
			}
			b.WantHealthy()
			for _, login := range []struct {
				name, password string
				want           int64
			}{{"ANTIREZ", "p1pp0", 1000}, {"Pippo", "other", 13}, {"pippo", "s3cret", 1001}, {"josé the 1st.", "olé", 14}} {
				session, err := b.Auth.Login(b.Ctx, login.name, login.password)
				if err != nil || session.User.ID != login.want {
					t.Errorf("log in as %s: %+v, %v, want user %d", login.name, session.User, err, login.want)
				}
			}
			for _, wrong := range []string{"s3cret", "", "P1PP0", "intruder"} {
				if _, err := b.Auth.Login(b.Ctx, "antirez", wrong); !errors.Is(err, social.ErrBadLogin) {
					t.Errorf("password %q: %v, want ErrBadLogin", wrong, err)
				}
			}
			if phc := b.Redis("HGET", "user:1000", "password"); !strings.HasPrefix(phc, "$argon2id$") {
				t.Errorf("the password is stored as %q, want an argon2id hash", phc)
			}
			if _, err := b.Sessions.SessionUser(b.Ctx, "fea5e81ac8ca77622bed1c2132a021f9"); !errors.Is(err, social.ErrNoSession) {
				t.Errorf("an old secret: %v, want ErrNoSession", err)
			}
			home, err := b.Timelines.Home(b.Ctx, 1000, 0, 10)
			if err != nil || !slices.Equal(home.IDs, []int64{10344, 10343}) {
				t.Errorf("home = %v, %v; want [10344 10343]", home.IDs, err)
			}
			newcomer := b.NewUser("newcomer")
			b.Connect(newcomer, social.User{ID: 1000, Name: "antirez"})
			if pid := b.Publish(newcomer, "hello"); newcomer.ID != 1002 || pid != 20001 {
				t.Errorf("user %d and post %d, want 1002 and 20001", newcomer.ID, pid)
			}
			if _, err := b.Accounts.Register(b.Ctx, "AntiRez", socialtest.Password); !errors.Is(err, social.ErrTaken) {
				t.Errorf("Register of an old name in another case: %v, want ErrTaken", err)
			}
			b.WantHealthy()
		})
	}
}

// The next import completes an import that was killed at any moment, without duplicates.
func TestKilled(t *testing.T) {
	t.Parallel()
	stride := int64(3)
	if redistest.Long {
		stride = 1
	}
	old, target := source(t, damaged()), source(t, nil)
	b := on(t, target)
	if _, err := b.importFrom(old).Run(b.Ctx); err != nil {
		t.Fatal(err)
	}
	want := dump(t, target)
	for cut := int64(0); ; cut += stride {
		b.Redis("FLUSHDB", "SYNC")
		ctx, cancel := context.WithCancel(b.Ctx)
		killed := &bundle{socialtest.On(t, socialtest.Dying(target, cut), func(o *app.Options) {
			o.NoJobs = true
			o.Logger = slog.New(canceling{slog.NewTextHandler(io.Discard, nil), cancel}) // mass insertion would retry for a minute
		})}
		i := killed.importFrom(old)
		_, err := i.Run(ctx)
		cancel()
		completed := err == nil
		if i.Name = "redis://other"; !completed && b.Redis("EXISTS", "restoring") == "1" {
			i.Target, i.App = target, b.App
			if _, err := i.Run(b.Ctx); !errors.Is(err, import2009.ErrNotEmpty) || !strings.Contains(err.Error(), "redis://old") {
				t.Errorf("import of another source after %d commands: %v, want ErrNotEmpty", cut, err)
			}
		}
		if !completed {
			if _, err := b.importFrom(old).Run(b.Ctx); err != nil {
				t.Fatalf("killed after %d: %v", cut, err)
			}
		}
		if got := dump(t, target); !slices.Equal(got, want) {
			t.Fatalf("killed after %d:\n%s\nwant\n%s", cut, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		b.WantHealthy()
		if completed {
			t.Logf("an import takes up to %d commands", cut)
			break
		}
	}
}

// canceling cancels a context on the first warning.
type canceling struct {
	slog.Handler
	cancel context.CancelFunc
}

func (c canceling) Handle(ctx context.Context, r slog.Record) error {
	c.cancel()
	return c.Handler.Handle(ctx, r)
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		old, target [][]string
		want        error
	}{
		"an empty source":    {nil, nil, import2009.ErrNot2009},
		"a site of 2014":     {[][]string{{"HSET", "users", "antirez", "1"}, {"HSET", "post:1", "body", "x"}}, nil, import2009.ErrNot2009},
		"a target with keys": {article(), [][]string{{"SET", "x", "y"}}, import2009.ErrNotEmpty},
		"a partial restore":  {article(), [][]string{{"SET", "restoring", "4711"}}, import2009.ErrNotEmpty},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := on(t, source(t, test.target))
			before := dump(t, b.DB)
			if _, err := b.importFrom(source(t, test.old)).Run(b.Ctx); !errors.Is(err, test.want) {
				t.Errorf("Run = %v, want %v", err, test.want)
			}
			if after := dump(t, b.DB); !slices.Equal(after, before) {
				t.Errorf("Run changed the target to %q", after)
			}
		})
	}
}
