package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/files"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/web"
)

// withPictures returns a site that accepts pictures.
func withPictures(t *testing.T) *site {
	t.Helper()
	return picturesOn(t, redistest.DB(t).URL())
}

// picturesEverywhere runs a test of a site that accepts pictures on a single server and on a
// Cluster.
func picturesEverywhere(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		test(t, withPictures(t))
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		test(t, picturesOn(t, redistest.Cluster(t, 3).URL()))
	})
}

func picturesOn(t *testing.T, url string) *site {
	t.Helper()
	db := reach(t, url)
	return start(t, db.Client(), web.Options{}, app.Options{Invalidations: db.Invalidations(), Media: files.Directory(t.TempDir())})
}

// photo returns a JPEG file.
func photo(t *testing.T) []byte { return photoOf(t, color.Black) }

// photoOf returns a JPEG file of one color.
func photoOf(t *testing.T, c color.Color) []byte {
	t.Helper()
	var out bytes.Buffer
	photo := image.NewGray(image.Rect(0, 0, 800, 600))
	draw.Draw(photo, photo.Rect, image.NewUniform(c), image.Point{}, draw.Src)
	if err := jpeg.Encode(&out, photo, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sendFiles sends a form with fields followed by files. It returns the response and the page after
// a redirect.
func (v *visitor) sendFiles(path string, fields map[string]string, sent map[string][]byte) (*http.Response, string) {
	v.site.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range fields {
		_ = form.WriteField(name, value)
	}
	for name, file := range sent {
		part, _ := form.CreateFormFile(name, "photo.jpg")
		_, _ = part.Write(file)
	}
	_ = form.WriteField("alt1", "a grey rectangle")
	_ = form.Close()
	res, err := v.http.Post(v.site.http.URL+path, form.FormDataContentType(), &body)
	if err != nil {
		v.site.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.site.t.Fatal(err)
	}
	if to := res.Header.Get("Location"); to != "" {
		return res, v.get(to).body
	}
	return res, string(text)
}

func (v *visitor) fetch(path string) *http.Response {
	v.site.t.Helper()
	res, err := v.http.Get(v.site.http.URL + path)
	if err != nil {
		v.site.t.Fatal(err)
	}
	_ = res.Body.Close()
	return res
}

var mediaAddress = regexp.MustCompile(`/media/[0-9a-f]{32}/400\.\w+`)

// A form without scripts uploads pictures, which everybody sees until the post is deleted.
func TestPictures(t *testing.T) {
	t.Parallel()
	picturesEverywhere(t, testPictures)
}

func testPictures(t *testing.T, s *site) {
	t.Helper()
	stranger := s.visitor()
	ada := s.signedUp("ada")
	_, page := ada.sendFiles("/post", map[string]string{"status": "look at this", "focus1": "left-bottom"}, map[string][]byte{"file1": photo(t)})
	address := mediaAddress.FindString(page)
	if address == "" || !strings.Contains(page, `alt="a grey rectangle"`) || !strings.Contains(page, `width="682" height="512"`) || !strings.Contains(page, "focus-left-bottom") {
		t.Fatalf("the page has no picture: %s", page)
	}
	res := stranger.fetch(address)
	for name, want := range map[string]string{
		"Content-Type": "image/", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox",
		"Cache-Control": "immutable", "Accept-Ranges": "bytes",
	} {
		if got := res.Header.Get(name); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for path, part := range map[string]string{"/timeline.atom": `rel="enclosure"`, "/timeline.json": `"attachments"`, "/u/ada/1": `og:image`} {
		res, err := stranger.http.Get(s.http.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if !strings.Contains(string(body), part) {
			t.Errorf("%s lacks %s", path, part)
		}
	}
	if res := stranger.fetch(strings.Replace(address, "400", "80", 1)); res.StatusCode != http.StatusNotFound {
		t.Errorf("a picture in another size: %d, want 404", res.StatusCode)
	}
	// The author can correct the description.
	alt := "alt-" + strings.Split(address, "/")[2]
	ada.get("/u/ada/1/edit").want(200, `name="`+alt+`"`, `name="sensitive"`)
	ada.send("/u/ada/1/edit", "status", "look at this", alt, strings.Repeat("a", social.MaxAlt+1)).want(422, "too long")
	ada.send("/u/ada/1/edit", "status", "look at this", alt, "A <black> square", "sensitive", "yes").want(303)
	ada.get("/u/ada/1").want(200, `alt="A &lt;black&gt; square"`, "sensitive picture", "look at this")
	s.signedUp("eve").send("/u/ada/1/edit", "status", "look at this", alt, "Mine").want(403)
	ada.send("/u/ada/1/edit", "status", "look at that").want(303) // a form without pictures keeps them
	ada.get("/u/ada/1").want(200, `alt="A &lt;black&gt; square"`, "sensitive picture", "look at that")
	ada.post("/u/ada/1/delete", nil)
	if res := stranger.fetch(address); res.StatusCode != http.StatusNotFound {
		t.Errorf("the picture of a deleted post: %d, want 404", res.StatusCode)
	}
}

// A script uploads a picture and then posts it.
func TestUpload(t *testing.T) {
	t.Parallel()
	s := withPictures(t)

	ada := s.signedUp("ada")
	ben := s.signedUp("ben")
	var stored struct{ ID, URL, Error string }
	upload := func(v *visitor, file []byte) int {
		t.Helper()
		res, body := v.sendFiles("/media", nil, map[string][]byte{"file": file})
		stored.Error = ""
		if err := json.Unmarshal([]byte(body), &stored); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		return res.StatusCode
	}
	for status, file := range map[int][]byte{
		http.StatusUnsupportedMediaType:  []byte("<svg xmlns='http://www.w3.org/2000/svg'/>"),
		http.StatusRequestEntityTooLarge: make([]byte, 17<<20),
		http.StatusUnprocessableEntity:   photo(t)[:300],
	} {
		if got := upload(ada, file); got != status || stored.Error == "" {
			t.Errorf("got %d, %q; want %d", got, stored.Error, status)
		}
	}
	if got := upload(s.visitor(), photo(t)); got != http.StatusUnauthorized {
		t.Errorf("upload by a stranger: %d, want 401", got)
	}
	if got := upload(ada, photo(t)); got != http.StatusOK {
		t.Fatalf("got %d, %s", got, stored.Error)
	}
	if res := ada.fetch(stored.URL); res.StatusCode != http.StatusOK || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the owner gets %d, Cache-Control %q; want 200, no-store", res.StatusCode, res.Header.Get("Cache-Control"))
	}
	if res := ben.fetch(stored.URL); res.StatusCode != http.StatusNotFound {
		t.Errorf("before the post, others get %d, want 404", res.StatusCode)
	}
	// A rejected text keeps the picture in its form.
	fields := map[string]string{"status": strings.Repeat("x", 281), "media": stored.ID, "alt-" + stored.ID: "grey", "focus-" + stored.ID: "right-top"}
	res, page := ada.sendFiles("/post", fields, nil)
	for _, part := range []string{fmt.Sprintf(`name="media" value="%s"`, stored.ID), ">grey<", `value="right-top" selected`} {
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(page, part) {
			t.Errorf("got %d, want 422 and a form with %s", res.StatusCode, part)
		}
	}
	fields["status"], fields["sensitive"] = "short", "yes"
	if _, page = ada.sendFiles("/post", fields, nil); !strings.Contains(page, "Show 1 sensitive picture") || !strings.Contains(page, `alt="grey" class="focus-right-top"`) {
		t.Errorf("the page lacks the picture: %s", page)
	}
	if res := ben.fetch(stored.URL); res.StatusCode != http.StatusOK {
		t.Errorf("after the post, others get %d, want 200", res.StatusCode)
	}
	// Without a session, the picture is kept with the text until its author has logged in again.
	if got := upload(ada, photo(t)); got != http.StatusOK {
		t.Fatalf("got %d, %s", got, stored.Error)
	}
	alt := "alt-" + stored.ID
	field := fmt.Sprintf(`name="media" value="%s"`, stored.ID)
	kept := []string{"username", "ada", "password", password, "action", "/post", "status", "kept", "media", stored.ID, alt, "a hill"}
	out := s.visitor()
	out.get("/")
	out.send("/post", kept...).want(403, field, `name="`+alt+`" value="a hill"`, "are kept")
	out.send("/login", kept...).want(200, field, `name="`+alt+`" value="a hill"`, "are kept")
	out.send("/post", kept...).want(303)
	out.get("/u/ada").want(200, `alt="a hill"`)
	// If the form is sent again with a different text, it is shown again without the picture, which
	// belongs to the first post.
	fields["status"] = "the form once more"
	if res, page = ada.sendFiles("/post", fields, nil); res.StatusCode != http.StatusUnprocessableEntity || strings.Contains(page, fmt.Sprintf(`name="media" value="%s"`, stored.ID)) {
		t.Errorf("got %d, want 422 and a form without the picture of the first post", res.StatusCode)
	}
}

// The same text with another picture, or with an added picture, is another post. A form with files
// that is sent twice creates one post.
func TestSameTextWithOtherPictures(t *testing.T) {
	t.Parallel()
	s := withPictures(t)
	ada := s.signedUp("ada")
	other := photoOf(t, color.White)
	send := func(files map[string][]byte, want int) {
		t.Helper()
		ada.sendFiles("/post", map[string]string{"status": "look"}, files)
		if got := len(ada.get("/u/ada").posts()); got != want {
			t.Errorf("%d posts, want %d", got, want)
		}
	}
	send(nil, 1)
	send(map[string][]byte{"file1": photo(t)}, 2)
	send(map[string][]byte{"file1": photo(t)}, 2)
	send(map[string][]byte{"file1": other}, 3)
	send(map[string][]byte{"file1": photo(t), "file2": other}, 4)
	send(nil, 4)
}

func TestPortrait(t *testing.T) {
	t.Parallel()
	picturesEverywhere(t, testPortrait)
}

func testPortrait(t *testing.T, s *site) {
	t.Helper()
	ada := s.signedUp("ada")
	_, page := ada.sendFiles("/settings/profile", map[string]string{"display_name": "Ada L."}, map[string][]byte{"avatar": photo(t)})
	s.visitor().get("/u/ada").want(200, "Ada L.") // saved together with the picture
	address := mediaAddress.FindString(page)
	if res := s.visitor().fetch(address); address == "" || res.StatusCode != http.StatusOK {
		t.Fatalf("avatar %q: status %d, want 200", address, res.StatusCode)
	}
	ada.sendFiles("/settings/profile", map[string]string{"display_name": "Ada L."}, map[string][]byte{"header": photo(t)})
	if page := s.visitor().get("/u/ada").body; !strings.Contains(page, `<img class="banner row" src="/media/`) {
		t.Error("the profile has no header")
	}
	// A refused picture keeps what was typed, and nothing is saved.
	res, page := ada.sendFiles("/settings/profile", map[string]string{"display_name": "Ada Lovelace"}, map[string][]byte{"avatar": []byte("no picture")})
	if res.StatusCode != http.StatusUnsupportedMediaType || !strings.Contains(page, `value="Ada Lovelace"`) || !strings.Contains(page, `<img class="header" `) {
		t.Errorf("a file that is no picture: %d, want 415 and the form with its text: %s", res.StatusCode, page)
	}
	s.visitor().get("/u/ada").want(200, "Ada L.").wantNot("Lovelace")
	ada.sendFiles("/settings/profile", map[string]string{"remove": "avatar"}, nil)
	if res := s.visitor().fetch(address); res.StatusCode != http.StatusNotFound {
		t.Errorf("the removed avatar: %d, want 404", res.StatusCode)
	}
}

// A replaced avatar stays available, because other processes may have cached pages that contain it.
// A removed avatar and those before it become unavailable.
func TestReplacedPortrait(t *testing.T) {
	t.Parallel()
	url, place := redistest.DB(t).URL(), files.Directory(t.TempDir())
	var sites [2]*site
	for i := range sites {
		db := reach(t, url)
		sites[i] = start(t, db.Client(), web.Options{}, app.Options{Invalidations: db.Invalidations(), Media: place})
	}
	ada, stranger := sites[0].signedUp("ada"), sites[1].visitor()
	change := func(fields map[string]string, sent map[string][]byte) (address string) {
		_, page := ada.sendFiles("/settings/profile", fields, sent)
		return mediaAddress.FindString(page)
	}
	first := change(nil, map[string][]byte{"avatar": photo(t)})
	if res := stranger.fetch(first); res.StatusCode != http.StatusOK {
		t.Fatalf("first avatar %q: status %d, want 200", first, res.StatusCode)
	}
	second := change(nil, map[string][]byte{"avatar": photo(t)})
	for _, address := range []string{first, second} {
		if res := stranger.fetch(address); res.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d, want 200; the first avatar is %s", address, res.StatusCode, first)
		}
	}
	change(map[string]string{"remove": "avatar"}, nil)
	time.Sleep(promise + time.Millisecond)
	for _, address := range []string{first, second} {
		if res := stranger.fetch(address); res.StatusCode != http.StatusNotFound {
			t.Errorf("removed avatar %s: status %d, want 404", address, res.StatusCode)
		}
	}
}

// The account that represents the site provides its picture, as long as strangers can see the
// account.
func TestSitePicture(t *testing.T) {
	t.Parallel()
	s := withPictures(t)
	admin, ada := s.signedUpAs("olga", social.Admin), s.signedUp("ada")
	ada.sendFiles("/settings/profile", map[string]string{"display_name": "Ada L."}, map[string][]byte{"header": photo(t)})
	ada.send("/post", "status", "Welcome")
	admin.send("/moderation/site", "account", "not a name", "signup", "open").want(422, "Use the name of an account here")
	admin.send("/moderation/site", "account", "@Ada", "signup", "open").want(303)
	const banner = `<img class="banner row" src="/media/`
	s.visitor().get("/").want(200, banner, `<meta property="og:image" content="http`)
	s.visitor().get("/about").want(200, banner, `<a href="/u/ada">@ada</a>`)
	unseen := func() {
		t.Helper()
		for _, path := range []string{"/", "/about"} {
			s.visitor().get(path).want(200).wantNot(banner, `<a href="/u/ada">@ada</a>`)
		}
	}
	s.standing("ada", social.Suspended)
	unseen()
	s.standing("ada", social.Good)
	s.visitor().get("/").want(200, banner)
	if err := s.social.Leaving.DeleteAccount(t.Context(), s.user("ada").ID); err != nil {
		t.Fatal(err)
	}
	unseen()
	admin.send("/moderation/site", "account", "nobody", "signup", "open").want(303)
	s.visitor().get("/about").want(200).wantNot("@nobody")
}

// fullStore is a media store without room for another picture.
type fullStore struct{ files.Store }

func (fullStore) Put(context.Context, string, []byte) error { return files.ErrFull }

// If the disk is full, a post with a picture is rejected, keeping its text, and other posts still
// work.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	db := reach(t, redistest.DB(t).URL())
	place := fullStore{files.Directory(t.TempDir())}
	s := start(t, db.Client(), web.Options{}, app.Options{Invalidations: db.Invalidations(), Media: place})
	ada := s.signedUp("ada")
	const full = "no room for more pictures"
	res, page := ada.sendFiles("/post", map[string]string{"status": "look at this", "focus1": "left-bottom"}, map[string][]byte{"file1": photo(t)})
	if res.StatusCode != http.StatusInsufficientStorage || !strings.Contains(page, full) || !strings.Contains(page, "look at this</textarea>") {
		t.Errorf("post: status %d, want 507: %s", res.StatusCode, page)
	}
	if res, page = ada.sendFiles("/media", nil, map[string][]byte{"file": photo(t)}); res.StatusCode != http.StatusInsufficientStorage || !strings.Contains(page, full) {
		t.Errorf("upload: status %d, want 507: %s", res.StatusCode, page)
	}
	ada.send("/post", "status", "only words").want(303)
	s.visitor().get("/u/ada").want(200, "only words").wantNot("look at this")
}

// A client can request a range of a picture.
func TestRange(t *testing.T) {
	t.Parallel()
	s := withPictures(t)
	_, page := s.signedUp("ada").sendFiles("/post", map[string]string{"status": "look"}, map[string][]byte{"file1": photo(t)})
	req, err := http.NewRequest(http.MethodGet, s.http.URL+mediaAddress.FindString(page), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", "bytes=2-5")
	res, err := s.visitor().http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	part, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusPartialContent || len(part) != 4 || !strings.HasPrefix(res.Header.Get("Content-Range"), "bytes 2-5/") {
		t.Errorf("%d, %d bytes, %q, %v", res.StatusCode, len(part), res.Header.Get("Content-Range"), err)
	}
}

// busyStore is a media store that calls meanwhile before each write.
type busyStore struct {
	files.Store
	meanwhile func()
}

func (p *busyStore) Put(ctx context.Context, name string, data []byte) error {
	p.meanwhile()
	return p.Store.Put(ctx, name, data)
}

// whileStored returns a site and a function that sets what happens, once, before the next file is
// stored.
func whileStored(t *testing.T) (s *site, meanwhile func(do func())) {
	t.Helper()
	place := &busyStore{files.Directory(t.TempDir()), func() {}}
	db := reach(t, redistest.DB(t).URL())
	s = start(t, db.Client(), web.Options{}, app.Options{Invalidations: db.Invalidations(), Media: place})
	return s, func(do func()) {
		var once sync.Once
		place.meanwhile = func() { once.Do(do) }
	}
}

var keptPicture = regexp.MustCompile(`name="media" value="([0-9a-f]{32})"`)

// An error page keeps pictures uploaded as files, like those uploaded by a script.
func TestErrorPageKeepsFiles(t *testing.T) {
	t.Parallel()
	s, meanwhile := whileStored(t)
	ada, ben := s.signedUp("ada"), s.signedUp("ben")
	ben.send("/post", "status", "ask me").want(303)
	meanwhile(func() { ben.send("/u/ben/1/delete").want(303) })
	res, page := ada.sendFiles("/u/ben/1/reply", map[string]string{"status": "what is this?"}, map[string][]byte{"file1": photo(t)})
	kept := keptPicture.FindStringSubmatch(page)
	if res.StatusCode != http.StatusNotFound || kept == nil || !strings.Contains(page, "are kept") {
		t.Fatalf("got %d, want 404 and a form with the picture: %s", res.StatusCode, page)
	}
	alt := "alt-" + kept[1]
	if !strings.Contains(page, fmt.Sprintf(`name="%s" value="a grey rectangle"`, alt)) {
		t.Error("the form lacks the description of the picture")
	}
	ada.send("/post", "status", "what is this?", "media", kept[1], alt, "a grey rectangle").want(303)
	ada.get("/u/ada").want(200, `alt="a grey rectangle"`)
}

// If the session or the account ends while files arrive, nothing is posted, and the log-in form
// keeps the text.
func TestSessionEndsWhileFilesArrive(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(otherBrowser *visitor){
		"logged out": func(otherBrowser *visitor) { otherBrowser.send("/settings/security/others").want(303) },
		"deleted":    func(otherBrowser *visitor) { otherBrowser.send("/settings/delete", "password", password).want(200) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, meanwhile := whileStored(t)
			ada := s.signedUp("ada")
			ada.send("/post", "status", "in time").want(303)
			otherBrowser := s.visitor()
			login := func(v *visitor) { v.send("/login", "username", "ada", "password", password).want(303) }
			for path, status := range map[string]int{"/post": 403, "/u/ada/1/reply": 403, "/settings/profile": 403, "/media": 401} {
				if name == "deleted" && path != "/post" {
					continue // there is only one account to delete
				}
				login(otherBrowser)
				login(ada)
				meanwhile(func() { end(otherBrowser) })
				field := "file1"
				if path == "/settings/profile" {
					field = "avatar"
				}
				res, page := ada.sendFiles(path, map[string]string{"status": "too late"}, map[string][]byte{field: photo(t)})
				if res.StatusCode != status {
					t.Errorf("%s: got %d, want %d: %s", path, res.StatusCode, status, page)
				}
				if field == "file1" && status == 403 && (!strings.Contains(page, ">too late</textarea>") || keptPicture.FindString(page) == "") {
					t.Errorf("%s: the text or its picture is lost: %s", path, page)
				}
			}
			n, err := s.client.Do(t.Context(), s.client.B().Exists().Key("post:2", "post:3").Build()).AsInt64()
			if err != nil || n != 0 {
				t.Errorf("%d posts were published without a session, %v", n, err)
			}
		})
	}
}

// Files uploaded without a session are not stored, and the log-in form says so.
func TestFilesWithoutSession(t *testing.T) {
	t.Parallel()
	s := withPictures(t)
	const notice = "add them again"
	for want, sent := range map[bool]map[string][]byte{true: {"file1": photo(t)}, false: nil} {
		res, page := s.visitor().sendFiles("/post", map[string]string{"status": "look"}, sent)
		if res.StatusCode != http.StatusForbidden || !strings.Contains(page, ">look</textarea>") || strings.Contains(page, notice) != want {
			t.Errorf("with %d files: got %d, want a notice: %v", len(sent), res.StatusCode, want)
		}
	}
}
