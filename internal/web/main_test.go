package web_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/redis/rueidis"

	"retwis/internal/redis/store"
	"retwis/internal/redistest"
	"retwis/internal/web/request"

	"retwis/internal/app"
	"retwis/internal/social/limits"
	"retwis/internal/web"
)

func TestMain(m *testing.M) {
	redistest.Parallel(4) // waiting tests leave the CPUs to others
	request.SidebarPatience = time.Minute
	redistest.Main(m)
}

const password = "correct horse"

var cheap = &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 8, KeyLength: 16}

// site is a Retwis site on a database of the test's own.
type site struct {
	t      testing.TB
	client rueidis.Client
	social *app.App
	server *web.Server
	http   *httptest.Server
	log    *lines
}

// lines is a log that can be read while it is being written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func setup(t testing.TB) *site {
	t.Helper()
	return serving(t, reach(t, redistest.DB(t).URL()))
}

// serving returns a site with all caches of a process of retwis serve.
func serving(t testing.TB, db *store.Store) *site {
	t.Helper()
	return start(t, db.Client(), web.Options{}, app.Options{Invalidations: db.Invalidations()})
}

func on(t testing.TB, client rueidis.Client) *site {
	t.Helper()
	return with(t, client, web.Options{})
}

func with(t testing.TB, client rueidis.Client, opt web.Options) *site {
	t.Helper()
	return start(t, client, opt, app.Options{})
}

func start(t testing.TB, client rueidis.Client, opt web.Options, appOpt app.Options) *site {
	t.Helper()
	s := &site{t: t, client: client, log: &lines{}}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.NewTextHandler(s.log, nil))
	}
	var err error
	if appOpt.Limits == nil {
		appOpt.Limits = limits.Off()
	}
	appOpt.HashParams = cheap
	if appOpt.Logger == nil {
		appOpt.Logger = slog.New(slog.DiscardHandler)
	}
	s.social, err = app.New(client, appOpt)
	if err != nil {
		t.Fatal(err)
	}
	s.server, err = web.New(s.social, opt)
	if err != nil {
		t.Fatal(err)
	}
	s.http = httptest.NewServer(s.server.Handler())
	t.Cleanup(func() { s.server.CloseEvents(); s.http.Close(); s.server.Close(); s.social.Close() })
	return s
}

// visitor is a browser without scripts.
type visitor struct {
	site *site
	http *http.Client
	list string // path of a list of people

	language string // for Accept-Language
}

func (s *site) visitor() *visitor {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true} // the size in the log is that of the body
	s.t.Cleanup(transport.CloseIdleConnections)
	return &visitor{site: s, http: &http.Client{
		Jar: jar, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// signedUp returns a visitor with an account.
func (s *site) signedUp(name string) *visitor {
	s.t.Helper()
	v := s.visitor()
	v.send("/register", "username", name, "password", password, "password2", password).want(303, "/home")
	return v
}

// response is a response with its complete body.
type response struct {
	t      testing.TB
	status int
	header http.Header
	body   string
	log    string // end of the log, for a server error
}

func (v *visitor) do(request *http.Request, err error) *response {
	v.site.t.Helper()
	if err != nil {
		v.site.t.Fatal(err)
	}
	if v.language != "" {
		request.Header.Set("Accept-Language", v.language)
	}
	got, err := v.http.Do(request)
	if err != nil {
		v.site.t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		v.site.t.Fatal(err)
	}
	for _, glued := range gluedTimes(body) {
		v.site.t.Errorf("%s has no space before a time: %s", request.URL, glued)
	}
	log := ""
	if got.StatusCode >= http.StatusInternalServerError {
		log = v.site.log.String()
	}
	return &response{v.site.t, got.StatusCode, got.Header, string(body), log[max(0, len(log)-1000):]}
}

// wordsEnd matches text that ends with a word, possibly inside an element.
var wordsEnd = regexp.MustCompile(`[\pL\pN,](</[a-z]+>)?$`)

// gluedTimes returns the text before each time that follows a word without a space: templates drop
// line breaks. Matching whole pages would take a sixth of the time of all tests in this package.
func gluedTimes(page []byte) (glued [][]byte) {
	parts := bytes.Split(page, []byte("<time"))
	for _, before := range parts[:len(parts)-1] {
		if end := before[max(0, len(before)-40):]; wordsEnd.Match(end) {
			glued = append(glued, end)
		}
	}
	return glued
}

func (v *visitor) get(path string) *response {
	v.site.t.Helper()
	return v.do(http.NewRequest(http.MethodGet, v.site.http.URL+path, http.NoBody))
}

// cookie sets a cookie in the visitor's browser.
func (v *visitor) cookie(name, value string) {
	v.site.t.Helper()
	address, err := url.Parse(v.site.http.URL)
	if err != nil {
		v.site.t.Fatal(err)
	}
	v.http.Jar.SetCookies(address, []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}

// send sends a form; fields alternates names and values.
func (v *visitor) send(path string, fields ...string) *response {
	v.site.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	request, err := http.NewRequest(http.MethodPost, v.site.http.URL+path, strings.NewReader(form.Encode()))
	if err == nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return v.do(request, err)
}

// want checks the status and the target of a redirect or the contents of a page.
func (a *response) want(status int, contains ...string) *response {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %.300s\n%s", a.status, status, a.body, a.log)
	}
	text := a.body + "\x00" + a.header.Get("Location")
	for _, part := range contains {
		if !strings.Contains(text, part) {
			a.t.Errorf("%q is not in %s", part, shorten(text))
		}
	}
	return a
}

func (a *response) wantNot(parts ...string) *response {
	a.t.Helper()
	for _, part := range parts {
		if strings.Contains(a.body, part) {
			a.t.Errorf("%q is in %s", part, shorten(a.body))
		}
	}
	return a
}

func shorten(text string) string {
	if at := strings.Index(text, "<main"); at >= 0 {
		text = text[at:]
	}
	return fmt.Sprintf("%.1500s", text)
}

var postID = regexp.MustCompile(`<article class="post" data-id="(\d+)"`)

// posts returns the IDs of the posts on a page.
func (a *response) posts() []string {
	var ids []string
	for _, found := range postID.FindAllStringSubmatch(a.body, -1) {
		ids = append(ids, found[1])
	}
	return ids
}
