// Package e2e tests the program with a real browser.
package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// retwis is the path of the program, built once.
var retwis string

// lanHost is a host name that the browser resolves to this machine. Browsers treat plain HTTP as
// secure only for localhost.
const lanHost = "retwis.test"

// chromium is the browser process. All tests share it, but have separate profiles.
var chromium context.Context

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "retwis-e2e")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	retwis = filepath.Join(dir, "retwis")
	build := exec.Command("go", "build", "-o", retwis, "./cmd/retwis")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return fail(fmt.Errorf("go build: %w\n%s", err, out))
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP "+lanHost+" 127.0.0.1"),
		chromedp.UserDataDir(filepath.Join(dir, "profile")),
	)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	var quit context.CancelFunc
	chromium, quit = chromedp.NewContext(allocator)
	defer quit()
	if err := chromedp.Do(chromium); err != nil {
		return fail(fmt.Errorf("start chromium: %w", err))
	}
	return m.Run()
}

// fail prints an error and returns the exit code.
func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// serve starts the program and returns its URL. The cleanup sends SIGTERM and expects a clean exit.
func serve(t *testing.T, flags ...string) string {
	t.Helper()
	args := append([]string{"serve", "--addr", "127.0.0.1:0", "--redis", "embedded:" + t.TempDir(), "--limit", "off"}, flags...)
	cmd := exec.Command(retwis, args...)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("retwis serve: %v:\n%s", err, log.String())
		}
	})
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("retwis serve printed nothing: %v\n%s", err, log.String())
	}
	go io.Copy(io.Discard, lines)
	address := regexp.MustCompile(`http://[^,]+`).FindString(line)
	if address == "" {
		t.Fatalf("retwis serve printed %q, want a URL", line)
	}
	return address
}

// browser is a browser profile with its own cookies.
type browser struct {
	t    *testing.T
	ctx  context.Context // ends with the test, and shortly before its deadline
	site string

	tab        context.Context // ends with the test
	waitingFor string          // the condition that until waits for
}

func newBrowser(t *testing.T, site string, actions ...action) *browser {
	t.Helper()
	tab, cancel := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: tab, tab: tab, site: site}
	// Leave time to report the state of the page.
	if deadline, ok := t.Deadline(); ok {
		ctx, stop := context.WithDeadline(tab, deadline.Add(-10*time.Second))
		t.Cleanup(stop)
		b.ctx = ctx
	}
	b.run(append([]action{chromedp.EmulateViewport(1280, 900)}, actions...)...)
	return b
}

// action is a step in the browser.
type action = chromedp.Action[chromedp.Void]

// withoutScripts disables scripts.
func withoutScripts() action {
	return command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// command returns an action that calls the DevTools protocol.
func command[P any](c cdp.Command[P, cdp.Empty], params P) action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

func (b *browser) run(actions ...action) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.fail(err)
	}
}

// get evaluates a script that changes nothing. If the page navigates meanwhile, get retries on the
// next page.
func get[T any](b *browser, script string, options ...chromedp.EvaluateOption) T {
	b.t.Helper()
	for {
		value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, options...))
		var protocolErr *cdproto.Error
		if errors.As(err, &protocolErr) && protocolErr.Message == "Inspected target navigated or closed" {
			continue
		}
		if err != nil {
			b.fail(err)
		}
		return value
	}
}

// do runs a script that changes the page.
func (b *browser) do(script string) {
	b.t.Helper()
	b.run(chromedp.Evaluate[chromedp.Void](script))
}

// until polls the page until ready returns true.
func (b *browser) until(what string, ready func() bool) {
	b.t.Helper()
	b.waitingFor = what
	for !ready() {
		if err := chromedp.Do(b.ctx, chromedp.Sleep(20*time.Millisecond)); err != nil {
			b.fail(err)
		}
	}
	b.waitingFor = ""
}

// openUntil reloads a page until ready returns true, because a page shows the changes of another
// process after a delay.
func (b *browser) openUntil(path, what string, ready func() bool) {
	b.t.Helper()
	b.until(what, func() bool {
		b.open(path)
		return ready()
	})
}

// watch returns a function that reports whether any element has matched the selector since the call
// of watch.
func (b *browser) watch(selector string) (seen func() bool) {
	b.t.Helper()
	name := fmt.Sprintf("watched[%q]", selector)
	b.do(fmt.Sprintf(`window.watched ??= {};
		new MutationObserver(() => %[1]s ||= document.querySelector(%[2]q) !== null).observe(document, {subtree: true, childList: true, attributes: true})`, name, selector))
	return func() bool {
		b.t.Helper()
		return get[bool](b, `!!window.`+name)
	}
}

// fail ends the test. After a timeout, it reports the current page.
func (b *browser) fail(err error) {
	b.t.Helper()
	if b.waitingFor == "" || b.ctx.Err() == nil {
		b.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(b.tab, 5*time.Second)
	defer stop()
	page, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + (document.querySelector("main")?.innerText ?? "")`))
	b.t.Fatalf("timed out waiting for: %s; the page is %s", b.waitingFor, page)
}

func (b *browser) open(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.site + path))
}

// submit fills in a form, submits it, and waits for the next page.
func (b *browser) submit(form string, fields ...string) {
	b.t.Helper()
	for i := 0; i < len(fields); i += 2 {
		b.fill(form+` [name="`+fields[i]+`"]`, fields[i+1])
	}
	button := form + " button:not([type=button])"
	b.run(chromedp.WaitVisible(chromedp.CSS(button)))
	// On a phone, the bar at the bottom can cover the button.
	b.do(fmt.Sprintf(`document.querySelector(%q).scrollIntoView({block: "center"})`, button))
	if status := b.click(button); status >= 500 {
		b.t.Fatalf("submit %s: status %d", form, status)
	}
}

// fill replaces the content of a field in a single step, like pasting.
func (b *browser) fill(field, text string) {
	b.t.Helper()
	b.run(chromedp.WaitVisible(chromedp.CSS(field)))
	b.do(fmt.Sprintf(`(() => {
		const field = document.querySelector(%q);
		field.value = "";
		field.focus();
	})()`, field))
	if text != "" {
		b.run(command(input.InsertText, input.InsertTextParams{Text: text}))
	}
}

// click clicks and waits for the next page. It returns the status, or 0 if the click led to another
// position on the same page.
func (b *browser) click(selector string) int64 {
	b.t.Helper()
	response, err := chromedp.RunResponse(b.ctx, chromedp.Click(chromedp.CSS(selector)))
	if err != nil {
		b.t.Fatalf("click %s: %v", selector, err)
	}
	if response == nil {
		return 0
	}
	return response.Status
}

// texts returns the texts of all matching elements.
func (b *browser) texts(selector string) []string {
	b.t.Helper()
	return get[[]string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.innerText)`, selector))
}

func (b *browser) has(selector string) bool {
	b.t.Helper()
	return get[bool](b, fmt.Sprintf(`document.querySelector(%q) !== null`, selector))
}

// value returns the value of a field.
func (b *browser) value(selector string) string {
	b.t.Helper()
	b.run(chromedp.WaitReady(chromedp.CSS(selector)))
	return get[string](b, fmt.Sprintf(`document.querySelector(%q).value`, selector))
}

func (b *browser) path() string {
	b.t.Helper()
	return get[string](b, `location.pathname`)
}

// wantPath checks the path of the current page.
func (b *browser) wantPath(want string) {
	b.t.Helper()
	if got := b.path(); got != want {
		b.t.Fatalf("the page is %s, want %s", got, want)
	}
}

// password is the password of all accounts that tests create.
const password = "correct horse battery"

// signUp creates an account and logs in.
func (b *browser) signUp(name string) {
	b.t.Helper()
	b.open("/register")
	b.submitSignUp("main form", name)
	b.wantPath("/home")
}

// submitSignUp submits a sign-up form. Without scripts, the form asks for the password twice.
func (b *browser) submitSignUp(form, name string, fields ...string) {
	b.t.Helper()
	fields = append([]string{"username", name, "password", password}, fields...)
	if b.has(form + ` [name="password2"]`) {
		fields = append(fields, "password2", password)
	}
	b.submit(form, fields...)
}

// publish publishes a post on the home page.
func (b *browser) publish(text string) {
	b.t.Helper()
	b.open("/home")
	b.submit(`form.status`, "status", text)
	b.wantPath("/home")
}

// cookie returns the session cookie of the browser.
func (b *browser) cookie() *http.Cookie {
	b.t.Helper()
	var found *http.Cookie
	result, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) (network.GetCookiesResult, error) {
		return cdp.Call(ctx, t, network.GetCookies, network.GetCookiesParams{})
	})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range result.Cookies {
		if c.Name == "auth" {
			found = &http.Cookie{Name: c.Name, Value: c.Value}
			if !c.HTTPOnly || c.SameSite != network.CookieSameSiteLax {
				b.t.Errorf("the session cookie is %+v, want HttpOnly and SameSite=Lax", c)
			}
		}
	}
	if found == nil {
		b.t.Fatal("the browser has no session cookie")
	}
	return found
}
