package archive_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/files"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/archive"
	"retwis/internal/social/check"
	"retwis/internal/social/layout"
	"retwis/internal/social/limits"
	"retwis/internal/social/search"
	"retwis/internal/social/socialtest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// object is an object of ActivityPub.
type object map[string]any

const (
	everybody = "https://www.w3.org/ns/activitystreams#Public"
	followers = "https://there.example/users/ada/followers"
)

func address(n int) string { return fmt.Sprintf("https://there.example/users/ada/statuses/%d", n) }

// posted is the activity of a post; change changes the object in it.
func posted(n int, at time.Time, content string, change ...func(note object)) object {
	note := object{
		"id": address(n), "type": "Note", "summary": nil, "inReplyTo": nil, "published": at.UTC().Format(time.RFC3339),
		"to": []string{everybody}, "cc": []string{followers}, "sensitive": false, "content": content, "attachment": []object{},
	}
	for _, c := range change {
		c(note)
	}
	return object{
		"id": address(n) + "/activity", "type": "Create", "actor": "https://there.example/users/ada",
		"published": note["published"], "to": note["to"], "cc": note["cc"], "object": note,
	}
}

func repliesTo(n int) func(object) { return func(note object) { note["inReplyTo"] = address(n) } }

func with(name string, value any) func(object) { return func(note object) { note[name] = value } }

func attached(url, alt string) object {
	return object{"type": "Document", "mediaType": "image/png", "url": url, "name": alt, "focalPoint": []float64{0.5, -0.5}}
}

func outbox(t testing.TB, items []object) []byte {
	t.Helper()
	raw, err := json.Marshal(object{"@context": "https://www.w3.org/ns/activitystreams", "id": "outbox.json", "type": "OrderedCollection", "totalItems": len(items), "orderedItems": items})
	do(t, err)
	return raw
}

// contents are the files of an archive by their names.
type contents map[string][]byte

func (c contents) dir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range c {
		name = filepath.Join(dir, name)
		do(t, os.MkdirAll(filepath.Dir(name), 0o700))
		do(t, os.WriteFile(name, data, 0o600))
	}
	return dir
}

func (c contents) zip(t testing.TB) string {
	t.Helper()
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for name, data := range c {
		w, err := z.Create(name)
		do(t, err)
		_, err = w.Write(data)
		do(t, err)
	}
	do(t, z.Close())
	return write(t, "archive.zip", file.Bytes())
}

func (c contents) tar(t testing.TB) string {
	t.Helper()
	var file bytes.Buffer
	g := gzip.NewWriter(&file)
	w := tar.NewWriter(g)
	for name, data := range c {
		do(t, w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(data))}))
		_, err := w.Write(data)
		do(t, err)
	}
	do(t, w.Close())
	do(t, g.Close())
	return write(t, "archive.tar.gz", file.Bytes())
}

func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	do(t, os.WriteFile(name, data, 0o600))
	return name
}

func open(t testing.TB, name string) *archive.Archive {
	t.Helper()
	a, err := archive.Open(t.Context(), name)
	do(t, err)
	t.Cleanup(func() { do(t, a.Close()) })
	return a
}

// idle is a process that leaves the background to others, without limits.
func idle(opt *app.Options) { opt.NoJobs, opt.Limits = true, limits.Off() }

func run(t testing.TB, b *socialtest.Bundle, user social.User, a *archive.Archive) archive.Report {
	t.Helper()
	r, err := b.Archives.Import(b.Ctx, user.ID, a, false, func(int, int) {})
	do(t, err)
	return r
}

// day is a day of the year in which the posts of the tests were written.
func day(n int) time.Time { return time.Date(2019, 1, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, n) }

// profile returns the texts on the profile of a user, page by page.
func profile(t testing.TB, b *socialtest.Bundle, uid int64) (texts []string) {
	t.Helper()
	for before := int64(0); ; {
		page, err := b.Timelines.Profile(b.Ctx, uid, before, 20)
		do(t, err)
		views, err := b.Views.Get(b.Ctx, page.IDs...)
		do(t, err)
		for _, v := range views {
			texts = append(texts, v.Body)
		}
		if before = page.Next; before == 0 {
			return texts
		}
	}
}

func found(t testing.TB, b *socialtest.Bundle, query string) (texts []string) {
	t.Helper()
	q, err := search.Parse(query)
	do(t, err)
	for before := int64(0); ; {
		page, err := b.Search.Posts(b.Ctx, &social.Viewer{}, q, before, 20)
		do(t, err)
		for _, v := range page.Items {
			texts = append(texts, v.Post.Body)
		}
		if before = page.Next; before == 0 {
			return texts
		}
	}
}

func picture(t testing.TB, w, h int) []byte {
	t.Helper()
	var file bytes.Buffer
	do(t, png.Encode(&file, image.NewGray(image.Rect(0, 0, w, h))))
	return file.Bytes()
}

// The posts of an archive of each kind are on the profile after those that were written here, and
// what cannot be imported is counted.
func TestImport(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("word ", 100))
	items := []object{
		posted(3, day(3), "<p>third</p>", repliesTo(1)),
		posted(1, day(1), `<p>first by <span class="h-card"><a href="https://there.example/@ben" class="u-url mention">@<span>ben</span></a></span> and @ben</p>`),
		posted(2, day(2), "<p>second #tag</p>", with("to", []string{followers}), with("cc", []string{everybody}), with("summary", "a film")),
		posted(4, day(4), "<p>"+long+"</p>"),
		posted(5, day(5), "<p>more</p>", repliesTo(4)),
		posted(6, day(6), "<p>for followers</p>", with("to", []string{followers}), with("cc", []string{})),
		posted(7, day(7), "<p>to others</p>", with("inReplyTo", "https://there.example/users/ben/statuses/1")),
		posted(8, day(8), "<p>to what is left out</p>", repliesTo(7)),
		posted(9, day(9), "", with("attachment", []object{attached("/media_attachments/files/1/a.png", "A grey square")})),
		posted(10, day(10), "<p> </p>"),
		posted(1, day(11), "<p>twice</p>"),
		posted(12, time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), "<p>of the future</p>"),
		posted(13, day(13), "<p>red or blue?</p>", with("type", "Question"), with("oneOf", []object{{"name": "red"}, {"name": "blue"}})),
		{"type": "Announce", "object": "https://there.example/users/ben/statuses/1"},
		{"type": "Like", "object": 7},
		posted(14, day(14), "<p>pictures</p>", with("sensitive", true), with("attachment", []object{
			attached("/media_attachments/files/1/a.png", "x"), attached("/media_attachments/../outbox.json", ""), attached("/media_attachments/none.png", ""),
			attached("media_attachments/text.png", ""),
			{"mediaType": "video/mp4", "url": "/media_attachments/files/2/b.mp4"},
		})),
	}
	files1 := contents{
		"outbox.json": outbox(t, items), "media_attachments/files/1/a.png": picture(t, 8, 8), "media_attachments/text.png": []byte("text"), "actor.json": []byte("{}"),
	}
	inDir := contents{}
	for name, data := range files1 {
		inDir["archive-1/"+name] = data
	}
	for kind, name := range map[string]string{"directory": files1.dir(t), "zip": files1.zip(t), "tar": files1.tar(t), "zip of a directory": inDir.zip(t), "tar of a directory": inDir.tar(t)} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			place, err := files.Open(t.TempDir(), func(string) string { return "" })
			do(t, err)
			b := socialtest.On(t, redistest.DB(t).Client(t), idle, func(opt *app.Options) { opt.Media = place })
			ada, ben := b.NewUser("ada"), b.NewUser("ben")
			b.Connect(ben, ada)
			b.Publish(ada, "written here")
			home := b.Redis("LRANGE", layout.HomeKey(ben.ID), "0", "-1")
			a := open(t, name)
			want := archive.Report{
				Posts: 9, Split: 1, Pictures: 2,
				LeftOut: map[archive.Reason]int{
					archive.Reply: 2, archive.NotPublic: 1, archive.Empty: 1, archive.Repeated: 1, archive.Undated: 1, archive.Boost: 1, archive.Other: 1,
				},
				PicturesLeftOut: map[archive.Reason]int{archive.NoFile: 2, archive.WrongType: 1, archive.NoPicture: 1},
			}
			dry, err := b.Archives.Import(b.Ctx, ada.ID, a, true, func(int, int) {})
			do(t, err)
			if b.Redis("EXISTS", layout.ArchiveKey(ada.ID), layout.ImportedKey(ada.ID)) != "0" {
				t.Error("a dry run has written")
			}
			wantDry := want
			wantDry.Pictures, wantDry.PicturesLeftOut = 3, map[archive.Reason]int{archive.NoFile: 2, archive.NoPicture: 1}
			if fmt.Sprint(dry) != fmt.Sprint(wantDry) {
				t.Errorf("dry run: %+v", dry)
			}
			if r := run(t, b, ada, a); fmt.Sprint(r) != fmt.Sprint(want) {
				t.Errorf("%+v", r)
			}
			got := profile(t, b, ada.ID)
			if wanted := []string{
				"written here", "pictures", "red or blue?\n\n• red\n• blue", "🖼️", "more", long[280:], long[:279], "third",
				"CW: a film\n\nsecond #tag", "first by @ben@there.example and @ben@there.example",
			}; !slices.Equal(got, wanted) {
				t.Errorf("the profile has %q", got)
			}
			if now := b.Redis("LRANGE", layout.HomeKey(ben.ID), "0", "-1"); now != home || b.Redis("LLEN", layout.InboxKey(ben.ID)) != "0" {
				t.Errorf("the home timeline has %s, before %s", now, home)
			}
			if b.Redis("LLEN", layout.Timeline) != "1" || b.Redis("EXISTS", layout.TagKey("tag")) != "0" {
				t.Error("a post is on the public timeline or the page of a tag")
			}
			again := run(t, b, ada, a)
			want.Posts, want.Present, want.Pictures, want.PicturesLeftOut = 0, 9, 0, nil
			if again.Posts != 0 || again.Present != 9 || again.Pictures != 0 {
				t.Errorf("again: %+v", again)
			}
			b.WantHealthy()
		})
	}
}

// many are posts of an archive, some of which reply to the one before.
func many(n int) []object {
	items := make([]object, n)
	for i := range items {
		items[i] = posted(i, day(0).Add(time.Duration(i)*time.Hour), fmt.Sprintf("<p>post number%d</p>", i))
		if i%10 > 6 {
			repliesTo(i - 1)(items[i]["object"].(object))
		}
	}
	return items
}

// wantAll fails the test unless the profile has these posts, in the order of time, and each once.
func wantAll(t testing.TB, b *socialtest.Bundle, user social.User, n int) {
	t.Helper()
	texts := profile(t, b, user.ID)
	for i, text := range texts {
		if want := fmt.Sprintf("post number%d", n-1-i); text != want {
			t.Fatalf("%d. is %q, want %q", i, text, want)
		}
	}
	if len(texts) != n {
		t.Errorf("the profile has %d posts, want %d", len(texts), n)
	}
}

// others returns what others have: timelines and notifications.
func others(b *socialtest.Bundle, user social.User) string {
	return b.Redis("LRANGE", layout.HomeKey(user.ID), "0", "-1") + "|" + b.Redis("LRANGE", layout.Timeline, "0", "-1") + "|" +
		b.Redis("LLEN", layout.InboxKey(user.ID)) + "|" + b.Redis("EXISTS", layout.NotificationsKey(user.ID)) + "|" + b.Redis("ZCARD", layout.Tasks)
}

// An import that is killed twice is complete, with each post once, and others notice nothing.
func TestKilled(t *testing.T) {
	t.Parallel()
	n := 500
	if os.Getenv("TEST_LONG") != "" {
		n = 10_000
	}
	client := redistest.DB(t).Client(t)
	b := socialtest.On(t, client, idle)
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	b.Connect(ben, ada)
	b.Publish(ben, "mine")
	before := others(b, ben)
	a := open(t, contents{"outbox.json": outbox(t, many(n))}.dir(t))
	for range 2 {
		dying := socialtest.On(t, socialtest.Dying(client, int64(n)*3), idle)
		if _, err := dying.Archives.Import(b.Ctx, ada.ID, a, false, func(int, int) {}); err == nil {
			t.Fatal("the process was not killed in time")
		}
	}
	began := time.Now()
	r := run(t, b, ada, a)
	t.Logf("the rest took %v: %+v", time.Since(began), r)
	if r.Posts+r.Present != n || r.Present == 0 || r.Posts == 0 {
		t.Errorf("%+v", r)
	}
	wantAll(t, b, ada, n)
	if after := others(b, ben); after != before {
		t.Errorf("others had %q, and have %q", before, after)
	}
	if ranges := b.Redis("ZCARD", layout.ImportedKey(ada.ID)); ranges != "1" {
		t.Errorf("%s ranges of ids", ranges)
	}
	if found := found(t, b, "number7 from:ada"); len(found) != 1 {
		t.Errorf("a search finds %q", found)
	}
	b.WantHealthy()
	began = time.Now()
	if r := run(t, b, ada, a); r.Posts != 0 || r.Present != n {
		t.Errorf("again: %+v", r)
	}
	t.Logf("repeating it took %v", time.Since(began))
}

// Wherever an import is killed, repeating it completes it.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	step := int64(7)
	if os.Getenv("TEST_LONG") != "" {
		step = 1
	}
	a := open(t, contents{"outbox.json": outbox(t, many(12))}.dir(t))
	client := redistest.DB(t).Client(t)
	b := socialtest.On(t, client, idle)
	for after := int64(1); ; after += step {
		user := b.NewUser(fmt.Sprintf("user%d", after))
		dying := socialtest.On(t, socialtest.Dying(client, after), idle)
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

// A search finds imported posts by their days, and what was written here too.
func TestDays(t *testing.T) {
	t.Parallel()
	b := socialtest.On(t, redistest.DB(t).Client(t), idle)
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	b.Publish(ada, "today early")
	var items []object
	for i := range 300 {
		items = append(items, posted(i, day(i), fmt.Sprintf("<p>day%d</p>", i)))
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
			t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
	if got := found(t, b, "from:ada OR from:ben before:"+date(500)); len(got) != 400 {
		t.Errorf("a long search finds %d", len(got))
	}
}

// Imported posts can be edited, liked, replied to, deleted and exported like others; a later
// archive adds what is new, and what was deleted stays away.
func TestLater(t *testing.T) {
	t.Parallel()
	b := socialtest.On(t, redistest.DB(t).Client(t), idle)
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	items := many(30)
	run(t, b, ada, open(t, contents{"outbox.json": outbox(t, items[:20])}.dir(t)))
	page, err := b.Timelines.Profile(b.Ctx, ada.ID, 0, 20)
	do(t, err)
	edited, gone, thread := page.IDs[0], page.IDs[19], page.IDs[13] // number19, 0 and 6
	_, err = b.Posts.Edit(b.Ctx, ada, edited, "changed #tag")
	do(t, err)
	do(t, b.Reactions.Like(b.Ctx, ben, edited))
	_, err = b.Posts.Reply(b.Ctx, ben, thread, "a reply")
	do(t, err)
	do(t, b.Posts.Delete(b.Ctx, ada, gone))
	do(t, b.RetryTasks(b.Ctx))
	if b.Redis("EXISTS", layout.TagKey("tag")) != "0" {
		t.Error("an imported post is on the page of a tag")
	}
	if got := found(t, b, "changed"); len(got) != 1 {
		t.Errorf("a search finds %q", got)
	}
	if replies := b.Redis("HGET", layout.PostKey(thread), "replies"); replies != "2" { // and that of the archive
		t.Errorf("%s replies", replies)
	}
	r := run(t, b, ada, open(t, contents{"outbox.json": outbox(t, items)}.dir(t)))
	if r.Posts != 10 || r.Present != 20 {
		t.Errorf("%+v", r)
	}
	texts := profile(t, b, ada.ID)
	if len(texts) != 29 || texts[0] != "post number29" || texts[10] != "changed #tag" {
		t.Errorf("the profile has %q", texts)
	}
	b.WantHealthy()

	var export bytes.Buffer
	do(t, b.Leaving.Export(b.Ctx, ada.ID, &export))
	z, err := zip.NewReader(bytes.NewReader(export.Bytes()), int64(export.Len()))
	do(t, err)
	lines := 0
	for _, name := range []string{"retwis/posts.csv", "retwis/replies.csv"} {
		file, err := z.Open(name)
		do(t, err)
		data, err := io.ReadAll(file)
		do(t, err)
		lines += bytes.Count(data, []byte("post number")) + bytes.Count(data, []byte("changed"))
	}
	if lines != 29 {
		t.Errorf("the export has %d posts", lines)
	}

	do(t, b.Leaving.DeleteAccount(b.Ctx, ada.ID))
	b.Clock.Advance(time.Minute)
	do(t, b.Leaving.FinishRemoval(b.Ctx, ada.ID))
	if b.Redis("EXISTS", layout.ArchiveKey(ada.ID), layout.ImportedKey(ada.ID)) != "0" || len(found(t, b, "post")) != 0 {
		t.Error("something of a deleted account is left")
	}
	b.WantHealthy()
	if _, err := b.Archives.Import(b.Ctx, ada.ID, open(t, contents{"outbox.json": outbox(t, items)}.dir(t)), false, func(int, int) {}); err == nil {
		t.Error("an import for a deleted account works")
	}
}

// A repair puts an imported post that is on no list where it belongs.
func TestRepair(t *testing.T) {
	t.Parallel()
	b := socialtest.On(t, redistest.DB(t).Client(t), idle)
	ada := b.NewUser("ada")
	run(t, b, ada, open(t, contents{"outbox.json": outbox(t, many(9))}.dir(t)))
	own := b.Publish(ada, "mine")
	b.Redis("DEL", layout.ArchiveKey(ada.ID))
	b.Redis("ZADD", layout.ArchiveKey(ada.ID), layout.Itoa(own), layout.Itoa(own))
	b.Redis("ZADD", layout.ProfileKey(ada.ID), "3", "3")
	_, err := check.Repair(b.Ctx, b.App, check.Options{})
	do(t, err)
	b.WantHealthy()
	if got := b.Redis("ZCARD", layout.ArchiveKey(ada.ID)) + " " + b.Redis("ZCARD", layout.ProfileKey(ada.ID)); got != "9 1" {
		t.Errorf("%s posts", got)
	}
}
