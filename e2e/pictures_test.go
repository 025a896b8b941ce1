package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Somebody adds pictures to a post, with scripts and without: each has a description and a part that
// stays in view.
func TestPictures(t *testing.T) {
	t.Parallel()
	var files []string
	for i := range 2 {
		file := filepath.Join(t.TempDir(), "photo.jpg")
		if err := os.WriteFile(file, landscape(uint64(i), 900, 600), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	site := serve(t)
	t.Run("with scripts", func(t *testing.T) {
		t.Parallel()
		b := newBrowser(t, site)
		b.signUp("ada")
		b.addPictures(files...)
		b.run(chromedp.SendKeys(chromedp.CSS(".thumbs li:nth-child(1) textarea"), "Hills at noon"))
		b.choosePart(".thumbs li:nth-child(1) select", "left-top")
		if got := get(b, chromedp.Evaluate[string](`document.querySelector(".thumbs img").className`)); got != "focus-left-top" {
			t.Errorf("the thumbnail shows the part %q", got)
		}
		b.run(chromedp.Click(chromedp.CSS(".thumbs li:nth-child(2) button")))
		b.submit("form.status", "status", "From up here")
		b.wantPicture("Hills at noon", "focus-left-top")
	})
	t.Run("without scripts", func(t *testing.T) {
		t.Parallel()
		b := newBrowser(t, site, withoutScripts())
		b.signUp("ben")
		b.press(".add-pictures summary")
		b.run(chromedp.SetUploadFiles(chromedp.CSS(`[name="file1"]`), files[:1]))
		b.choosePart(`[name="focus1"]`, "right-bottom")
		b.submit("form.status", "status", strings.Repeat("hill ", 60), "alt1", "Hills")
		if text := b.texts("form.status .problem"); len(text) != 1 {
			t.Fatalf("a post that is too long: %q", text)
		}
		b.submit("form.status", "status", "The same hills")
		b.wantPicture("Hills", "focus-right-bottom")
	})
}

// addPictures adds pictures to the form of the home page, whose scripts upload them.
func (b *browser) addPictures(files ...string) {
	b.t.Helper()
	b.open("/home")
	b.run(chromedp.SetUploadFiles(chromedp.CSS(`.status-foot input[type="file"]`), files))
	b.until("the pictures are uploaded", func() bool { return len(b.texts(".thumbs li")) == len(files) })
}

// choosePart chooses the part of a picture that stays in view.
func (b *browser) choosePart(selector, value string) {
	b.t.Helper()
	get(b, chromedp.Evaluate[bool](fmt.Sprintf(`(() => {
		const s = document.querySelector(%q); s.value = %q; return s.dispatchEvent(new Event("change"));
	})()`, selector, value)))
}

// wantPicture expects that the first post has one picture.
func (b *browser) wantPicture(alt, class string) {
	b.t.Helper()
	b.wantPath("/home")
	const script = `(() => {
		const images = [...document.querySelectorAll(".post:first-of-type .pictures img")];
		return images.map(i => i.alt + "|" + i.className + "|" + new URL(i.src).pathname);
	})()`
	got := get(b, chromedp.Evaluate[[]string](script))
	if len(got) != 1 || !strings.HasPrefix(got[0], alt+"|"+class+"|/media/") {
		b.t.Errorf("the post has the pictures %q, want %s, %s", got, alt, class)
	}
}

// upload gives some people of the demo avatars, headers and posts with pictures.
func upload(t *testing.T, site, redis string, people int) {
	t.Helper()
	out, err := exec.Command(retwis, "user", "list", "--json", "--limit", strconv.Itoa(people), "--redis", redis).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(bytes.NewReader(out))
	texts := []string{
		"Morning walk", "The new shelf holds", "What the harbour looks like when the ferries are late, the wind is from the north, and everybody has gone home except for the two of us and the gulls. I'd do it again tomorrow.",
		"Before and after", "Four from the weekend",
	}
	for i := range people {
		var who struct{ Name string }
		if err := lines.Decode(&who); err != nil {
			t.Fatal(err)
		}
		jar, _ := cookiejar.New(nil)
		m := member{t: t, site: site, http: &http.Client{Jar: jar}}
		m.send("/login", map[string]string{"username": who.Name, "password": "demo-demo"})
		m.send("/settings/picture", map[string]string{"kind": "avatar"}, landscape(uint64(i), 400, 400))
		if i%2 == 0 {
			m.send("/settings/picture", map[string]string{"kind": "header"}, landscape(uint64(i)+1000, 1500, 500))
		}
		if i%3 == 0 {
			fields := map[string]string{"status": texts[i/3%len(texts)]}
			var pictures [][]byte
			for k := range 1 + i/3%4 {
				if fields["alt"+strconv.Itoa(k+1)] = "Hills under a low sun"; k == 0 {
					fields["focus1"] = "centre-bottom"
				}
				pictures = append(pictures, landscape(uint64(i*10+k), 1200, 600+300*(k%3)))
			}
			m.send("/post", fields, pictures...)
		}
	}
}

// member is somebody who sends forms without a browser.
type member struct {
	t    *testing.T
	site string
	http *http.Client
}

// send sends a form, with pictures in the field file, or file1 and so on of a post.
func (m member) send(path string, fields map[string]string, pictures ...[]byte) {
	m.t.Helper()
	contentType, body := "application/x-www-form-urlencoded", &bytes.Buffer{}
	if len(pictures) == 0 {
		values := url.Values{}
		for name, value := range fields {
			values.Set(name, value)
		}
		body.WriteString(values.Encode())
	} else {
		form := multipart.NewWriter(body)
		for name, value := range fields {
			_ = form.WriteField(name, value)
		}
		for i, picture := range pictures {
			name := "file"
			if path == "/post" {
				name += strconv.Itoa(i + 1)
			}
			part, _ := form.CreateFormFile(name, "photo.jpg")
			_, _ = part.Write(picture)
		}
		_ = form.Close()
		contentType = form.FormDataContentType()
	}
	res, err := m.http.Post(m.site+path, contentType, body)
	if err != nil {
		m.t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode >= 400 {
		m.t.Fatalf("%s: %s", path, res.Status)
	}
}

// landscape is a photo of hills under a sun, always the same for a seed.
func landscape(seed uint64, width, height int) []byte {
	random := rand.New(rand.NewPCG(seed, 1))
	hue := random.Float64()
	colour := func(shift, light float64) color.RGBA {
		at := func(phase float64) uint8 {
			return uint8(255 * light * (0.6 + 0.4*math.Cos(2*math.Pi*(hue+shift+phase))))
		}
		return color.RGBA{at(0), at(1.0 / 3), at(2.0 / 3), 255}
	}
	w, h := float64(width), float64(height)
	sunX, sunY, sun := w*(0.2+0.6*random.Float64()), h*(0.15+0.25*random.Float64()), h*0.09
	type hill struct{ base, high, wave, phase float64 }
	var hills []hill
	for i := range 4 {
		hills = append(hills, hill{h * (0.5 + 0.13*float64(i)), h * (0.12 - 0.02*float64(i)), (1.5 + 2*random.Float64()) / w, 6 * random.Float64()})
	}
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for x := range width {
		for y := range height {
			fx, fy := float64(x), float64(y)
			c := colour(0.45, 0.75+0.25*fy/h)
			if math.Hypot(fx-sunX, fy-sunY) < sun {
				c = color.RGBA{255, 244, 214, 255}
			}
			for i, one := range hills {
				if fy > one.base-one.high*(math.Sin(2*math.Pi*one.wave*fx+one.phase)+0.4*math.Sin(5*math.Pi*one.wave*fx)) {
					c = colour(0.08*float64(i), 0.75-0.16*float64(i))
				}
			}
			img.SetRGBA(x, y, c)
		}
	}
	var out bytes.Buffer
	_ = jpeg.Encode(&out, img, nil)
	return out.Bytes()
}
