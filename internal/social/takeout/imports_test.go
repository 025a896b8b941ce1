package takeout_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/check"
	"retwis/internal/social/limits"
	"retwis/internal/social/moderation"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
	"retwis/internal/social/takeout"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind takeout.Kind
		file string
		want string // entries, or the beginning of the error
	}{
		"Mastodon's follows": {takeout.Follows, "Account address,Show boosts,Notify on new posts,Languages\nada@example.com,true,false,\nBen,true,false,\n", "ada@example.com|Ben"},
		"Mastodon's mutes":   {takeout.Mutes, "Account address,Hide notifications\r\nada@example.com,true\r\n", "ada@example.com"},
		"Mastodon's blocks":  {takeout.Blocks, "ada@example.com\nben@example.com\nada@example.com\n", "ada@example.com|ben@example.com"},
		"Mastodon's bookmarks": {
			takeout.Bookmarks, "https://here.example/u/ada/7\nhttps://there.example/u/ada/7\nhttps://here.example/post/8\nhttps://here.example/about\n",
			"/u/ada/7|https://there.example/u/ada/7|/post/8|/about",
		},
		"follows of Retwis": {takeout.Follows, "username,since\r\nnew,2026-02-01T00:00:00Z\r\nold,2026-01-01T00:00:00Z\r\n", "old|new"},
		"mutes of Retwis":   {takeout.Mutes, "username,until\r\nada,2030-01-01T00:00:00Z\r\nben,\r\n", "ben|ada 1893456000"},
		"blocks of Retwis":  {takeout.Blocks, "username,until\r\nada,2030-01-01T00:00:00Z\r\nben,\r\n", "ben|ada 1893456000"},
		"bookmarks of Retwis": {
			takeout.Bookmarks, "post,author,time,address\r\n9,ada,,https://here.example/u/ada/9\r\n7,ben,,https://there.example/u/ben/7\r\n5,eve,,/u/eve/5\r\n3,eve,,\r\n",
			"/u/eve/3|/u/eve/5|https://there.example/u/ben/7|/u/ada/9",
		},
		"an id alone":     {takeout.Bookmarks, "9\n", "9"},
		"typed":           {takeout.Follows, "\ufeff@ada\n\n  ben \nnot a name\n@\n", "ada|ben|? not a name"},
		"a damaged line":  {takeout.Follows, "a\"da\n\"ben\neve,x\n", "a\"da|ben|eve"},
		"blanks":          {takeout.Follows, "Ada L <ada@there.example>\nben @there.example\n", "? Ada L <ada@there.example>|? ben @there.example"},
		"a long line":     {takeout.Follows, "ada\n" + strings.Repeat("x", 300) + "\n", "ada|? " + strings.Repeat("x", 256) + "…"},
		"CR line ends":    {takeout.Follows, "Account address,Show boosts\rada@there.example,true\rben,true\r", "ada@there.example|ben"},
		"tabs":            {takeout.Follows, "username\tsince\nada\t2026-01-01\nben\t\n", "ben|ada"},
		"semicolons":      {takeout.Follows, "Account address;Show boosts\nada;true\n", "ada"},
		"UTF-16 and tabs": {takeout.Follows, "\xff\xfeA\x00d\x00a\x00\t\x00x\x00\r\x00\n\x00b\x00", "Ada|b"},
		"nothing":         {takeout.Follows, " \n", "There is nothing"},
		"another kind":    {"notes", "ada", "Choose what"},
		"too many":        {takeout.Follows, lines(10_001), "This file has 10,001 entries"},
		"too large":       {takeout.Follows, strings.Repeat("x", takeout.MaxFile+1), "This file is too large"},
		"binary":          {takeout.Follows, "PK\x03\x04\x00\x00", "PK"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entries, err := takeout.Parse(c.kind, []byte(c.file), "here.example")
			got := strings.Join(entries, "|")
			var invalid *social.InvalidError
			if errors.As(err, &invalid) {
				got = invalid.Reason.String()
			}
			if !strings.HasPrefix(got, c.want) || err == nil && got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func lines(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "user%d@example.com\n", i)
	}
	return all.String()
}

func FuzzParse(f *testing.F) {
	f.Add("username,since\r\nada,", "follows")
	f.Fuzz(func(t *testing.T, file, kind string) {
		entries, err := takeout.Parse(takeout.Kind(kind), []byte(file), "here.example")
		if err == nil && (len(entries) == 0 || len(entries) > takeout.MaxEntries) {
			t.Errorf("%d entries", len(entries))
		}
		for _, entry := range entries {
			if entry == "" || strings.ContainsAny(entry, "\n\r") {
				t.Errorf("entry %q", entry)
			}
		}
	})
}

// importsIdle makes a process leave the background to others, and removes the limits.
func importsIdle(opt *app.Options) { opt.NoJobs, opt.Limits = true, limits.Off() }

func importsDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// finish runs the import of a user to completion, in this process.
func finish(t *testing.T, b *socialtest.Bundle, user social.User) (takeout.Progress, []takeout.Entry) {
	t.Helper()
	p, _, err := b.Imports.Get(b.Ctx, user)
	importsDo(t, err)
	importsDo(t, b.FanOut().Tasks().Finish(b.Ctx, takeout.Task(user.ID, p.ID)))
	p, left, err := b.Imports.Get(b.Ctx, user)
	importsDo(t, err)
	return p, left
}

// Each kind of list does what the buttons of the site do. What is not possible is reported, without
// revealing who has blocked the user.
func TestKinds(t *testing.T) {
	t.Parallel()
	b := socialtest.On(t, redistest.DB(t).Client(t), importsIdle)
	ada, ben, eve, carl := b.NewUser("ada"), b.NewUser("Ben"), b.NewUser("eve"), b.NewUser("carl")
	b.NewUser("dora")
	id, other := b.Publish(ben, "worth keeping"), b.Publish(eve, "not by ben")
	importsDo(t, b.Relations.Block(b.Ctx, eve, ada, time.Time{}))
	importsDo(t, b.Moderation.SetStanding(b.Ctx, social.Operator, carl.ID, moderation.StandingChange{Standing: social.Suspended}))
	for _, c := range []struct {
		kind takeout.Kind
		file string
		key  string
		want string // the members of the key
		left string
	}{
		{takeout.Follows, "ben@there.example\nnobody@there.example\neve\ncarl\nada\n", storage.FollowingKey(ada.ID), storage.Itoa(ben.ID), "-nobody@there.example -eve -carl !ada"},
		{takeout.Mutes, "username,until\nben,2030-01-01T00:00:00Z\ncarl,2001-01-01T00:00:00Z\n", storage.MutedKey(ada.ID), storage.Itoa(ben.ID), "-carl"},
		{takeout.Bookmarks, "post,author,time\n" + storage.Itoa(id) + ",Ben,\n" + storage.Itoa(other) + ",ben,\n999,,\n", storage.BookmarksKey(ada.ID), storage.Itoa(id), "-999 -/u/ben/" + storage.Itoa(other)},
		{
			takeout.Bookmarks, "https://here.example/u/ben/" + storage.Itoa(other) + "\nhttps://there.example/post/" + storage.Itoa(other) + "\n" + storage.Itoa(other) + "\nwhat is this\n", storage.BookmarksKey(ada.ID), storage.Itoa(id),
			"-/u/ben/" + storage.Itoa(other) + " -https://there.example/post/" + storage.Itoa(other) + " -" + storage.Itoa(other) + " ?what is this",
		},
		{takeout.Blocks, "username,until\nben,2030-01-01T00:00:00Z\ndora,2001-01-01T00:00:00Z\n", storage.BlockedKey(ada.ID), storage.Itoa(ben.ID), "!dora"},
	} {
		entries, err := takeout.Parse(c.kind, []byte(c.file), "here.example")
		importsDo(t, err)
		importsDo(t, b.Imports.Begin(b.Ctx, ada, c.kind, entries))
		p, left := finish(t, b, ada)
		var got []string
		for _, entry := range left {
			got = append(got, string(entry.Mark)+entry.Text)
		}
		if p.State != takeout.Finished || p.Done != p.Total || p.Failed != len(left) || strings.Join(got, " ") != c.left {
			t.Errorf("%s: %+v, left %q", c.kind, p, got)
		}
		if members := b.Redis("ZRANGE", c.key, "0", "-1"); members != c.want {
			t.Errorf("%s: %s has %q", c.kind, c.key, members)
		}
		if ttl := b.Redis("TTL", storage.ImportKey(ada.ID)); ttl == "-1" || ttl == "-2" {
			t.Errorf("the result of an import expires in %s seconds", ttl)
		}
	}
	// A list can extend a mute or a block, but not shorten it.
	for _, c := range []struct{ until, want string }{
		{"2029-01-01T00:00:00Z", "1893456000"}, {"2031-01-01T00:00:00Z", "1924992000"}, {"", "inf"}, {"2029-01-01T00:00:00Z", "inf"},
	} {
		for kind, key := range map[takeout.Kind]string{takeout.Mutes: storage.MutedKey(ada.ID), takeout.Blocks: storage.BlockedKey(ada.ID)} {
			entries, err := takeout.Parse(kind, []byte("username,until\nben,"+c.until+"\n"), "here.example")
			importsDo(t, err)
			importsDo(t, b.Imports.Begin(b.Ctx, ada, kind, entries))
			finish(t, b, ada)
			if end := b.Redis("ZSCORE", key, storage.Itoa(ben.ID)); end != c.want {
				t.Errorf("with a list until %s, the end in %s is %s, expected %s", c.until, key, end, c.want)
			}
		}
	}
	b.WantHealthy()
}

// A user can have one import at a time; it can be stopped, and ends with the account.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	b := socialtest.On(t, redistest.DB(t).Client(t), func(opt *app.Options) { opt.NoJobs = true })
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	many := strings.Fields(lines(200))
	importsDo(t, b.Imports.Begin(b.Ctx, ada, takeout.Follows, many))
	var invalid *social.InvalidError
	if err := b.Imports.Begin(b.Ctx, ada, takeout.Blocks, []string{"ben"}); !errors.As(err, &invalid) {
		t.Errorf("a second import: %v", err)
	}
	importsDo(t, b.Imports.Begin(b.Ctx, ben, takeout.Follows, many)) // another user's
	p, _, err := b.Imports.Get(b.Ctx, ada)
	importsDo(t, err)
	b.FanOut().Tasks().Run(b.Ctx, takeout.Task(ada.ID, p.ID))
	if p, _, err = b.Imports.Get(b.Ctx, ada); err != nil || p.Done != 60 || p.State != takeout.Running { // as limits.Import allows
		t.Errorf("%+v, %v", p, err)
	}
	importsDo(t, b.Imports.Stop(b.Ctx, ada))
	p, left, err := b.Imports.Get(b.Ctx, ada)
	importsDo(t, err)
	if p.State != takeout.Stopped || len(left) != 200 || left[0].Mark != takeout.NotFound || left[199].Mark != takeout.Pending {
		t.Errorf("%+v, %d entries left", p, len(left))
	}
	importsDo(t, b.FanOut().Tasks().Finish(b.Ctx, takeout.Task(ada.ID, p.ID)))
	importsDo(t, b.Imports.Begin(b.Ctx, ada, takeout.Blocks, []string{"ben"}))

	importsDo(t, b.Leaving.DeleteAccount(b.Ctx, ben.ID))
	b.Clock.Advance(time.Minute)
	importsDo(t, b.Leaving.FinishRemoval(b.Ctx, ben.ID))
	if left := b.Redis("EXISTS", storage.ImportKey(ben.ID)) + b.Redis("EXISTS", storage.ImportEntriesKey(ben.ID)); left != "00" {
		t.Error("the import of a deleted account is left")
	}
	finish(t, b, ada)
}

// A check finds an import whose task is lost, and continues it.
func TestLostTask(t *testing.T) {
	t.Parallel()
	b := socialtest.On(t, redistest.DB(t).Client(t), importsIdle)
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	importsDo(t, b.Imports.Begin(b.Ctx, ada, takeout.Follows, []string{"ben"}))
	p, _, err := b.Imports.Get(b.Ctx, ada)
	importsDo(t, err)
	b.Redis("ZREM", storage.Tasks, takeout.Task(ada.ID, p.ID))
	if _, err := check.Repair(b.Ctx, b.App, check.Options{}); err != nil {
		t.Fatal(err)
	}
	if b.Redis("ZSCORE", storage.Tasks, takeout.Task(ada.ID, p.ID)) == "" {
		t.Fatal("the task is still lost")
	}
	finish(t, b, ada)
	if b.Redis("ZSCORE", storage.FollowingKey(ada.ID), storage.Itoa(ben.ID)) == "" {
		t.Error("ada does not follow ben")
	}
}

// resending sends commands that contain a word twice, like a client whose connection broke before
// the reply.
type resending struct {
	rueidis.Client
	word string
}

func (r resending) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	if strings.Contains(strings.Join(cmds[0].Commands(), " "), r.word) {
		for i, cmd := range cmds {
			cmds[i] = cmd.Pin()
		}
		r.Client.DoMulti(ctx, cmds...)
	}
	return r.Client.DoMulti(ctx, cmds...)
}

// An import continues after the reply to a note was lost, even for the last entry.
func TestLostReply(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := socialtest.On(t, client, importsIdle)
	ada, ben, carl := b.NewUser("ada"), b.NewUser("ben"), b.NewUser("carl")
	importsDo(t, b.Imports.Begin(b.Ctx, ben, takeout.Follows, []string{"carl"}))
	finish(t, b, ben) // now the server knows the scripts, so none is sent twice for that reason
	importsDo(t, b.Imports.Begin(b.Ctx, ada, takeout.Follows, []string{"ben", "carl"}))
	for _, word := range []string{"+ben", "+carl"} {
		p, _, err := b.Imports.Get(b.Ctx, ada)
		importsDo(t, err)
		unlucky := socialtest.On(t, resending{client, word}, importsIdle)
		unlucky.FanOut().Tasks().Run(b.Ctx, takeout.Task(ada.ID, p.ID))
		if b.Redis("ZSCORE", storage.Tasks, takeout.Task(ada.ID, p.ID)) == "" {
			t.Errorf("%s: the task is lost", word)
		}
	}
	p, left := finish(t, b, ada)
	if p.State != takeout.Finished || p.Done != 2 || len(left) != 0 {
		t.Errorf("%+v, left %v", p, left)
	}
	for _, other := range []social.User{ben, carl} {
		if b.Redis("ZSCORE", storage.FollowingKey(ada.ID), storage.Itoa(other.ID)) == "" {
			t.Errorf("ada does not follow %s", other.Name)
		}
	}
}

// Two processes working on the same import both reach its end, and each entry counts once.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := socialtest.On(t, client, importsIdle)
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	importsDo(t, b.Imports.Begin(b.Ctx, ada, takeout.Follows, append([]string{"ben"}, strings.Fields(lines(50))...)))
	p, _, err := b.Imports.Get(b.Ctx, ada)
	importsDo(t, err)
	ends := make(chan error, 2)
	for range 2 {
		process := socialtest.On(t, client, importsIdle)
		go func() { ends <- process.FanOut().Tasks().Finish(b.Ctx, takeout.Task(ada.ID, p.ID)) }()
	}
	importsDo(t, errors.Join(<-ends, <-ends))
	p, left, err := b.Imports.Get(b.Ctx, ada)
	importsDo(t, err)
	if p.State != takeout.Finished || p.Done != 51 || p.Failed != 50 || len(left) != 50 {
		t.Errorf("%+v, %d entries left", p, len(left))
	}
	if n := b.Redis("LLEN", storage.NotificationsKey(ben.ID)); n != "1" {
		t.Errorf("ben has %s notifications", n)
	}
}

// An import whose process is killed twice is complete, and everybody is notified once.
func TestImportsKilled(t *testing.T) {
	t.Parallel()
	people := 100
	if redistest.Long {
		people = 5000
	}
	client := redistest.DB(t).Client(t)
	b := socialtest.On(t, client, importsIdle)
	ada := b.NewUser("ada")
	names := make([]string, people)
	uids := make([]string, people)
	for i := range names {
		names[i], uids[i] = fmt.Sprintf("user%d", i), storage.Itoa(int64(1000+i))
		b.Redis("HSET", storage.UserPrefix+uids[i], "username", names[i])
		b.Redis("HSET", storage.UserNames, names[i], uids[i])
	}
	importsDo(t, b.Imports.Begin(b.Ctx, ada, takeout.Follows, names))
	p, _, err := b.Imports.Get(b.Ctx, ada)
	importsDo(t, err)
	for range 2 {
		dying := socialtest.On(t, socialtest.Dying(client, int64(people)*6), importsIdle)
		if err := dying.FanOut().Tasks().Finish(b.Ctx, takeout.Task(ada.ID, p.ID)); err == nil {
			t.Fatal("the process was not killed in time")
		}
		now, _, err := b.Imports.Get(b.Ctx, ada)
		importsDo(t, err)
		if now.Done == 0 || now.Done == people {
			t.Errorf("killed after %d entries", now.Done)
		}
	}
	last, left := finish(t, b, ada)
	if last.State != takeout.Finished || last.Done != people || last.Failed != 0 || len(left) != 0 {
		t.Errorf("%+v, left %v", last, left)
	}
	followed := strings.Fields(b.Redis("ZRANGE", storage.FollowingKey(ada.ID), "0", "-1"))
	slices.Sort(followed)
	slices.Sort(uids)
	if !slices.Equal(followed, uids) {
		t.Errorf("ada follows %d people, want %d", len(followed), people)
	}
	cmds := make(rueidis.Commands, people)
	for i := range people {
		cmds[i] = client.B().Llen().Key(storage.NotificationsKey(int64(1000 + i))).Build()
	}
	missed := 0
	for i, res := range client.DoMulti(b.Ctx, cmds...) {
		n, err := res.AsInt64()
		importsDo(t, err)
		if n > 1 {
			t.Errorf("user %d has %d notifications", 1000+i, n)
		}
		if n == 0 {
			missed++
		}
	}
	if missed > 2 { // the two who were followed when the process died, as with any follow
		t.Errorf("%d people were not notified", missed)
	}
}

// An import that waits for its limits, possibly for days, blocks nobody: it leaves the job queue,
// and continues later.
func TestWaitsOutsideQueue(t *testing.T) {
	t.Parallel()
	config := limits.Off()
	importsDo(t, config.Set("import=2/1h"))
	b := socialtest.On(t, redistest.DB(t).Client(t), func(opt *app.Options) { opt.Limits = config })
	ada := b.NewUser("ada")
	importsDo(t, b.Imports.Begin(b.Ctx, ada, takeout.Follows, []string{"ben", "cyd", "dan"}))
	done := func(want int) func() bool {
		return func() bool {
			p, _, err := b.Imports.Get(b.Ctx, ada)
			importsDo(t, err)
			queues, err := b.Jobs(b.Ctx)
			importsDo(t, err)
			return p.Done == want && queues[0].Stats.Running == 0
		}
	}
	b.Eventually("what the limit allows", done(2))
	p, _, err := b.Imports.Get(b.Ctx, ada)
	importsDo(t, err)
	if b.Redis("ZSCORE", storage.Tasks, takeout.Task(ada.ID, p.ID)) == "" {
		t.Fatal("the import is no task any more")
	}
	if b.Redis("DEL", fmt.Sprintf("ratelimit:import:{%d}:1h", ada.ID)) != "1" {
		t.Fatal("there is no limit")
	}
	b.Eventually("the rest", func() bool {
		b.Expire()
		return done(3)()
	})
}
