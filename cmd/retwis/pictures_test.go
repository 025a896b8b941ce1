package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/files"
	"retwis/internal/files/filestest"
	"retwis/internal/redistest"
	"retwis/internal/social/check"
	"retwis/internal/social/media"
	"retwis/internal/social/socialtest"
)

// photo returns a JPEG file that is different for each n.
func photo(t *testing.T, n int) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, 64, 48))
	for i := range img.Pix {
		img.Pix[i] = uint8(i * (n + 1))
	}
	var file bytes.Buffer
	if err := jpeg.Encode(&file, img, nil); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// postPictures posts two pictures, like a browser without scripts.
func (s *site) postPictures(t *testing.T, text string) (int, string, error) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("status", text)
	for n := range 2 {
		file, err := form.CreateFormFile("file"+strconv.Itoa(n+1), "photo.jpg")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = file.Write(photo(t, n))
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	return read(s.client.Post(s.url+"/post", form.FormDataContentType(), &body))
}

// as signs up a user and returns the site as seen by that user's browser.
func (s *site) as(t *testing.T, name string) *site {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	other := &site{url: s.url, client: &http.Client{Jar: jar}}
	form := "username=" + name + "&password=engine-engine&password2=engine-engine"
	if status, page, err := other.post("/register", form); err != nil || status != http.StatusOK {
		t.Fatalf("sign up %s: %d %v\n%s", name, status, err, page)
	}
	return other
}

var (
	postMark = regexp.MustCompile(`<article[^>]*>`)
	pictures = regexp.MustCompile(`src="(/media/[0-9a-f]{32}/\d+\.[a-z]+)"`)
)

// wantPictures checks that each post of a user has two pictures that can be loaded. It returns the
// number of posts.
func (s *site) wantPictures(t *testing.T, name string) int {
	t.Helper()
	status, page, err := s.get("/u/" + name)
	if status == http.StatusNotFound {
		return 0 // the account is deleted
	}
	if err != nil || status != http.StatusOK {
		t.Fatalf("/u/%s: %d %v", name, status, err)
	}
	posts, found := len(postMark.FindAllString(page, -1)), pictures.FindAllStringSubmatch(page, -1)
	if len(found) != 2*posts {
		t.Errorf("%d posts of %s have %d pictures", posts, name, len(found))
	}
	for _, match := range found {
		if status, _, err := s.get(match[1]); err != nil || status != http.StatusOK {
			t.Errorf("%s of %s: %d %v", match[1], name, status, err)
		}
	}
	return posts
}

// A site is killed and restarted repeatedly while people upload, post, delete and leave. In the end
// every post has its pictures, the check finds nothing but leftovers, and no other files are on
// disk.
func TestKilledWithPictures(t *testing.T) {
	t.Parallel()
	kills := 6
	if redistest.Long {
		kills = 200
	}
	db, dir := redistest.DB(t), t.TempDir()
	flags := []string{"--media", dir, "--limit", "off"}
	s := serveOn(t, db.URL(), flags...)
	var names []string
	for n := range kills {
		name := "user" + strconv.Itoa(n)
		names = append(names, name)
		person := s.as(t, name)
		done := make(chan struct{})
		go func() {
			defer close(done)
			person.post("/settings/profile", "bio=here")
			for i := range 4 {
				if status, _, err := person.postPictures(t, fmt.Sprint("look ", i)); err != nil || status != http.StatusOK {
					return
				}
				_, page, _ := person.get("/u/" + name)
				if found := regexp.MustCompile(`/u/` + name + `/(\d+)`).FindStringSubmatch(page); found != nil && i%2 == 1 {
					person.post("/u/"+name+"/"+found[1]+"/delete", "")
				}
			}
			person.post("/settings/delete", "password=engine-engine")
		}()
		select { // the goroutine takes about 300 ms
		case <-done:
		case <-time.After(time.Duration(rand.IntN(400)) * time.Millisecond):
		}
		_ = s.stop(syscall.SIGKILL)
		<-done
		s = serveOn(t, db.URL(), flags...)
	}
	// Unfinished work is completed, as if 2 * media.Unused had passed. The site is stopped first,
	// because the check of a running site may report work in progress.
	if err := s.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	later := func() time.Time { return time.Now().Add(2 * media.Unused) }
	service, err := app.New(db.Client(t), app.Options{Logger: socialtest.Quiet(), Now: later, Media: files.Directory(dir), NoJobs: true})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	if err := service.RetryTasks(t.Context()); err != nil {
		t.Fatal(err)
	}
	leftovers := 0
	_, err = check.Repair(t.Context(), service, check.Options{DeleteFiles: true, Report: func(p check.Problem) {
		leftovers++
		if !p.Leftover {
			t.Errorf("check: %v", p)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	s = serveOn(t, db.URL(), flags...)
	posts := 0
	for _, name := range names {
		posts += s.wantPictures(t, name)
	}
	t.Logf("killed %d times: %d posts, %d leftovers", kills, posts, leftovers)
	n := wantFiles(t, service)
	if all, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(all) != n {
		t.Errorf("%d files are on disk, want %d: %v", len(all), n, all)
	}
}

// wantFiles checks that the media store of a site has the files of all pictures and no others. It
// returns the number of files.
func wantFiles(t *testing.T, service *app.App) (n int) {
	t.Helper()
	var got, want []string
	for file, err := range service.Media.Store.Files.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, file.Name)
	}
	for r, err := range service.Media.Store.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Picture.Files {
			want = append(want, r.Picture.Stored(f))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("stored files = %v, want %v", got, want)
	}
	return len(got)
}

// The database and then the pictures are backed up while people post. In the restored site every
// post has its pictures.
func TestBackupWhilePicturesArrive(t *testing.T) {
	t.Parallel()
	db, dir := redistest.DB(t), t.TempDir()
	s := serveOn(t, db.URL(), "--media", filepath.Join(dir, "media"), "--limit", "off")
	var names []string
	var posted atomic.Int64
	var people sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer people.Wait()
	defer stop()
	enough := make(chan struct{})
	for n := range 3 {
		name := "user" + strconv.Itoa(n)
		names = append(names, name)
		person := s.as(t, name)
		people.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if status, page, err := person.postPictures(t, fmt.Sprint("look ", i)); err != nil || status != http.StatusOK {
					t.Errorf("post: %d %v\n%s", status, err, page)
					return
				}
				if posted.Add(1) == 10 {
					close(enough)
				}
			}
		})
	}
	retwis := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("retwis", args...).CombinedOutput(); err != nil {
			t.Fatalf("retwis %v: %v\n%s", args, err, out)
		}
	}
	<-enough
	before := posted.Load()
	backup, archive := filepath.Join(dir, "site.backup"), filepath.Join(dir, "pictures.tar")
	retwis("backup", "--redis", db.URL(), "--media", filepath.Join(dir, "media"), "--pictures", archive, backup)
	stop()
	people.Wait()

	other, media := redistest.DB(t).URL(), filepath.Join(dir, "restored")
	retwis("restore", "--verify", "--pictures", archive, backup)
	retwis("restore", "--redis", other, "--media", media, "--pictures", archive, backup)
	retwis("check", "--redis", other, "--media", media, "--repair")
	restored := serveOn(t, other, "--media", media)
	posts := 0
	for _, name := range names {
		posts += restored.wantPictures(t, name)
	}
	t.Logf("%d posts before the backup, %d restored, %d in the end", before, posts, posted.Load())
	if int64(posts) < before {
		t.Errorf("%d posts are restored, want at least the %d from before the backup", posts, before)
	}
}

// Two processes share an S3 server, and one of them loses its connection. Users of that process can
// read and write, and get an error for pictures. Pictures that they delete meanwhile are deleted
// later.
func TestPicturesWithoutMediaStore(t *testing.T) {
	t.Parallel()
	cases := []bool{false}
	if redistest.Long {
		cases = append(cases, true) // takes a minute
	}
	for _, hangs := range cases {
		t.Run(map[bool]string{false: "refused", true: "hangs"}[hangs], func(t *testing.T) {
			t.Parallel()
			db, store := redistest.DB(t), filestest.NewS3(t)
			lost, other := store.Listen(t), store.Listen(t)
			s, healthy := serveOn(t, db.URL(), "--media", lost.Place), serveOn(t, db.URL(), "--media", other.Place)
			ada, ben := s.as(t, "ada"), healthy.as(t, "ben")
			for _, user := range []*site{ada, ben} {
				if status, page, err := user.postPictures(t, "before"); err != nil || status != http.StatusOK {
					t.Fatalf("%d %v\n%s", status, err, page)
				}
			}
			_, page, _ := s.get("/u/ben")
			picture := pictures.FindStringSubmatch(page)[1]
			_, page, _ = s.get("/u/ada")
			first := regexp.MustCompile(`/u/ada/\d+`).FindString(page)

			lost.Leave(hangs)
			if status, _, err := healthy.get(picture); err != nil || status != http.StatusOK {
				t.Errorf("a picture from the other process: %d, %v", status, err)
			}
			if status, page, err := ben.postPictures(t, "meanwhile"); err != nil || status != http.StatusOK {
				t.Errorf("a post with pictures on the other process: %d %v\n%s", status, err, page)
			}
			const wait = "Pictures can&#39;t be saved or shown right now"
			if status, page, err := s.get(picture); err != nil || status != http.StatusServiceUnavailable || !strings.Contains(page, wait) {
				t.Errorf("a picture without the store: %d %v\n%s", status, err, page)
			}
			if status, page, err := ada.postPictures(t, "never"); err != nil || status != http.StatusServiceUnavailable || !strings.Contains(page, wait) {
				t.Errorf("a post with pictures without the store: %d %v\n%s", status, err, page)
			}
			if status, page, err := ada.post("/post", "status=only+words"); err != nil || status != http.StatusOK {
				t.Errorf("a post without pictures: %d %v\n%s", status, err, page)
			}
			if status, page, err := ada.post(first+"/delete", ""); err != nil || status != http.StatusOK {
				t.Errorf("a deletion: %d %v\n%s", status, err, page)
			}
			_, page, _ = healthy.get("/u/ada")
			if strings.Contains(page, "never") || strings.Contains(page, "before") || !strings.Contains(page, "only words") {
				t.Errorf("the page of ada is\n%s", page)
			}

			lost.Return()
			if status, _, err := s.get(picture); err != nil || status != http.StatusOK {
				t.Errorf("the picture after the store has returned: %d, %v", status, err)
			}
			if status, page, err := ada.postPictures(t, "after"); err != nil || status != http.StatusOK {
				t.Errorf("a post after the store has returned: %d %v\n%s", status, err, page)
			}
			place, err := files.Open(other.Place, os.Getenv)
			if err != nil {
				t.Fatal(err)
			}
			later := func() time.Time { return time.Now().Add(2 * media.Unused) }
			service, err := app.New(db.Client(t), app.Options{Logger: socialtest.Quiet(), Now: later, Media: place, NoJobs: true})
			if err != nil {
				t.Fatal(err)
			}
			defer service.Close()
			if err := service.RetryTasks(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err = check.Repair(t.Context(), service, check.Options{DeleteFiles: true, Report: func(p check.Problem) {
				if !p.Leftover {
					t.Errorf("check: %v", p)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			wantFiles(t, service)
		})
	}
}
