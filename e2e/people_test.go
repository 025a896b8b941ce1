package e2e

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestTwoPeople lets two users sign up, post, follow, read and log out, with scripts and without.
func TestTwoPeople(t *testing.T) {
	t.Parallel()
	for name, actions := range map[string][]action{
		"with scripts":    nil,
		"without scripts": {withoutScripts()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := serve(t)
			ada, ben := newBrowser(t, site, actions...), newBrowser(t, site, actions...)
			ada.signUp("Ada")
			ben.signUp("ben")

			ben.publish(`Hello <b>world</b> & "everybody"`)
			if got := ben.texts(".post .body"); !slices.Equal(got, []string{`Hello <b>world</b> & "everybody"`}) {
				t.Errorf("ben's home shows %q, want the post", got)
			}
			ada.open("/timeline")
			if got := ada.texts(".post .body"); len(got) != 1 {
				t.Errorf("the public timeline shows %q, want one post", got)
			}

			ada.click(`.post a.name`)
			ada.wantPath("/u/ben")
			ada.submit(`.profile form`) // follow
			ada.wantPath("/u/ben")
			if got := ada.texts(".profile form button"); len(got) == 0 || got[0] != "Following" {
				t.Errorf("after following, the buttons are %q, want Following first", got)
			}
			ben.publish("for those who follow me")
			ada.open("/home")
			// Following has added the earlier post.
			want := []string{"for those who follow me", `Hello <b>world</b> & "everybody"`}
			if got := ada.texts(".post .body"); !slices.Equal(got, want) {
				t.Errorf("ada's home shows %q, want %q", got, want)
			}
			ben.open("/u/ben/followers")
			if got := ben.texts(".people .name"); !slices.Equal(got, []string{"Ada"}) {
				t.Errorf("ben's followers are %q, want Ada", got)
			}
			readPages(t, ada, ben, actions == nil)
			logOutEverywhere(t, ada, actions)
		})
	}
}

// readPages publishes 60 posts and checks that the pages of the home timeline show each post once.
// With scripts, the pages are added below the first.
func readPages(t *testing.T, reader, author *browser, scripts bool) {
	t.Helper()
	var want []string
	for i := range 60 {
		text := fmt.Sprintf("post number %d", i)
		post(t, author, text)
		want = append(want, text)
	}
	slices.Reverse(want)
	reader.open("/home")
	got := reader.texts(".post .body")
	for reader.has(`a[rel="next"]`) {
		if scripts {
			reader.older()
			got = reader.texts(".post .body")
		} else {
			reader.click(`a[rel="next"]`)
			got = append(got, reader.texts(".post .body")...)
		}
	}
	if len(got) < 60 || !slices.Equal(got[:60], want) {
		t.Errorf("the pages show %d posts, want the 60 new posts first: %q", len(got), got)
	}
}

// post publishes a post with an HTTP request in the browser's session.
func post(t *testing.T, b *browser, text string) {
	t.Helper()
	send(t, b, "/post", url.Values{"status": {text}})
}

// send submits a form with an HTTP request in the browser's session.
func send(t *testing.T, b *browser, path string, form url.Values) {
	t.Helper()
	request, err := http.NewRequestWithContext(b.ctx, http.MethodPost, b.site+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.AddCookie(b.cookie())
	response, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusSeeOther {
		t.Fatalf("send %s %v: %s", path, form, response.Status)
	}
}

// logOutEverywhere logs in with a second browser, which logs out the first browser and then itself.
func logOutEverywhere(t *testing.T, first *browser, actions []action) {
	t.Helper()
	second := newBrowser(t, first.site, actions...)
	second.open("/home")
	second.wantPath("/login")
	second.submit("main form", "username", "ADA", "password", "wrong password")
	if got := second.texts(".problem"); len(got) != 1 {
		t.Errorf("a wrong password shows the problems %q, want one", got)
	}
	second.submit("main form", "username", "ADA", "password", password)
	second.wantPath("/home")
	oldCookie := second.cookie()

	first.open("/home")
	first.wantPath("/home") // both browsers are logged in
	second.open("/settings/security")
	second.submit(`form[action$="/others"]`)
	first.open("/home")
	first.wantPath("/login")
	second.open("/home")
	second.run(chromedp.Click(chromedp.CSS(`.account summary`)))
	second.submit(`form[action="/logout"]`)
	second.wantPath("/")

	request, err := http.NewRequestWithContext(first.ctx, http.MethodGet, first.site+"/home", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.AddCookie(oldCookie)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusSeeOther {
		t.Errorf("GET /home with the old cookie: %s, want a redirect", response.Status)
	}
}

// TestFormsKeepInput checks that a rejected form keeps the input, except for passwords.
func TestFormsKeepInput(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, serve(t))
	b.open("/register")
	b.submit("main form", "username", "not a name", "password", password)
	name := b.value(`[name="username"]`)
	typed := b.value(`[name="password"]`)
	focus := get[string](b, `document.activeElement.name`)
	if name != "not a name" || typed != "" || focus != "username" {
		t.Errorf("the form has the name %q, the password %q and the focus on %q; want the typed name, no password and the focus on username", name, typed, focus)
	}
	if got := b.texts(`#username-note`); len(got) != 1 || !strings.Contains(got[0], "letters") {
		t.Errorf("the error messages are %q, want one about letters", got)
	}

	b.signUp("writer")
	long := strings.Repeat("too long ", 40)
	b.submit("form.status", "status", long)
	if kept := b.value(`[name="status"]`); kept != long {
		t.Errorf("the box shows %.30q…, want the typed text", kept)
	}
	b.open("/explore")
	b.open("/home")
	if kept := b.value(`[name="status"]`); kept != long {
		t.Errorf("after a visit to another page, the box shows %.30q…, want the typed text", kept)
	}
	b.submit("form.status", "status", "short enough")
	b.open("/explore")
	b.open("/home")
	if kept := b.value(`[name="status"]`); kept != "" {
		t.Errorf("after the post, the box shows %.30q…, want no text", kept)
	}
}

// TestFormStaysInPlace checks that the password rating does not move the button below the rating,
// which the user may be about to press.
func TestFormStaysInPlace(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, serve(t))
	for _, width := range []int64{1280, 390} {
		b.resize(look{width: width}, 900)
		for _, typed := range []string{"a", "abcdefgh", password} {
			b.open("/register")
			top := func() float64 {
				return get[float64](b, `document.querySelector("button.wide").getBoundingClientRect().top`)
			}
			before := top()
			b.run(chromedp.SendKeys(chromedp.CSS(`[name="password"]`), typed))
			b.until("the password is rated", func() bool { return b.has(".strength:not(:empty)") })
			if after := top(); math.Abs(after-before) > 1 {
				t.Errorf("at a width of %d, the button moves from %v to %v after %q", width, before, after, typed)
			}
		}
	}
}

// TestCounter checks that the counter counts grapheme clusters, and appears with a ring once few
// characters are left.
func TestCounter(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, serve(t))
	b.signUp("counter")
	write := func(times int) {
		b.do(fmt.Sprintf(`
			(box => (box.value = "a👨‍👩‍👧‍👦é".repeat(%d), box.dispatchEvent(new Event("input"))))(document.getElementById("status"))`, times))
	}
	write(79)
	if !b.has("[data-count].unseen") || b.has(".ring:not([hidden])") {
		t.Error("the counter is visible although 43 characters are left")
	}
	write(80)
	if got := b.texts("[data-count]:not(.unseen)"); !slices.Equal(got, []string{"40 left"}) || !b.has(".ring:not([hidden])") {
		t.Errorf("the counter shows %q, want 40 left and a ring", got)
	}
	// The counter must agree with the server.
	for text, want := range map[string]string{
		strings.Repeat("क्षत्रिय", 56) + "क": "1 too many", // 5 characters each
		strings.Repeat("স্ত্রী", 93):         "1 left",     // 3
		strings.Repeat("กน้ำ", 125):          "30 left",
	} {
		b.do(`sessionStorage.clear()`) // removes the draft
		b.open("/home")
		b.fill("#status", text)
		b.wantTexts("[data-count]:not(.unseen)", want)
		b.click("form.status button:not([type])")
		if got := b.has("#status-problem"); got != strings.Contains(want, "too many") {
			t.Errorf("the server rejects %.24q: %v; the counter showed %q", text, got, want)
		}
	}
}

// TestPhone checks that on a phone, the round button appears only on pages where the button covers
// no controls, and that tabs form one row with the current tab in view.
func TestPhone(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, serve(t))
	b.signUp("ada")
	b.publish("to be linked")
	b.use(looks[3])
	for path, want := range map[string]bool{
		"/home": false, "/u/ada/1": false, "/settings/profile": false, "/u/ada/1/delete": false, "/u/ada/report": false,
		"/timeline": true, "/u/ada": true, "/u/ada/followers": true, "/bookmarks": true, "/notifications": true,
	} {
		b.open(path)
		if got := get[bool](b, `document.querySelector(".side .new").checkVisibility()`); got != want {
			t.Errorf("%s has the round button: %v, want %v", path, got, want)
		}
	}
	for _, path := range []string{"/notifications", "/explore/people", "/u/ada/following"} {
		b.open(path)
		if text := get[string](b, `(() => {
			const nav = document.querySelector(".tabs"), tab = nav.querySelector('[aria-current="page"]').getBoundingClientRect();
			const rows = new Set([...nav.children].map(a => a.offsetTop)).size;
			return rows === 1 && tab.left >= 0 && tab.right < innerWidth + 1 ? "" : rows + " rows, tab from " + tab.left + " to " + tab.right;
		})()`); text != "" {
			t.Errorf("%s has %s; want one row with the current tab in view", path, text)
		}
	}
}

// TestSettingsList checks that on a phone, the settings are a list of pages, which link back to the
// list. On a wide screen, the list is next to the page and marks the current page.
func TestSettingsList(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, serve(t))
	b.signUp("ada")
	visible := func(selector string) bool {
		return get[bool](b, `document.querySelector("`+selector+`")?.checkVisibility() ?? false`)
	}
	for _, l := range []look{looks[0], looks[3]} {
		b.open("/settings")
		b.use(l)
		b.click(`main .section-nav a[href="/settings/import"]`)
		b.wantPath("/settings/import")
		wide := l.screen == "desktop"
		if got := visible(`.sidebar .section-nav a[href='/settings/import'][aria-current=page]`); got != wide {
			t.Errorf("%s: the list is next to the page: %v, want %v", l.screen, got, wide)
		}
		if got := visible(".section-up a"); got == wide {
			t.Errorf("%s: the page links back to the list: %v, want %v", l.screen, got, !wide)
		}
		if !wide {
			b.click(".section-up a")
			b.wantPath("/settings")
		}
	}
}

// TestCopyLink checks that a script copies the link of a post, and that without scripts it is an
// ordinary link.
func TestCopyLink(t *testing.T) {
	t.Parallel()
	site := serve(t)
	b := newBrowser(t, site)
	b.signUp("ada")
	b.publish("to be linked")
	b.open("/u/ada")
	b.do(`navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }`)
	b.press(".post .more-link")
	b.press(".post .menu [data-copy]")
	b.until("the link is copied", func() bool { return get[string](b, `window.copied ?? ""`) == site+"/u/ada/1" })
	b.until("a toast confirms the copy", func() bool { return slices.Contains(b.texts(".toast"), "Copied") })
	b.wantPath("/u/ada")
	noScripts := newBrowser(t, site, withoutScripts())
	noScripts.open("/timeline")
	noScripts.click(".post .more-link")
	noScripts.wantPath("/u/ada/1/more")
	noScripts.click("main [data-copy]")
	noScripts.wantPath("/u/ada/1")
}
