package takeout_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/files"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/check"
	"retwis/internal/social/media"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
	"retwis/internal/social/takeout"
)

// Import adds the posts of each kind of archive to the profile, after the posts of this site, and
// counts what cannot be imported.
func TestImport(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("word ", 100))
	items := []object{
		postActivity(3, day(3), "<p>third</p>", repliesTo(1)),
		postActivity(1, day(1), `<p>first by <span class="h-card"><a href="https://there.example/@ben" class="u-url mention">@<span>ben</span></a></span> and @ben</p>`),
		postActivity(2, day(2), "<p>second #tag</p>", with("to", []string{followers}), with("cc", []string{everybody}), with("summary", "a film")),
		postActivity(4, day(4), "<p>"+long+"</p>"),
		postActivity(5, day(5), "<p>more</p>", repliesTo(4)),
		postActivity(6, day(6), "<p>for followers</p>", with("to", []string{followers}), with("cc", []string{})),
		postActivity(7, day(7), "<p>to others</p>", with("inReplyTo", "https://there.example/users/ben/statuses/1")),
		postActivity(8, day(8), "<p>to what is left out</p>", repliesTo(7)),
		postActivity(9, day(9), "", with("attachment", []object{attached("/media_attachments/files/1/a.png", "A grey square")})),
		postActivity(10, day(10), "<p> </p>"),
		postActivity(1, day(11), "<p>twice</p>"),
		postActivity(12, time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), "<p>of the future</p>"),
		postActivity(13, day(13), "<p>red or blue?</p>", with("type", "Question"), with("oneOf", []object{{"name": "red"}, {"name": "blue"}})),
		{"type": "Announce", "object": "https://there.example/users/ben/statuses/1"},
		{"type": "Like", "object": 7},
		postActivity(14, day(14), "<p>pictures</p>", with("sensitive", true), with("attachment", []object{
			attached("/media_attachments/files/1/a.png", "x"), attached("/media_attachments/../outbox.json", ""), attached("/media_attachments/none.png", ""),
			attached("media_attachments/text.png", ""),
			{"mediaType": "video/mp4", "url": "/media_attachments/files/2/b.mp4"},
		})),
	}
	archived := contents{
		"outbox.json": outbox(t, items), "media_attachments/files/1/a.png": picture(t, 8, 8), "media_attachments/text.png": []byte("text"), "actor.json": []byte("{}"),
	}
	inDir := contents{}
	for name, data := range archived {
		inDir["archive-1/"+name] = data
	}
	for kind, name := range map[string]string{"directory": archived.dir(t), "zip": archived.zip(t), "tar": archived.tar(t), "zip of a directory": inDir.zip(t), "tar of a directory": inDir.tar(t)} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			place, err := files.Open(t.TempDir(), func(string) string { return "" })
			must(t, err)
			b := socialtest.On(t, redistest.DB(t).Client(t), noJobs, func(opt *app.Options) { opt.Media = place })
			ada, ben := b.NewUser("ada"), b.NewUser("ben")
			b.Connect(ben, ada)
			b.Publish(ada, "written here")
			home := b.Redis("LRANGE", storage.HomeKey(ben.ID), "0", "-1")
			a := open(t, name)
			want := takeout.Report{
				Posts: 9, Split: 1, Pictures: 2,
				LeftOut: map[takeout.Reason]int{
					takeout.Reply: 2, takeout.NotPublic: 1, takeout.Empty: 1, takeout.Repeated: 1, takeout.Undated: 1, takeout.Boost: 1, takeout.Other: 1,
				},
				PicturesLeftOut: map[takeout.Reason]int{takeout.NoFile: 2, takeout.WrongType: 1, takeout.NoPicture: 1},
			}
			dry, err := b.Archives.Import(b.Ctx, ada.ID, a, true, func(int, int) {})
			must(t, err)
			if b.Redis("EXISTS", storage.ArchiveKey(ada.ID), storage.ImportedKey(ada.ID)) != "0" {
				t.Error("the dry run wrote to the database")
			}
			wantDry := want
			wantDry.Pictures, wantDry.PicturesLeftOut = 3, map[takeout.Reason]int{takeout.NoFile: 2, takeout.NoPicture: 1}
			if fmt.Sprint(dry) != fmt.Sprint(wantDry) {
				t.Errorf("dry run: %+v, want %+v", dry, wantDry)
			}
			if r := run(t, b, ada, a); fmt.Sprint(r) != fmt.Sprint(want) {
				t.Errorf("Import = %+v, want %+v", r, want)
			}
			got := profile(t, b, ada.ID)
			if texts := []string{
				"written here", "pictures", "red or blue?\n\n• red\n• blue", "🖼️", "more", long[280:], long[:279], "third",
				"CW: a film\n\nsecond #tag", "first by @ben@there.example and @ben@there.example",
			}; !slices.Equal(got, texts) {
				t.Errorf("the profile has %q, want %q", got, texts)
			}
			if now := b.Redis("LRANGE", storage.HomeKey(ben.ID), "0", "-1"); now != home || b.Redis("LLEN", storage.NotificationsKey(ben.ID)) != "0" {
				t.Errorf("the home timeline has %s, before %s", now, home)
			}
			if b.Redis("LLEN", storage.Timeline) != "1" || b.Redis("EXISTS", storage.TagKey("tag")) != "0" {
				t.Error("a post is on the public timeline or the page of a tag")
			}
			second := run(t, b, ada, a)
			want.Posts, want.Present, want.Pictures, want.PicturesLeftOut = 0, 9, 0, nil
			if second.Posts != 0 || second.Present != 9 || second.Pictures != 0 {
				t.Errorf("second Import = %+v, want 9 posts present", second)
			}
			b.WantHealthy()
		})
	}
}

// After an import is killed twice, another import completes it, with each post once. The import
// does not change what other users see.
func TestArchiveKilled(t *testing.T) {
	t.Parallel()
	n := 500
	if redistest.Long {
		n = 10_000
	}
	socialtest.OnEach(t, func(t *testing.T, client rueidis.Client) {
		testArchiveKilled(t, client, n)
	})
}

func testArchiveKilled(t *testing.T, client rueidis.Client, n int) {
	t.Helper()
	b := socialtest.On(t, client, noJobs, func(opt *app.Options) { opt.CelebrityFollowers = 1 })
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	b.Connect(ben, ada)
	b.Publish(ben, "mine")
	b.Publish(ada, "not mine") // on a Cluster, ben's home timeline is merged with ada's posts
	before := othersView(t, b, ben)
	a := open(t, contents{"outbox.json": outbox(t, manyPosts(n))}.dir(t))
	for range 2 {
		dying := socialtest.On(t, socialtest.Dying(client, int64(n)*3), noJobs)
		if _, err := dying.Archives.Import(b.Ctx, ada.ID, a, false, func(int, int) {}); err == nil {
			t.Fatal("the process was not killed in time")
		}
	}
	began := time.Now()
	r := run(t, b, ada, a)
	t.Logf("the last import took %v: %+v", time.Since(began), r)
	if r.Posts+r.Present != n || r.Present == 0 || r.Posts == 0 {
		t.Errorf("Import = %+v, want some of %d posts present", r, n)
	}
	texts := profile(t, b, ada.ID)
	if len(texts) != n+1 || texts[0] != "not mine" || texts[1] != fmt.Sprintf("post number%d", n-1) || texts[n] != "post number0" {
		t.Errorf("the profile has %d posts: %q …", len(texts), texts[:2])
	}
	if after := othersView(t, b, ben); after != before {
		t.Errorf("another user sees %q, and saw %q before", after, before)
	}
	if ranges := b.Redis("ZCARD", storage.ImportedKey(ada.ID)); ranges != "1" {
		t.Errorf("%s ranges of IDs, want 1", ranges)
	}
	if found := found(t, b, "number7 from:ada"); len(found) != 1 {
		t.Errorf("search found %q, want 1 post", found)
	}
	b.WantHealthy()
	began = time.Now()
	if r := run(t, b, ada, a); r.Posts != 0 || r.Present != n {
		t.Errorf("repeated Import = %+v, want %d posts present", r, n)
	}
	t.Logf("the repeated import took %v", time.Since(began))
}

// Repeating an import that was killed at any step completes the import.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	step := int64(7)
	if redistest.Long {
		step = 1
	}
	a := open(t, contents{"outbox.json": outbox(t, manyPosts(12))}.dir(t))
	client := redistest.DB(t).Client(t)
	b := socialtest.On(t, client, noJobs)
	for after := int64(1); ; after += step {
		user := b.NewUser(fmt.Sprintf("user%d", after))
		dying := socialtest.On(t, socialtest.Dying(client, after), noJobs)
		_, err := dying.Archives.Import(b.Ctx, user.ID, a, false, func(int, int) {})
		if r := run(t, b, user, a); r.Posts+r.Present != 12 {
			t.Fatalf("after %d commands: %+v", after, r)
		}
		wantAll(t, b, user, 12)
		if err == nil {
			break
		}
	}
	b.WantHealthy()
}

// A search by date finds imported posts and posts of this site.
func TestDays(t *testing.T) {
	t.Parallel()
	b := socialtest.On(t, redistest.DB(t).Client(t), noJobs)
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	b.Publish(ada, "today early")
	var items []object
	for i := range 300 {
		items = append(items, postActivity(i, day(i), fmt.Sprintf("<p>day%d</p>", i)))
	}
	run(t, b, ada, open(t, contents{"outbox.json": outbox(t, items)}.dir(t)))
	run(t, b, ben, open(t, contents{"outbox.json": outbox(t, items[:100])}.dir(t)))
	b.Publish(ben, "today late")
	date := func(n int) string { return day(n).Format(time.DateOnly) }
	for query, want := range map[string]string{
		"from:ben OR day11 after:" + date(9) + " before:" + date(12): "day11 day10 day11",
		"from:ada before:" + date(2):                                 "day1 day0",
		"from:ben after:" + date(97):                                 "today late day99 day98",
		"today":                                                      "today late today early",
		"today after:" + date(299):                                   "today late today early",
		"today before:" + date(299):                                  "",
		"from:ada after:" + date(297) + " before:" + date(301):       "day299 day298",
		"day50 after:" + date(49) + " before:" + date(51):            "day50 day50",
	} {
		if got := strings.Join(found(t, b, query), " "); got != want {
			t.Errorf("search for %s found %q, want %q", query, got, want)
		}
	}
	if got := found(t, b, "from:ada OR from:ben before:"+date(500)); len(got) != 400 {
		t.Errorf("long search found %d posts, want 400", len(got))
	}
}

// Imported posts can be edited, liked, replied to, deleted and exported like other posts. Importing
// a later archive adds only new posts and does not restore deleted posts.
func TestLater(t *testing.T) {
	t.Parallel()
	b := socialtest.On(t, redistest.DB(t).Client(t), noJobs)
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	items := manyPosts(30)
	run(t, b, ada, open(t, contents{"outbox.json": outbox(t, items[:20])}.dir(t)))
	page, err := b.Timelines.Profile(b.Ctx, ada.ID, 0, 20)
	must(t, err)
	edited, deleted, thread := page.IDs[0], page.IDs[19], page.IDs[13] // number19, 0 and 6
	err = b.Posts.Edit(b.Ctx, ada, edited, "changed #tag")
	must(t, err)
	must(t, b.Reactions.Like(b.Ctx, ben, edited))
	_, err = b.Posts.Reply(b.Ctx, ben, thread, "a reply")
	must(t, err)
	must(t, b.Posts.Delete(b.Ctx, ada, deleted))
	must(t, b.RetryTasks(b.Ctx))
	if b.Redis("EXISTS", storage.TagKey("tag")) != "0" {
		t.Error("an imported post is on the page of a tag")
	}
	if got := found(t, b, "changed"); len(got) != 1 {
		t.Errorf("search found %q, want 1 post", got)
	}
	if replies := b.Redis("HGET", storage.PostKey(thread), "replies"); replies != "2" { // including the reply from the archive
		t.Errorf("%s replies, want 2", replies)
	}
	r := run(t, b, ada, open(t, contents{"outbox.json": outbox(t, items)}.dir(t)))
	if r.Posts != 10 || r.Present != 20 {
		t.Errorf("Import of a later archive = %+v, want 10 new posts and 20 present", r)
	}
	texts := profile(t, b, ada.ID)
	if len(texts) != 29 || texts[0] != "post number29" || texts[10] != "changed #tag" {
		t.Errorf("the profile has %q", texts)
	}
	b.WantHealthy()

	var export bytes.Buffer
	must(t, b.Leaving.Export(b.Ctx, ada.ID, "https://here.example", &export))
	z, err := zip.NewReader(bytes.NewReader(export.Bytes()), int64(export.Len()))
	must(t, err)
	lines := 0
	for _, name := range []string{"posts.csv", "replies.csv"} {
		file, err := z.Open(path.Join("retwis", name))
		must(t, err)
		data, err := io.ReadAll(file)
		must(t, err)
		lines += bytes.Count(data, []byte("post number")) + bytes.Count(data, []byte("changed"))
	}
	if lines != 29 {
		t.Errorf("the export has %d posts, want 29", lines)
	}

	must(t, b.Leaving.DeleteAccount(b.Ctx, ada.ID))
	b.Clock.Advance(time.Minute)
	must(t, b.Leaving.FinishRemoval(b.Ctx, ada.ID))
	if b.Redis("EXISTS", storage.ArchiveKey(ada.ID), storage.ImportedKey(ada.ID)) != "0" || len(found(t, b, "post")) != 0 {
		t.Error("keys or search results of the removed account are left")
	}
	if fields := b.Redis("HKEYS", storage.PostKey(thread)); strings.Contains(fields, "source") {
		t.Errorf("the stub of a post of a deleted account has the fields %s", fields)
	}
	b.WantHealthy()
	if _, err := b.Archives.Import(b.Ctx, ada.ID, open(t, contents{"outbox.json": outbox(t, items)}.dir(t)), false, func(int, int) {}); err == nil {
		t.Error("Import for a removed account succeeded")
	}
}

// If the key of a post has another type, an import gives the post another ID.
func TestForeignKey(t *testing.T) {
	t.Parallel()
	b := socialtest.On(t, redistest.DB(t).Client(t), noJobs)
	ada := b.NewUser("ada")
	items := contents{"outbox.json": outbox(t, manyPosts(9))}
	run(t, b, ada, open(t, items.dir(t)))
	b.Redis("DEL", storage.PostKey(1))
	b.Redis("SET", storage.PostKey(1), "foreign")
	if r := run(t, b, ada, open(t, items.dir(t))); r.Posts != 1 || r.Present != 8 {
		t.Errorf("Import = %+v, want 1 new post and 8 present", r)
	}
	if got := b.Redis("HGET", storage.PostKey(10), "body"); got != "post number0" {
		t.Errorf("text of post 10: %q, want %q", got, "post number0")
	}
}

// Repair adds imported posts to the lists where they belong, and removes the posts from other
// lists.
func TestRepair(t *testing.T) {
	t.Parallel()
	b := socialtest.On(t, redistest.DB(t).Client(t), noJobs)
	ada := b.NewUser("ada")
	run(t, b, ada, open(t, contents{"outbox.json": outbox(t, manyPosts(9))}.dir(t)))
	own := b.Publish(ada, "mine")
	b.Redis("DEL", storage.ArchiveKey(ada.ID))
	b.Redis("ZADD", storage.ArchiveKey(ada.ID), storage.Itoa(own), storage.Itoa(own))
	b.Redis("ZADD", storage.ProfileKey(ada.ID), "3", "3")
	b.Redis("ZADD", storage.TagKey("tag"), "3", "3")
	b.Redis("DEL", storage.ImportedPosts)
	b.Redis("ZADD", storage.ImportedKey(ada.ID), "1", "nothing")
	_, err := check.Repair(b.Ctx, b.App, check.Options{})
	must(t, err)
	b.WantHealthy()
	for key, want := range map[string]string{storage.ArchiveKey(ada.ID): "9", storage.ProfileKey(ada.ID): "1", storage.ImportedPosts: "1", storage.ImportedKey(ada.ID): "1"} {
		if got := b.Redis("ZCARD", key); got != want {
			t.Errorf("%s has %s members, want %s", key, got, want)
		}
	}
}

// After an import with pictures was killed at any step and repeated, each post has its picture.
// Unused pictures are deleted a day later.
func TestPicturesKilled(t *testing.T) {
	t.Parallel()
	step := int64(5)
	if redistest.Long {
		step = 1
	}
	place, err := files.Open(t.TempDir(), func(string) string { return "" })
	must(t, err)
	withPlace := func(opt *app.Options) { opt.Media = place }
	items := manyPosts(3)
	for i, item := range items {
		with("attachment", []object{attached(fmt.Sprintf("media_attachments/%d.png", i), strings.Repeat("é", 2000))})(item["object"].(object))
	}
	a := open(t, contents{
		"outbox.json": outbox(t, items), "media_attachments/0.png": picture(t, 2, 2), "media_attachments/1.png": picture(t, 3, 2), "media_attachments/2.png": picture(t, 2, 3),
	}.zip(t))
	client := redistest.DB(t).Client(t)
	b := socialtest.On(t, client, noJobs, withPlace)
	users := 0
	for after := int64(1); ; after += step {
		user := b.NewUser(fmt.Sprintf("user%d", after))
		users++
		dying := socialtest.On(t, socialtest.Dying(client, after), noJobs, withPlace)
		_, err := dying.Archives.Import(b.Ctx, user.ID, a, false, func(int, int) {})
		run(t, b, user, a)
		wantAll(t, b, user, 3)
		if err == nil {
			break
		}
	}
	b.Clock.Advance(25 * time.Hour)
	_, err = b.Media.Store.Sweep(b.Ctx)
	must(t, err)
	stored := 0
	for r, err := range b.Media.Store.All(b.Ctx) {
		must(t, err)
		views, err := b.Views.Get(b.Ctx, r.Post())
		must(t, err)
		if len(views) != 1 || !views[0].Media.Has(r.ID) || len([]rune(views[0].Media.Pictures()[0].Alt)) != social.MaxAlt {
			t.Errorf("picture %s does not belong to post %d", r.ID, r.Post())
		}
		stored++
	}
	if stored != 3*users {
		t.Errorf("%d pictures, want %d", stored, 3*users)
	}
	b.WantHealthy()
	b.Clock.Unix.Store(time.Now().Add(2 * media.Unused).Unix()) // file times come from the disk
	_, err = check.Repair(b.Ctx, b.App, check.Options{DeleteFiles: true, Report: func(p check.Problem) {
		if !p.Leftover {
			t.Errorf("check: %v", p)
		}
	}})
	must(t, err)
	for file, err := range b.Media.Store.Orphans(b.Ctx) {
		t.Errorf("orphan after the repair: %s, %v", file, err)
	}
	t.Logf("%d kills", users-1)
}

// hookedStore is a picture store that calls before ahead of each Put.
type hookedStore struct {
	files.Store
	before func()
}

func (s *hookedStore) Put(ctx context.Context, name string, data []byte) error {
	s.before()
	return s.Store.Put(ctx, name, data)
}

// An account that is deleted while an import creates pictures gets no more posts.
func TestDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	to := &hookedStore{files.Directory(t.TempDir()), func() {}}
	b := socialtest.On(t, redistest.DB(t).Client(t), noJobs, func(opt *app.Options) { opt.Media = to })
	ada := b.NewUser("ada")
	items := manyPosts(3)
	with("attachment", []object{attached("media_attachments/0.png", "")})(items[0]["object"].(object))
	a := open(t, contents{"outbox.json": outbox(t, items), "media_attachments/0.png": picture(t, 2, 2)}.zip(t))
	to.before = sync.OnceFunc(func() {
		must(t, b.Leaving.DeleteAccount(b.Ctx, ada.ID))
		b.Clock.Advance(time.Minute)
		must(t, b.Leaving.FinishRemoval(b.Ctx, ada.ID))
	})
	if _, err := b.Archives.Import(b.Ctx, ada.ID, a, false, func(int, int) {}); !errors.Is(err, social.ErrNotFound) {
		t.Errorf("Import: %v, want ErrNotFound", err)
	}
	for id := range int64(10) {
		if got := b.Redis("EXISTS", storage.PostKey(id)); got != "0" {
			t.Errorf("post %d exists", id)
		}
	}
}
