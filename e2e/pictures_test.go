package e2e

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPictures adds pictures to a post, with a description and a focus each, with scripts and
// without.
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
		first := b.value(".thumbs [name=media]")
		b.do(`document.querySelector(".thumbs .down").click()`)
		if b.value(".thumbs [name=media]") == first || b.focused() != "" || !slices.Contains(b.texts("#live-region"), "Picture 2") {
			t.Error("the first picture has not moved down")
		}
		b.do(`document.querySelector(".thumbs li:last-child .up").click()`)
		if b.value(".thumbs [name=media]") != first {
			t.Error("the picture has not moved up again")
		}
		b.run(chromedp.SendKeys(chromedp.CSS(".thumbs li:nth-child(1) textarea"), "Hills at noon"))
		b.chooseFocus(".thumbs li:nth-child(1) select", "left-top")
		if got := get[string](b, `document.querySelector(".thumbs img").className`); got != "focus-left-top" {
			t.Errorf("the thumbnail has the class %q, want focus-left-top", got)
		}
		b.fill("form.status [name=status]", "From up here")
		b.run(chromedp.Click(chromedp.CSS("form.status .status-foot button:not([type])")))
		b.until("the form asks for the missing description", func() bool { return b.has(".undescribed") })
		b.run(chromedp.Click(chromedp.CSS(".thumbs li:nth-child(2) .order > :last-child")))
		b.submit("form.status", "status", "From up here")
		b.wantPicture("Hills at noon", "focus-left-top")
		for _, closing := range []string{`history.back()`, `document.querySelector(".lightbox button").click()`} {
			path := b.path()
			b.press(".pictures a")
			b.until("the picture is open", func() bool { return b.has(".lightbox[open]") })
			b.do(closing)
			b.until("the picture is closed", func() bool { return !b.has(".lightbox") && get[bool](b, `history.state === null`) })
			b.wantPath(path)
		}
	})
	t.Run("an upload that hangs", func(t *testing.T) {
		t.Parallel()
		b := newBrowser(t, site)
		b.signUp("cleo")
		b.open("/home")
		const hang = `XMLHttpRequest.prototype.send = () => {}; XMLHttpRequest.prototype.abort = function () { this.dispatchEvent(new Event("abort")); };`
		b.do(hang)
		const button = `.status-foot button[type="button"]`
		b.run(chromedp.SetUploadFiles(chromedp.CSS(`.status-foot input[type="file"]`), files))
		b.until("the upload can be cancelled", func() bool { return strings.Join(b.texts(button), "") == "Cancel upload" })
		b.run(chromedp.Click(chromedp.CSS(button)))
		b.until("the upload is cancelled", func() bool { return strings.Join(b.texts(button), "") == "Add pictures" })
		if got := b.texts("form.status .problem"); len(got) != 1 || got[0] != "The upload was cancelled." {
			t.Errorf("the form shows the problems %q, want that the upload was cancelled", got)
		}
		b.submit("form.status", "status", "Without them")
		b.until("the post is published", func() bool { return slices.Contains(b.texts(".post .body"), "Without them") })
	})
	t.Run("without scripts", func(t *testing.T) {
		t.Parallel()
		b := newBrowser(t, site, withoutScripts())
		b.signUp("ben")
		b.press(".add-pictures summary")
		b.run(chromedp.SetUploadFiles(chromedp.CSS(`[name="file1"]`), files[:1]))
		b.chooseFocus(`[name="focus1"]`, "right-bottom")
		b.submit("form.status", "status", strings.Repeat("hill ", 60), "alt1", "Hills")
		if text := b.texts("form.status .problem"); len(text) != 1 {
			t.Fatalf("a post that is too long shows the problems %q, want one", text)
		}
		b.submit("form.status", "status", "The same hills")
		b.wantPicture("Hills", "focus-right-bottom")
	})
	for name, actions := range map[string][]action{"with scripts": nil, "without scripts": {withoutScripts()}} {
		t.Run("a long description "+name, func(t *testing.T) {
			t.Parallel()
			b := newBrowser(t, site, actions...)
			b.signUp("long" + strconv.Itoa(len(actions)))
			b.open("/home")
			if len(actions) == 0 {
				b.addPictures(files...)
				b.do(`document.querySelectorAll(".thumbs textarea").forEach(t => t.value = "A hill behind a hill. ".repeat(60))`)
				b.submit("form.status", "status", "Hills and hills")
			} else {
				b.press(".add-pictures summary")
				b.run(chromedp.SetUploadFiles(chromedp.CSS(`[name="file1"]`), files[:1]))
				b.submit("form.status", "status", "Hills and hills", "alt1", strings.Repeat("A hill behind a hill. ", 60))
			}
			b.press(".post .alt summary")
			if got := get[string](b, readable); got != "" {
				t.Errorf("the open description: %s", got)
			}
			b.press(".post .alt summary")
			if b.has(".alt[open]") {
				t.Error("the description cannot be closed")
			}
		})
	}
}

// readable is a script that returns the problems of the open description of a picture: the text and
// the close control must be in view and not covered.
const readable = `(() => {
	const open = document.querySelector(".alt[open]"), text = open.querySelector("p"), close = open.querySelector("summary");
	const inView = (e, y) => {
		const r = e.getBoundingClientRect(), at = y(r);
		return at >= 0 && at <= innerHeight && open.contains(document.elementFromPoint(r.left + r.width / 2, at));
	};
	const wrong = [];
	if (!inView(text, r => r.top + 5)) wrong.push("its start is out of view");
	open.scrollTop = open.scrollHeight;
	if (!inView(text, r => r.bottom - 5)) wrong.push("its end is out of view");
	if (!inView(close, r => r.top + r.height / 2)) wrong.push("its close control is out of view");
	return wrong.join(", ");
})()`

// addPictures adds pictures to the form on the home page and waits until they are uploaded.
func (b *browser) addPictures(files ...string) {
	b.t.Helper()
	b.open("/home")
	b.run(chromedp.SetUploadFiles(chromedp.CSS(`.status-foot input[type="file"]`), files))
	b.until("the pictures are uploaded", func() bool { return len(b.texts(".thumbs li:not(:has(progress))")) == len(files) })
}

// chooseFocus chooses the part of a picture that stays in view when the picture is cropped.
func (b *browser) chooseFocus(selector, value string) {
	b.t.Helper()
	b.do(fmt.Sprintf(`(() => {
		const s = document.querySelector(%q); s.value = %q; s.dispatchEvent(new Event("change"));
	})()`, selector, value))
}

// wantPicture checks that the first post has exactly one picture, with this description and class.
func (b *browser) wantPicture(alt, class string) {
	b.t.Helper()
	b.wantPath("/home")
	const script = `(() => {
		const images = [...document.querySelectorAll(".post:first-of-type .pictures img")];
		return images.map(i => i.alt + "|" + i.className + "|" + new URL(i.src).pathname);
	})()`
	got := get[[]string](b, script)
	if len(got) != 1 || !strings.HasPrefix(got[0], alt+"|"+class+"|/media/") {
		b.t.Errorf("the post has the pictures %q, want %s, %s", got, alt, class)
	}
}

// formClient submits forms without a browser.
type formClient struct {
	t    *testing.T
	site string
	http *http.Client
}

// send submits a form. Pictures are in the field file or, for a post, in file1, file2 and so on.
func (c formClient) send(path string, fields map[string]string, pictures ...[]byte) {
	c.t.Helper()
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
	res, err := c.http.Post(c.site+path, contentType, body)
	if err != nil {
		c.t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode >= 400 {
		c.t.Fatalf("POST %s: %s", path, res.Status)
	}
}

// landscape returns a picture that depends only on the number and the size.
func landscape(number uint64, width, height int) []byte {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.SetRGBA(x, y, color.RGBA{uint8(255 * y / height), uint8(60 * number), uint8(255 * x / width), 255})
		}
	}
	var out bytes.Buffer
	_ = jpeg.Encode(&out, img, nil) // cannot fail in memory
	return out.Bytes()
}
