package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// connection is a proxy to a site. It can delay requests, cut connections, or respond that the site
// is busy.
type connection struct {
	url    string
	mu     sync.Mutex
	waits  map[string]chan struct{} // closed to release requests, by the suffix of the path
	held   map[string]int           // number of waiting requests, by the suffix of the path
	isCut  bool
	isBusy bool // the proxy responds with 503
}

// connect starts a proxy to a site.
func connect(t *testing.T, site string) *connection {
	t.Helper()
	target, err := url.Parse(site)
	if err != nil {
		t.Fatal(err)
	}
	c := &connection{waits: map[string]chan struct{}{}, held: map[string]int{}}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		suffix, isCut, isBusy := c.state(r.URL.Path)
		if suffix != "" {
			body, _ := io.ReadAll(r.Body) // the server detects a closed connection only after reading the body
			r.Body = io.NopCloser(bytes.NewReader(body))
			if !c.wait(r.Context(), suffix) {
				panic(http.ErrAbortHandler)
			}
		}
		if isCut {
			panic(http.ErrAbortHandler)
		}
		if isBusy {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	c.url = server.URL
	return c
}

// state returns the suffix of the path for which requests are held, if any, and whether the
// connection is cut or busy.
func (c *connection) state(path string) (suffix string, isCut, isBusy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for held := range c.waits {
		if strings.HasSuffix(path, held) {
			suffix = held
		}
	}
	return suffix, c.isCut, c.isBusy
}

// wait holds a request until the request is released. It returns false if the browser has
// disconnected.
func (c *connection) wait(ctx context.Context, suffix string) (released bool) {
	count := func(n int) chan struct{} {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held[suffix] += n
		return c.waits[suffix]
	}
	wait := count(1)
	defer count(-1)
	select {
	case <-wait:
		return true
	case <-ctx.Done():
		return false
	}
}

// waiting returns the number of held requests whose path ends with suffix.
func (c *connection) waiting(suffix string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[suffix]
}

// hold holds requests whose path ends with suffix until release is called.
func (c *connection) hold(suffix string) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait := make(chan struct{})
	c.waits[suffix] = wait
	return sync.OnceFunc(func() { close(wait) })
}

// cut cuts the connection, or restores the connection.
func (c *connection) cut(isCut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = isCut
}

// busy sets whether the proxy responds with 503.
func (c *connection) busy(isBusy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isBusy = isBusy
}

// focused returns the name of the field that has the focus.
func (b *browser) focused() string {
	b.t.Helper()
	return get[string](b, `document.activeElement.name ?? ""`)
}

// TestSlowUpload continues to write while pictures are uploaded, and submits the form too early.
func TestSlowUpload(t *testing.T) {
	t.Parallel()
	var files []string
	for i := range 2 {
		file := filepath.Join(t.TempDir(), strconv.Itoa(i)+".jpg")
		if err := os.WriteFile(file, landscape(uint64(i), 300, 200), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	conn := connect(t, serve(t))
	b := newBrowser(t, conn.url)
	b.signUp("ada")
	b.open("/home")
	release := conn.hold("/media")
	const box = `form.status [name="status"]`
	b.run(
		chromedp.SetUploadFiles(chromedp.CSS(`.status-foot input[type="file"]`), files),
		chromedp.SendKeys(chromedp.CSS(box), "From the"),
		ctrlEnter(),
	)
	b.wantPath("/home")
	if b.has(".post") {
		t.Fatal("a post was published without its pictures")
	}
	b.until("the picture is shown before it is uploaded", func() bool {
		return get[bool](b, `(document.querySelector(".thumbs img")?.naturalWidth ?? 0) > 0`)
	})
	release()
	b.until("the pictures are uploaded", func() bool {
		return len(b.texts(".thumbs li:not(:has(progress))")) == 2 && b.has(".status-foot button:not([type]):enabled")
	})
	b.do(`document.querySelectorAll(".thumbs textarea").forEach(t => t.value = "A hill")`)
	if got := b.focused(); got != "status" {
		t.Errorf("the focus has moved to %q while the user was writing", got)
	}
	b.run(chromedp.SendKeys(chromedp.CSS(box), " hill"), ctrlEnter())
	b.until("the post has its pictures", func() bool { return len(b.texts(".post .pictures figure")) == 2 })
	b.wantTexts(".post .body", "From the hill")
}

// ctrlEnter presses Ctrl+Enter.
func ctrlEnter() action {
	return chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl))
}

// pressed reports whether the button below the first post with a text is on.
func (b *browser) pressed(text, button string) bool {
	b.t.Helper()
	return get[bool](b, fmt.Sprintf(`(() => {
		const post = [...document.querySelectorAll(".post")].find(p => p.querySelector(".body")?.innerText === %q);
		return !!post?.querySelector(".post-action.on." + %q);
	})()`, text, button))
}

// TestSlowButtons presses a second button below a post before the response to the first arrives.
func TestSlowButtons(t *testing.T) {
	t.Parallel()
	conn := connect(t, serve(t))
	b := newBrowser(t, conn.url)
	b.signUp("ada")
	b.publish("a post")
	release := conn.hold("/like")
	b.run(chromedp.Click(chromedp.CSS(".post-action.like")), chromedp.Click(chromedp.CSS(".post-action.save")))
	release()
	b.until("both buttons are on", func() bool { return b.pressed("a post", "like") && b.pressed("a post", "save") })
}

// TestBusyButton checks that a pressed button shows at once that it works.
func TestBusyButton(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, serve(t))
	b.signUp("ada")
	b.open("/home")
	b.do(`new MutationObserver(([change]) => sessionStorage.setItem("busy", change.target.ariaBusy)).
		observe(document.querySelector("form.status"), {subtree: true, attributeFilter: ["aria-busy"]})`)
	b.run(chromedp.SendKeys(chromedp.CSS(`form.status [name="status"]`), "a post"), ctrlEnter())
	b.until("the post is published", func() bool { return b.has(".post .body") })
	b.wantTexts(".post .body", "a post")
	if got := get[string](b, `sessionStorage.getItem("busy") ?? ""`); got != "true" {
		t.Errorf("aria-busy of the pressed button was %q, want true", got)
	}
	if b.has(`[aria-busy="true"]`) {
		t.Error("a button of the next page is busy")
	}
}

// TestButtonsOfAnOldPost checks that a post stays in place when it is liked, although newer posts have
// pushed it off the first page.
func TestButtonsOfAnOldPost(t *testing.T) {
	t.Parallel()
	site := serve(t)
	b := newBrowser(t, site)
	b.signUp("ada")
	b.publish("the old post")
	jar, _ := cookiejar.New(nil)
	otherClient := formClient{t: t, site: site, http: &http.Client{Jar: jar}}
	otherClient.send("/login", map[string]string{"username": "ada", "password": password})
	b.open("/home")
	for i := range 10 {
		otherClient.send("/post", map[string]string{"status": "newer " + strconv.Itoa(i)})
	}
	b.run(chromedp.Click(chromedp.CSS(".post-action.like")))
	b.until("the post is liked", func() bool { return b.pressed("the old post", "like") })
	b.wantTexts(".post .body", "the old post")

	b.open("/bookmarks")
	otherClient.send("/u/ada/1/bookmark", nil)
	b.open("/bookmarks")
	b.run(chromedp.Click(chromedp.CSS(".post-action.save")))
	b.until("the bookmark is removed", func() bool { return !b.pressed("the old post", "save") })
}

// TestCutConnection checks that typed text is kept if the connection is cut.
func TestCutConnection(t *testing.T) {
	t.Parallel()
	conn := connect(t, serve(t))
	b := newBrowser(t, conn.url)
	b.signUp("ada")
	b.publish("a post")
	const box = `form.status [name="status"]`
	typed := func() string {
		return get[string](b, `document.querySelector("form.status textarea")?.value ?? ""`)
	}

	b.run(chromedp.SendKeys(chromedp.CSS(box), "a long thought"))
	conn.cut(true)
	if _, err := chromedp.RunResponse(b.ctx, ctrlEnter()); err == nil {
		t.Fatal("the browser received a response over a cut connection")
	}
	conn.cut(false)
	_, _ = chromedp.RunResponse(b.ctx, navigateBack())
	b.until("the form is back with its text", func() bool { return typed() == "a long thought" })
	b.click("form.status button:not([type])")
	b.until("the post is published", func() bool { return len(b.texts(".post")) == 2 })
	if got := typed(); got != "" {
		t.Errorf("after the post, the form has the text %q, want none", got)
	}
	b.open("/explore")
	b.open("/home")
	if got := typed(); got != "" {
		t.Errorf("after a visit to another page, the form has the text %q, want none", got)
	}

	// If new posts cannot be loaded, the page does not change.
	b.open("/timeline")
	jar, _ := cookiejar.New(nil)
	otherClient := formClient{t: t, site: conn.url, http: &http.Client{Jar: jar}}
	otherClient.send("/login", map[string]string{"username": "ada", "password": password})
	otherClient.send("/post", map[string]string{"status": "a new one"})
	b.until("the page offers the new post", func() bool { return b.has("#new-posts a") })
	conn.cut(true)
	toast := b.watch("#live-region.toast")
	b.run(chromedp.Click(chromedp.CSS("#new-posts a")))
	b.until("the page shows an error", func() bool {
		return toast() && strings.Contains(strings.Join(b.texts("#live-region"), ""), "connection")
	})
	conn.cut(false)
	b.run(chromedp.Click(chromedp.CSS("#new-posts a")))
	b.until("the new post is shown", func() bool { return len(b.texts(".post")) == 3 })
}

// TestTextWithoutResponse checks that a submitted text is kept until the text is published, even if
// the user leaves the page before the response.
func TestTextWithoutResponse(t *testing.T) {
	t.Parallel()
	conn := connect(t, serve(t))
	b := newBrowser(t, conn.url)
	b.signUp("ada")
	const box, thought = `form.status [name="status"]`, "a long thought"
	typed := func() string {
		b.open("/explore")
		b.open("/home")
		return get[string](b, `document.querySelector("form.status textarea").value`)
	}
	release := conn.hold("/post")
	defer release()
	for _, leaving := range []struct{ how, script, arrived string }{
		{"a link", `document.querySelector("a[href='/bookmarks']").click()`, `location.pathname === "/bookmarks"`},
		{"a redirect", `location.href = "/"`, `location.pathname === "/home"`},
		{"a reload", `location.reload()`, `location.pathname === "/home"`},
	} {
		b.open("/home")
		b.do(`window.isLeft = true`)
		b.fill(box, thought)
		// While the form is being submitted, only scripts of the page itself can run.
		leave := conn.hold("/leave")
		b.do(`setTimeout(() => {
			document.querySelector("form.status button:not([type])").click();
			fetch("/leave").then(() => ` + leaving.script + `);
		})`)
		b.until("the form is submitted", func() bool { return conn.waiting("/post") == 1 && conn.waiting("/leave") == 1 })
		leave()
		b.until(leaving.how+" leads away", func() bool {
			return get[bool](b, `!window.isLeft && document.readyState === "complete" && `+leaving.arrived)
		})
		b.until("the browser has canceled the submission", func() bool { return conn.waiting("/post") == 0 })
		if got := typed(); got != thought {
			t.Errorf("after %s, the form has the text %q, want %q", leaving.how, got, thought)
		}
	}
	release()
	b.click("form.status button:not([type])")
	b.until("the post is published", func() bool { return len(b.texts(".post")) == 1 })
	if got := typed(); got != "" {
		t.Errorf("after the post, the form has the text %q, want none", got)
	}
}

// TestNewPostsOfABusySite checks that added pictures are kept when a busy site cannot send new posts.
func TestNewPostsOfABusySite(t *testing.T) {
	t.Parallel()
	conn := connect(t, serve(t))
	b := newBrowser(t, conn.url)
	b.signUp("ada")
	file := filepath.Join(t.TempDir(), "hill.jpg")
	if err := os.WriteFile(file, landscape(1, 300, 200), 0o600); err != nil {
		t.Fatal(err)
	}
	b.addPictures(file)
	post(t, b, "a new one")
	b.until("the page offers the new post", func() bool { return b.has("#new-posts a") })
	conn.busy(true)
	toast := b.watch("#live-region.toast")
	b.run(chromedp.Click(chromedp.CSS("#new-posts a")))
	b.until("the page shows an error", toast)
	conn.busy(false)
	b.run(chromedp.Click(chromedp.CSS("#new-posts a")))
	b.until("the new post is shown", func() bool { return len(b.texts(".post")) == 1 })
	if !b.has(".thumbs li") {
		t.Error("the form has lost the picture")
	}
}

// TestSlowButtonsLeaveTheFocus checks that the response to a button below a post does not move the
// focus if the user has moved the focus meanwhile.
func TestSlowButtonsLeaveTheFocus(t *testing.T) {
	t.Parallel()
	conn := connect(t, serve(t))
	b := newBrowser(t, conn.url)
	b.signUp("ada")
	b.publish("the first post")
	b.publish("the second post")
	// like uses a script, because the response to the previous click may replace the button before
	// the next click.
	like := func() {
		b.do(`{ const button = document.querySelector(".post-action.like"); button.focus(); button.click() }`)
	}
	release := conn.hold("/like")
	b.run(chromedp.KeyEvent("j"), chromedp.KeyEvent("l"), chromedp.KeyEvent("j"))
	release()
	b.until("the post is liked", func() bool { return b.pressed("the second post", "like") })
	b.run(chromedp.KeyEvent("l"))
	b.until("the next post is liked too", func() bool { return b.pressed("the first post", "like") })

	release = conn.hold("/unlike")
	like()
	b.run(chromedp.SendKeys(chromedp.CSS(`form.status [name="status"]`), "meanwhile"))
	release()
	b.until("the post is no longer liked", func() bool { return !b.pressed("the second post", "like") })
	if got := b.focused(); got != "status" {
		t.Errorf("the focus has moved to %q while the user was writing", got)
	}
	like()
	b.until("the post is liked again", func() bool { return b.pressed("the second post", "like") })
	if !b.has(".post-action.like:focus") {
		t.Error("the button has lost the focus")
	}
}
