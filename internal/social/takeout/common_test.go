package takeout_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/limits"
	"retwis/internal/social/search"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
	"retwis/internal/social/takeout"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// must fails the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// object is an ActivityPub object.
type object map[string]any

const (
	everybody = "https://www.w3.org/ns/activitystreams#Public"
	followers = "https://there.example/users/ada/followers"
)

func address(n int) string { return fmt.Sprintf("https://there.example/users/ada/statuses/%d", n) }

// postActivity returns the activity of a post. The functions in change can modify the note.
func postActivity(n int, at time.Time, content string, change ...func(note object)) object {
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
	must(t, err)
	return raw
}

// contents maps the names of the files in an archive to their contents.
type contents map[string][]byte

func (c contents) dir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range c {
		name = filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must(t, os.WriteFile(name, data, 0o600))
	}
	return dir
}

func (c contents) zip(t testing.TB) string {
	t.Helper()
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for name, data := range c {
		w, err := z.Create(name)
		must(t, err)
		_, err = w.Write(data)
		must(t, err)
	}
	must(t, z.Close())
	return write(t, "archive.zip", file.Bytes())
}

func (c contents) tar(t testing.TB) string {
	t.Helper()
	var file bytes.Buffer
	g := gzip.NewWriter(&file)
	w := tar.NewWriter(g)
	for name, data := range c {
		must(t, w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(data))}))
		_, err := w.Write(data)
		must(t, err)
	}
	must(t, w.Close())
	must(t, g.Close())
	return write(t, "archive.tar.gz", file.Bytes())
}

func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(name, data, 0o600))
	return name
}

func open(t testing.TB, name string) *takeout.Archive {
	t.Helper()
	a, err := takeout.Open(t.Context(), name)
	must(t, err)
	t.Cleanup(func() { must(t, a.Close()) })
	return a
}

// noJobs makes an application run no background jobs, and removes its limits.
func noJobs(opt *app.Options) { opt.NoJobs, opt.Limits = true, limits.Off() }

// run imports an archive and returns the report.
func run(t testing.TB, b *socialtest.Bundle, user social.User, a *takeout.Archive) takeout.Report {
	t.Helper()
	r, err := b.Archives.Import(b.Ctx, user.ID, a, false, func(int, int) {})
	must(t, err)
	return r
}

// day returns a day of the year in which the test posts were written.
func day(n int) time.Time { return time.Date(2019, 1, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, n) }

// profile returns the texts on a user's profile, page by page.
func profile(t testing.TB, b *socialtest.Bundle, uid int64) (texts []string) {
	t.Helper()
	for before := int64(0); ; {
		page, err := b.Timelines.Profile(b.Ctx, uid, before, 20)
		must(t, err)
		views, err := b.Views.Get(b.Ctx, page.IDs...)
		must(t, err)
		for _, v := range views {
			texts = append(texts, v.Body)
		}
		if before = page.Next; before == 0 {
			return texts
		}
	}
}

// found returns the texts of the posts that a search finds.
func found(t testing.TB, b *socialtest.Bundle, query string) (texts []string) {
	t.Helper()
	q, err := search.Parse(query)
	must(t, err)
	for before := int64(0); ; {
		page, err := b.Search.Posts(b.Ctx, &social.Viewer{}, q, before, 20)
		must(t, err)
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
	must(t, png.Encode(&file, image.NewGray(image.Rect(0, 0, w, h))))
	return file.Bytes()
}

// manyPosts returns the posts of an archive, some of which reply to the previous one.
func manyPosts(n int) []object {
	items := make([]object, n)
	for i := range items {
		items[i] = postActivity(i, day(0).Add(time.Duration(i)*time.Hour), fmt.Sprintf("<p>post number%d</p>", i))
		if i%10 > 6 {
			repliesTo(i - 1)(items[i]["object"].(object))
		}
	}
	return items
}

// wantAll checks that the profile has the n posts of manyPosts, latest first, each once.
func wantAll(t testing.TB, b *socialtest.Bundle, user social.User, n int) {
	t.Helper()
	texts := profile(t, b, user.ID)
	for i, text := range texts {
		if want := fmt.Sprintf("post number%d", n-1-i); text != want {
			t.Fatalf("post %d of the profile is %q, want %q", i, text, want)
		}
	}
	if len(texts) != n {
		t.Errorf("the profile has %d posts, want %d", len(texts), n)
	}
}

// othersView returns what another user sees: timelines and notifications.
func othersView(t testing.TB, b *socialtest.Bundle, user social.User) string {
	t.Helper()
	home, err := b.Timelines.Home(social.WithFresh(b.Ctx), user.ID, 0, 40)
	must(t, err)
	return fmt.Sprint(home) + b.Redis("LRANGE", storage.HomeKey(user.ID), "0", "-1") + "|" + b.Redis("LRANGE", storage.Timeline, "0", "-1") + "|" +
		b.Redis("LLEN", storage.NotificationsKey(user.ID)) + "|" + b.Redis("ZCARD", storage.Tasks)
}
