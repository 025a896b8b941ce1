package takeout_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/blocklist"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/takeout"
)

// zeros returns a reader of n zeros.
func zeros(n int64) io.Reader { return io.LimitReader(blank{}, n) }

// blank is an endless reader of zeros.
type blank struct{}

func (blank) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// tarOf returns a tar file with the given headers, whose files contain zeros.
func tarOf(t testing.TB, headers ...tar.Header) string {
	t.Helper()
	var file bytes.Buffer
	g := gzip.NewWriter(&file)
	w := tar.NewWriter(g)
	for _, h := range headers {
		must(t, w.WriteHeader(&h))
		if _, err := io.Copy(w, zeros(h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	must(t, w.Close())
	must(t, g.Close())
	return write(t, "archive.tar.gz", file.Bytes())
}

// Open or Import rejects files that are no archives, damaged files and hostile files, with an error
// that describes the problem.
func TestHostile(t *testing.T) {
	t.Parallel()
	b := socialtest.On(t, redistest.DB(t).Client(t), noJobs)
	ada := b.NewUser("ada")
	good := string(outbox(t, manyPosts(20)))
	complete := contents{"outbox.json": []byte(good)}.zip(t)
	zip, err := os.ReadFile(complete)
	must(t, err)
	in := func(outbox string) string { return contents{"outbox.json": []byte(outbox)}.dir(t) }
	linked := t.TempDir()
	must(t, os.Symlink("/etc/passwd", filepath.Join(linked, "outbox.json")))
	for name, c := range map[string]struct{ file, want string }{
		"missing":               {filepath.Join(t.TempDir(), "none"), "no such file"},
		"empty":                 {write(t, "a", nil), "not an archive"},
		"text":                  {write(t, "a.zip", []byte("text")), "not an archive"},
		"cut zip":               {write(t, "a.zip", zip[:len(zip)/2]), "zip file is damaged"},
		"cut gzip":              {write(t, "a.gz", []byte{0x1f, 0x8b, 8, 0}), "EOF"},
		"no outbox":             {contents{"actor.json": []byte("{}")}.zip(t), "no outbox.json"},
		"outbox is deeper":      {contents{"a/b/outbox.json": []byte(good)}.tar(t), "no outbox.json"},
		"outbox is a link":      {linked, "no outbox.json"},
		"bomb":                  {tarOf(t, tar.Header{Name: "x", Typeflag: tar.TypeReg, Size: 200 << 20}), "unpacks to more"},
		"bomb of pictures":      {tarOf(t, bombs(10)...), "unpacks to more"},
		"a file as a directory": {tarOf(t, tar.Header{Name: "media_attachments/a", Typeflag: tar.TypeReg}, tar.Header{Name: "media_attachments/a/b", Typeflag: tar.TypeReg}), "media_attachments/a"},
		"names that lead out":   {tarOf(t, tar.Header{Name: "../media_attachments/a.png", Typeflag: tar.TypeReg, Size: 1}, tar.Header{Name: "/media_attachments/a", Typeflag: tar.TypeReg}, tar.Header{Name: "media_attachments/l", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), "no outbox.json"},
		"no JSON":               {in("<html>"), "after activity 0, at byte"},
		"another object":        {in("[]"), `found "[", want {`},
		"no items":              {in(`{"type":"OrderedCollection"}`), "no orderedItems"},
		"items are no list":     {in(`{"orderedItems":{}}`), `found "{", want [`},
		"broken in the middle":  {in(strings.Replace(good, "post number9\\", "post \n number9\\", 1)), "after activity 9, at byte"},
		"cut":                   {in(good[:len(good)-20]), "unexpected EOF"},
		"deep":                  {in(`{"orderedItems":[` + strings.Repeat("[", 100_000)), "exceeded max depth"},
		"a deep member":         {in(`{"a":` + strings.Repeat(`{"a":`, 100_000)), "exceeded max depth"},
		"a large item":          {in(`{"orderedItems":["` + strings.Repeat("x", 5<<20) + `"]}`), "more than 4 MB"},
		"a large member":        {in(`{"a":"` + strings.Repeat("x", 5<<20) + `"}`), "more than 4 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := takeout.Open(t.Context(), c.file)
			if err == nil {
				_, err = b.Archives.Import(b.Ctx, ada.ID, a, false, func(int, int) {})
				err = errors.Join(err, a.Close())
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// bombs returns headers of pictures that contain only zeros.
func bombs(n int) []tar.Header {
	headers := make([]tar.Header, n)
	for i := range headers {
		headers[i] = tar.Header{Name: "media_attachments/" + string(rune('a'+i)), Typeflag: tar.TypeReg, Size: 16 << 20}
	}
	return headers
}

// Import returns the error of a canceled context.
func TestStopped(t *testing.T) {
	t.Parallel()
	b := socialtest.On(t, redistest.DB(t).Client(t), noJobs)
	a := open(t, contents{"outbox.json": outbox(t, manyPosts(20))}.dir(t))
	ctx, stop := context.WithCancel(b.Ctx)
	stop()
	if _, err := b.Archives.Import(ctx, b.NewUser("ada").ID, a, false, func(int, int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("Import: %v, want Canceled", err)
	}
}

// Posts with a blocked word in the text or in the description of a picture are left out.
func TestBlocked(t *testing.T) {
	t.Parallel()
	b := socialtest.On(t, redistest.DB(t).Client(t), noJobs)
	_, err := b.Blocklist.Add(b.Ctx, social.Operator, blocklist.Block{Kind: blocklist.Word, Value: "casino"}, 0)
	must(t, err)
	a := open(t, contents{"outbox.json": outbox(t, []object{
		postActivity(1, day(1), "<p>the casino</p>"),
		postActivity(2, day(2), "<p>look</p>", with("attachment", []object{attached("/media_attachments/a.png", "a casino")})),
		postActivity(3, day(3), "<p>a harbour</p>", with("attachment", []object{attached("/media_attachments/a.png", "a ship")})),
	})}.dir(t))
	r := run(t, b, b.NewUser("ada"), a)
	if r.Posts != 1 || r.LeftOut[takeout.Blocked] != 2 {
		t.Errorf("%d posts, left out: %v; want 1 post and 2 blocked posts", r.Posts, r.LeftOut)
	}
}
