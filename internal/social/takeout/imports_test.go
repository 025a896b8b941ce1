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
				t.Errorf("Parse: %q, want %q", got, c.want)
			}
		})
	}
}

// lines returns a file with n accounts.
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
			t.Errorf("Parse returned %d entries, want 1 to %d", len(entries), takeout.MaxEntries)
		}
		for _, entry := range entries {
			if entry == "" || strings.ContainsAny(entry, "\n\r") {
				t.Errorf("entry %q", entry)
			}
		}
	})
}

// finish runs the import of a user to completion, in this process.
func finish(t *testing.T, b *socialtest.Bundle, user social.User) (takeout.Progress, []takeout.Entry) {
	t.Helper()
	p, _, err := b.Imports.Get(b.Ctx, user)
	must(t, err)
	must(t, b.FanOut().Tasks().Finish(b.Ctx, takeout.Task(user.ID, p.ID)))
	p, left, err := b.Imports.Get(b.Ctx, user)
	must(t, err)
	return p, left
}

// Each kind of list has the same effect as the buttons of the site. Entries that fail are reported
// without revealing who has blocked the user.
func TestKinds(t *testing.T) {
	t.Parallel()
	b := socialtest.On(t, redistest.DB(t).Client(t), noJobs)
	ada, ben, eve, carl := b.NewUser("ada"), b.NewUser("Ben"), b.NewUser("eve"), b.NewUser("carl")
	b.NewUser("dora")
	id, other := b.Publish(ben, "worth keeping"), b.Publish(eve, "not by ben")
	must(t, b.Relations.Block(b.Ctx, eve, ada, time.Time{}))
	must(t, b.Moderation.SetStanding(b.Ctx, social.Operator, carl.ID, moderation.StandingChange{Standing: social.Suspended}))
	for _, c := range []struct {
		kind takeout.Kind
		file string
		key  string
		want string // the members of the key
		left string // the failed entries with their marks
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
		must(t, err)
		must(t, b.Imports.Begin(b.Ctx, ada, c.kind, entries))
		p, left := finish(t, b, ada)
		var got []string
		for _, entry := range left {
			got = append(got, string(entry.Mark)+entry.Text)
		}
		if p.State != takeout.Finished || p.Done != p.Total || p.Failed != len(left) || strings.Join(got, " ") != c.left {
			t.Errorf("%s: %+v, failed entries %q, want %s", c.kind, p, got, c.left)
		}
		if members := b.Redis("ZRANGE", c.key, "0", "-1"); members != c.want {
			t.Errorf("%s: %s has %q, want %q", c.kind, c.key, members, c.want)
		}
		if ttl := b.Redis("TTL", storage.ImportKey(ada.ID)); ttl == "-1" || ttl == "-2" {
			t.Errorf("the result of an import expires in %s seconds", ttl)
		}
	}
	// A list can extend but not shorten a mute or a block.
	for _, c := range []struct{ until, want string }{
		{"2029-01-01T00:00:00Z", "1893456000"}, {"2031-01-01T00:00:00Z", "1924992000"}, {"", "inf"}, {"2029-01-01T00:00:00Z", "inf"},
	} {
		for kind, key := range map[takeout.Kind]string{takeout.Mutes: storage.MutedKey(ada.ID), takeout.Blocks: storage.BlockedKey(ada.ID)} {
			entries, err := takeout.Parse(kind, []byte("username,until\nben,"+c.until+"\n"), "here.example")
			must(t, err)
			must(t, b.Imports.Begin(b.Ctx, ada, kind, entries))
			finish(t, b, ada)
			if end := b.Redis("ZSCORE", key, storage.Itoa(ben.ID)); end != c.want {
				t.Errorf("after a list with the end %s, the end in %s is %s, want %s", c.until, key, end, c.want)
			}
		}
	}
	b.WantHealthy()
}

// A user can have one import at a time. The user can stop the import, and removing the account
// deletes the import.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	b := socialtest.On(t, redistest.DB(t).Client(t), func(opt *app.Options) { opt.NoJobs = true })
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	many := strings.Fields(lines(200))
	must(t, b.Imports.Begin(b.Ctx, ada, takeout.Follows, many))
	var invalid *social.InvalidError
	if err := b.Imports.Begin(b.Ctx, ada, takeout.Blocks, []string{"ben"}); !errors.As(err, &invalid) {
		t.Errorf("Begin of a second import: %v, want InvalidError", err)
	}
	must(t, b.Imports.Begin(b.Ctx, ben, takeout.Follows, many)) // another user can have an import
	p, _, err := b.Imports.Get(b.Ctx, ada)
	must(t, err)
	b.FanOut().Tasks().Run(b.Ctx, takeout.Task(ada.ID, p.ID))
	if p, _, err = b.Imports.Get(b.Ctx, ada); err != nil || p.Done != 60 || p.State != takeout.Running { // as limits.Import allows
		t.Errorf("progress %+v, %v; want 60 done and Running", p, err)
	}
	must(t, b.Imports.Stop(b.Ctx, ada))
	p, left, err := b.Imports.Get(b.Ctx, ada)
	must(t, err)
	if p.State != takeout.Stopped || len(left) != 200 || left[0].Mark != takeout.NotFound || left[199].Mark != takeout.Pending {
		t.Errorf("after Stop: %+v, %d entries left, want 200", p, len(left))
	}
	must(t, b.FanOut().Tasks().Finish(b.Ctx, takeout.Task(ada.ID, p.ID)))
	must(t, b.Imports.Begin(b.Ctx, ada, takeout.Blocks, []string{"ben"}))

	must(t, b.Leaving.DeleteAccount(b.Ctx, ben.ID))
	b.Clock.Advance(time.Minute)
	must(t, b.Leaving.FinishRemoval(b.Ctx, ben.ID))
	if left := b.Redis("EXISTS", storage.ImportKey(ben.ID)) + b.Redis("EXISTS", storage.ImportEntriesKey(ben.ID)); left != "00" {
		t.Error("the import of the removed account was not deleted")
	}
	finish(t, b, ada)
}

// Repair restores the task of an import whose task is lost.
func TestLostTask(t *testing.T) {
	t.Parallel()
	b := socialtest.On(t, redistest.DB(t).Client(t), noJobs)
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	must(t, b.Imports.Begin(b.Ctx, ada, takeout.Follows, []string{"ben"}))
	p, _, err := b.Imports.Get(b.Ctx, ada)
	must(t, err)
	b.Redis("ZREM", storage.Tasks, takeout.Task(ada.ID, p.ID))
	if _, err := check.Repair(b.Ctx, b.App, check.Options{}); err != nil {
		t.Fatal(err)
	}
	if b.Redis("ZSCORE", storage.Tasks, takeout.Task(ada.ID, p.ID)) == "" {
		t.Fatal("Repair did not restore the task")
	}
	finish(t, b, ada)
	if b.Redis("ZSCORE", storage.FollowingKey(ada.ID), storage.Itoa(ben.ID)) == "" {
		t.Error("ada does not follow ben")
	}
}

// resending is a client that sends commands that contain word twice, like a client whose connection
// broke before the reply.
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

// An import continues after the reply to the command that records an entry was lost, even for the
// last entry.
func TestLostReply(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := socialtest.On(t, client, noJobs)
	ada, ben, carl := b.NewUser("ada"), b.NewUser("ben"), b.NewUser("carl")
	must(t, b.Imports.Begin(b.Ctx, ben, takeout.Follows, []string{"carl"}))
	finish(t, b, ben) // loads the scripts, so that no script is sent twice because the server has not loaded it
	must(t, b.Imports.Begin(b.Ctx, ada, takeout.Follows, []string{"ben", "carl"}))
	for _, word := range []string{"+ben", "+carl"} {
		p, _, err := b.Imports.Get(b.Ctx, ada)
		must(t, err)
		unlucky := socialtest.On(t, resending{client, word}, noJobs)
		unlucky.FanOut().Tasks().Run(b.Ctx, takeout.Task(ada.ID, p.ID))
		if b.Redis("ZSCORE", storage.Tasks, takeout.Task(ada.ID, p.ID)) == "" {
			t.Errorf("%s: the task was removed", word)
		}
	}
	p, left := finish(t, b, ada)
	if p.State != takeout.Finished || p.Done != 2 || len(left) != 0 {
		t.Errorf("import: %+v, left %v; want 2 done and none left", p, left)
	}
	for _, other := range []social.User{ben, carl} {
		if b.Redis("ZSCORE", storage.FollowingKey(ada.ID), storage.Itoa(other.ID)) == "" {
			t.Errorf("ada does not follow %s", other.Name)
		}
	}
}

// If two processes work on the same import, both finish without error, and each entry counts once.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := socialtest.On(t, client, noJobs)
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	must(t, b.Imports.Begin(b.Ctx, ada, takeout.Follows, append([]string{"ben"}, strings.Fields(lines(50))...)))
	p, _, err := b.Imports.Get(b.Ctx, ada)
	must(t, err)
	results := make(chan error, 2)
	for range 2 {
		process := socialtest.On(t, client, noJobs)
		go func() { results <- process.FanOut().Tasks().Finish(b.Ctx, takeout.Task(ada.ID, p.ID)) }()
	}
	must(t, errors.Join(<-results, <-results))
	p, left, err := b.Imports.Get(b.Ctx, ada)
	must(t, err)
	if p.State != takeout.Finished || p.Done != 51 || p.Failed != 50 || len(left) != 50 {
		t.Errorf("import: %+v, %d entries left, want 50", p, len(left))
	}
	if n := b.Redis("LLEN", storage.NotificationsKey(ben.ID)); n != "1" {
		t.Errorf("ben has %s notifications, want 1", n)
	}
}

// An import whose process is killed twice is completed, and followed users get one notification
// each.
func TestImportsKilled(t *testing.T) {
	t.Parallel()
	people := 100
	if redistest.Long {
		people = 5000
	}
	client := redistest.DB(t).Client(t)
	b := socialtest.On(t, client, noJobs)
	ada := b.NewUser("ada")
	names := make([]string, people)
	uids := make([]string, people)
	for i := range names {
		names[i], uids[i] = fmt.Sprintf("user%d", i), storage.Itoa(int64(1000+i))
		b.Redis("HSET", storage.UserPrefix+uids[i], "username", names[i])
		b.Redis("HSET", storage.UserNames, names[i], uids[i])
	}
	must(t, b.Imports.Begin(b.Ctx, ada, takeout.Follows, names))
	p, _, err := b.Imports.Get(b.Ctx, ada)
	must(t, err)
	for range 2 {
		dying := socialtest.On(t, socialtest.Dying(client, int64(people)*6), noJobs)
		if err := dying.FanOut().Tasks().Finish(b.Ctx, takeout.Task(ada.ID, p.ID)); err == nil {
			t.Fatal("the process was not killed in time")
		}
		progress, _, err := b.Imports.Get(b.Ctx, ada)
		must(t, err)
		if progress.Done == 0 || progress.Done == people {
			t.Errorf("killed after %d of %d entries", progress.Done, people)
		}
	}
	last, left := finish(t, b, ada)
	if last.State != takeout.Finished || last.Done != people || last.Failed != 0 || len(left) != 0 {
		t.Errorf("import: %+v, left %v; want all done and none left", last, left)
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
		must(t, err)
		if n > 1 {
			t.Errorf("user %d has %d notifications, want 1", 1000+i, n)
		}
		if n == 0 {
			missed++
		}
	}
	if missed > 2 { // each kill can lose the notification of one follow
		t.Errorf("%d users were not notified, want at most 2", missed)
	}
}

// An import that waits for its limits, possibly for days, leaves the job queue and continues later.
func TestWaitsOutsideQueue(t *testing.T) {
	t.Parallel()
	config := limits.Off()
	must(t, config.Set("import=2/1h"))
	b := socialtest.On(t, redistest.DB(t).Client(t), func(opt *app.Options) { opt.Limits = config })
	ada := b.NewUser("ada")
	must(t, b.Imports.Begin(b.Ctx, ada, takeout.Follows, []string{"ben", "cyd", "dan"}))
	done := func(want int) func() bool {
		return func() bool {
			p, _, err := b.Imports.Get(b.Ctx, ada)
			must(t, err)
			queues, err := b.Jobs(b.Ctx)
			must(t, err)
			return p.Done == want && queues[0].Stats.Running == 0
		}
	}
	b.Eventually("the entries that the limit allows", done(2))
	p, _, err := b.Imports.Get(b.Ctx, ada)
	must(t, err)
	if b.Redis("ZSCORE", storage.Tasks, takeout.Task(ada.ID, p.ID)) == "" {
		t.Fatal("the import has no task")
	}
	if b.Redis("DEL", fmt.Sprintf("ratelimit:import:{%d}:1h", ada.ID)) != "1" {
		t.Fatal("no limit was recorded")
	}
	b.Eventually("the last entry", func() bool {
		b.Expire()
		return done(3)()
	})
}
