package web_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/html"

	"retwis/internal/app"
	"retwis/internal/files"
	"retwis/internal/mail"
	"retwis/internal/mail/mailtest"
	"retwis/internal/redistest"
	"retwis/internal/social"
	siteinfo "retwis/internal/social/site"
	"retwis/internal/web"
	"retwis/internal/web/httpserver"
)

// unreached maps the routes that random requests cannot get to respond with a page or a redirect to
// the reason.
var unreached = map[string]string{
	"/":                                       "serves no page",
	"GET /static/{file}":                      "serves files whose name has their checksum: see package static",
	"POST /login/passkey":                     "takes a signature: see package auth",
	"POST /login/code":                        "takes a code of an app: see TestSecondFactor",
	"POST /settings/security/confirm":         "the same",
	"POST /settings/security/codes":           "for accounts with an app",
	"POST /settings/security/off":             "the same",
	"POST /settings/security/passkeys":        "takes a signature",
	"POST /settings/security/passkeys-remove": "for accounts with a passkey",
}

// oddMarkup is part of some values. A page that contains it verbatim has not escaped a value.
const oddMarkup = `<zq a="1">`

// oddRequest is a request to be modified and sent. Only query and form are escaped when it is sent.
type oddRequest struct {
	method, path string
	query, form  []oddField
	header       []string
	kind         string // Content-Type of the body
	body         string // replaces form
	length       int    // added to the Content-Length
}

type oddField struct{ name, value, file string } // not escaped yet; file is a file name

// target returns the path and the query.
func (r oddRequest) target() string {
	if len(r.query) == 0 {
		return r.path
	}
	return r.path + "?" + encoded(r.query)
}

func encoded(fields []oddField) string {
	var pairs []string
	for _, f := range fields {
		pairs = append(pairs, url.QueryEscape(f.name)+"="+url.QueryEscape(f.value))
	}
	return strings.Join(pairs, "&")
}

// wire formats a request.
func (r oddRequest) wire(cookies map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", r.method, r.target())
	if !slices.ContainsFunc(r.header, func(h string) bool { return strings.HasPrefix(h, "Host:") }) {
		b.WriteString("Host: retwis.example\r\n")
	}
	for _, h := range r.header {
		b.WriteString(h + "\r\n")
	}
	for _, name := range slices.Sorted(maps.Keys(cookies)) {
		fmt.Fprintf(&b, "Cookie: %s=%s\r\n", name, cookies[name])
	}
	body := r.body
	switch {
	case body != "":
	case strings.HasPrefix(r.kind, "multipart/"):
		body = multipartOf(r.form)
	default:
		body = encoded(r.form)
	}
	if r.method != http.MethodGet || body != "" || r.length != 0 {
		if r.kind != "" {
			b.WriteString("Content-Type: " + r.kind + "\r\n")
		}
		fmt.Fprintf(&b, "Content-Length: %d\r\n", max(0, len(body)+r.length))
	}
	return b.String() + "\r\n" + body
}

const multipartKind, formKind = "multipart/form-data; boundary=zq", "application/x-www-form-urlencoded"

func multipartOf(fields []oddField) string {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "--zq\r\nContent-Disposition: form-data; name=%q", f.name)
		if f.file != "" {
			fmt.Fprintf(&b, "; filename=%q", f.file)
		}
		b.WriteString("\r\n\r\n" + f.value + "\r\n")
	}
	return b.String() + "--zq--\r\n"
}

// oddSite is a site with content for every route. It collects the links and forms of its pages,
// which lead to requests that the site accepts.
type oddSite struct {
	*site
	rng     *rand.Rand
	errors  *errorLines
	address string
	mails   *mailtest.Server
	sent    int
	people  []*oddPerson
	known   map[string][]oddRequest // by pattern
	values  []string                // IDs, names and cursors
	photo   string
	reached map[string]bool
}

// oddPerson sends requests; a person without a name is a stranger.
type oddPerson struct {
	name    string
	account string // username of the current account
	role    social.Role
	cookies map[string]string
	number  int
}

// errorLines is a log handler that collects errors.
type errorLines struct {
	slog.Handler
	mu    sync.Mutex
	lines []string
}

func (l *errorLines) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		l.mu.Lock()
		defer l.mu.Unlock()
		line := r.Message
		r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
		l.lines = append(l.lines, line)
	}
	return nil
}

func (l *errorLines) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l *errorLines) WithGroup(string) slog.Handler      { return l }

// take returns the errors since the last call.
func (l *errorLines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

// TestOddRequests sends random requests to every route of a site, as every kind of person. No
// request causes a server error, and eventually every route is reached.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	seeds, requests := redistest.Cases(1, 40), redistest.Cases(500, 5_000)
	var mu sync.Mutex
	reached := map[string]bool{}
	patterns := setup(t).server.Patterns()
	t.Run("seeds", func(t *testing.T) {
		for seed := range uint64(seeds) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				s := newOddSite(t, seed)
				s.visitAll()
				for range requests {
					s.send(s.people[s.rng.IntN(len(s.people))], s.change(s.draw()))
				}
				t.Logf("%d requests", s.sent)
				mu.Lock()
				defer mu.Unlock()
				maps.Copy(reached, s.reached)
			})
		}
	})
	for _, pattern := range patterns {
		if _, excused := unreached[pattern]; redistest.Long && !reached[pattern] && !excused {
			t.Errorf("no request of %d seeds has reached %q", seeds, pattern)
		}
	}
}

func newOddSite(t *testing.T, seed uint64) *oddSite {
	t.Helper()
	db := reach(t, redistest.DB(t).URL())
	mails := mailtest.Start(t)
	opened, err := mail.Open("smtp://"+mails.Address, "https://retwis.example")
	if err != nil {
		t.Fatal(err)
	}
	lines := &errorLines{Handler: slog.DiscardHandler}
	s := &oddSite{
		rng: rand.New(rand.NewPCG(seed, 36)), errors: lines, mails: mails,
		known: map[string][]oddRequest{}, photo: string(photo(t)), reached: map[string]bool{},
	}
	log := slog.New(enabled{lines})
	s.site = start(t, db.Client(), web.Options{Logger: log, Timeout: time.Hour}, app.Options{
		Logger: log, Invalidations: db.Invalidations(), Mail: opened, Media: files.Directory(t.TempDir()), MediaQuota: 1 << 20,
	})
	server := httptest.NewUnstartedServer(nil)
	server.Config = httpserver.New(s.server.Handler(), log)
	server.Start()
	t.Cleanup(server.Close)
	s.address = server.Listener.Addr().String()
	for _, p := range []*oddPerson{{}, {name: "ada"}, {name: "ben"}, {name: "eve"}, {name: leaver}, {name: "mona", role: social.Moderator}, {name: "olga", role: social.Admin}} {
		s.people = append(s.people, p)
		s.enter(p)
	}
	s.values = []string{"1", "2", "3", "walk", "user:2", "post:1"}
	for i, text := range []string{"hello #walk @ben", "walk to https://example.com", "see @ada"} {
		name := s.people[1+i].name
		s.say(name, text)
		s.values = append(s.values, name)
	}
	if err := s.social.Relations.Block(t.Context(), s.user("ada"), s.user("eve"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	s.readMails()
	for _, field := range []siteinfo.Field{siteinfo.Rules, siteinfo.Privacy, siteinfo.Terms} {
		s.set(field, "Be kind.")
	}
	for pattern, w := range walks {
		if method, _, ok := strings.Cut(pattern, " "); ok && w.path != "" {
			path, query, _ := strings.Cut(strings.NewReplacer("author", "ada", "blocked", "eve", "follower", "ben").Replace(w.path), "?")
			r := oddRequest{method: method, path: strings.ReplaceAll(path, "{id}", "1"), query: fieldsOf(query)}
			for words := strings.Fields(w.form); len(words) > 1; words = words[2:] {
				r.form, r.kind = append(r.form, oddField{name: words[0], value: words[1]}), formKind
			}
			s.known[pattern] = append(s.known[pattern], r)
		}
	}
	list, err := s.social.Library.Create(t.Context(), s.user("ada"), "walk")
	if err != nil {
		t.Fatal(err)
	}
	s.keep(oddRequest{method: http.MethodGet, path: "/lists/" + list.ID})
	s.keep(oddRequest{method: http.MethodGet, path: "/lists/" + list.ID + "/edit"})
	s.keep(oddRequest{method: http.MethodGet, path: "/live", query: []oddField{{name: "on", value: "timeline"}, {name: "ids", value: "1,2"}}})
	s.keep(oddRequest{method: http.MethodPost, path: "/settings/security/passkeys-options", kind: formKind, form: []oddField{{name: "current", value: password}}})
	return s
}

// readMails collects the links that ada gets by mail.
func (s *oddSite) readMails() {
	s.t.Helper()
	ctx, ada := s.t.Context(), s.user("ada")
	check := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	link := func(n int, start string) string {
		path := s.mails.Wait(s.t, n).Link(start)
		s.keep(oddRequest{method: http.MethodGet, path: path})
		s.keep(oddRequest{method: http.MethodPost, path: path, kind: formKind, form: []oddField{{name: "password", value: password}, {name: "password2", value: password}}})
		return strings.TrimPrefix(path, start)
	}
	check(s.social.Email.Set(ctx, ada, password, "ada@example.net"))
	_, err := s.social.Email.Confirm(ctx, link(1, "/confirm/"))
	check(err)
	check(s.social.Email.SetDigest(ctx, ada, true))
	rec, err := s.social.Email.Get(ctx, ada.ID)
	check(err)
	s.keep(oddRequest{method: http.MethodGet, path: fmt.Sprintf("/unsubscribe/%d.%s", ada.ID, rec.Stop)})
	check(s.social.Email.RequestReset(ctx, "ada"))
	link(2, "/reset/")
}

// leaver is the only person whose requests may delete the account. The other accounts stay, because
// requests refer to their posts.
const leaver = "leaver"

// enabled makes the log accept all levels.
type enabled struct{ *errorLines }

func (enabled) Enabled(context.Context, slog.Level) bool { return true }

func fieldsOf(query string) (fields []oddField) {
	values, _ := url.ParseQuery(query)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, value := range values[name] {
			fields = append(fields, oddField{name: name, value: value})
		}
	}
	return fields
}

// enter gives a person a session, with a new account if the person has none or has lost it.
func (s *oddSite) enter(p *oddPerson) {
	s.t.Helper()
	p.cookies = map[string]string{}
	if p.name == "" {
		return
	}
	if session, err := s.social.Auth.Login(s.t.Context(), p.account, password); p.account != "" && err == nil {
		p.cookies["auth"] = session.Secret
		return
	}
	name := p.name
	if p.number > 0 {
		name += strconv.Itoa(p.number)
	}
	p.number++
	ctx := s.t.Context()
	session, err := s.social.Accounts.Register(ctx, name, password)
	if err != nil {
		s.t.Logf("%s cannot sign up: %v", name, err) // the name is taken or blocked by now
		return
	}
	p.cookies["auth"], p.account = session.Secret, name
	if p.role != 0 {
		if err := s.social.Moderation.SetRole(ctx, social.Operator, session.User.ID, p.role, ""); err != nil {
			s.t.Fatal(err)
		}
	}
}

// visitAll visits every route as each person. Routes that were not reached are tried again with
// requests collected from pages in the meantime.
func (s *oddSite) visitAll() {
	for round := range 2 {
		patterns := slices.Sorted(maps.Keys(s.known))
		// Moderation comes last, because moderators delete posts and block words.
		slices.SortStableFunc(patterns, func(a, b string) int {
			return cmp.Compare(strings.Count(a, "/moderation"), strings.Count(b, "/moderation"))
		})
		for _, pattern := range patterns {
			known := slices.Clone(s.known[pattern])
			if round == 0 {
				known = known[:1]
			} else if s.reached[pattern] {
				continue
			}
			for _, r := range known {
				for _, p := range s.people {
					s.send(p, r)
				}
			}
		}
	}
}

// draw returns a request for a random route.
func (s *oddSite) draw() oddRequest {
	patterns := slices.Sorted(maps.Keys(s.known))
	requests := s.known[patterns[s.rng.IntN(len(patterns))]]
	return requests[s.rng.IntN(len(requests))]
}

// send sends a request and checks the response.
func (s *oddSite) send(p *oddPerson, r oddRequest) {
	s.t.Helper()
	if r.path == "/settings/delete" && p.name != "" && p.name != leaver {
		return
	}
	s.sent++
	sent := r.wire(p.cookies)
	res, body, err := s.exchange(sent, r)
	why, log := "", s.errors.take()
	switch {
	case res != nil && res.StatusCode == http.StatusBadRequest && errors.Is(err, syscall.ECONNRESET):
		return // net/http stops reading a malformed request
	case err != nil:
		why = err.Error()
	case res.StatusCode >= 500:
		why = "status " + res.Status
	case len(log) > 0:
		why = "the log has an error"
	case strings.Contains(body, oddMarkup) && strings.HasPrefix(res.Header.Get("Content-Type"), "text/html"):
		why = "markup is not escaped"
	case res.Header.Get("X-Zq") != "":
		why = "a value has ended a header line"
	}
	if why != "" {
		s.t.Errorf("%s: %s\nRepeat the request as %q: printf '%%b' %s | nc -N HOST PORT\n%s", why, strings.Join(log, "\n"), p.name, octal(sent), shorten(body))
		return
	}
	for _, c := range res.Cookies() {
		if p.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(p.cookies, c.Name)
		}
	}
	path, _, _ := strings.Cut(r.target(), "?")
	pattern := s.pattern(r.method, path)
	if to := res.Header.Get("Location"); res.StatusCode < 400 && (!strings.HasPrefix(to, "/login") || strings.HasPrefix(path, "/login")) {
		s.reached[pattern] = true
	}
	s.learn(path, body)
	if lost := p.cookies["auth"] == "" || strings.HasPrefix(res.Header.Get("Location"), "/login"); p.name != "" && (lost || s.rng.IntN(100) == 0) {
		probe := oddRequest{method: "GET", path: "/lists"}
		if res, _, err := s.exchange(probe.wire(p.cookies), probe); err == nil && res.StatusCode != http.StatusOK {
			s.enter(p)
		}
	}
}

// exchange sends a request on a separate connection and returns the response with its body.
func (s *oddSite) exchange(sent string, r oddRequest) (*http.Response, string, error) {
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		return nil, "", err
	}
	defer conn.Close()
	var writing sync.WaitGroup
	defer writing.Wait()
	defer conn.Close() // unblocks a write that the site does not read
	writing.Go(func() {
		_, _ = io.WriteString(conn, sent)
		if r.length > 0 { // the rest of the body never arrives
			_ = conn.(*net.TCPConn).CloseWrite()
		}
	})
	in, res := bufio.NewReader(conn), &http.Response{StatusCode: http.StatusContinue}
	for res.StatusCode == http.StatusContinue {
		if res, err = http.ReadResponse(in, &http.Request{Method: r.method}); err != nil {
			return nil, "", fmt.Errorf("no response: %w", err)
		}
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return res, "", nil
	}
	body, err := io.ReadAll(res.Body)
	return res, string(body), err
}

// octal formats a request as an argument of printf.
func octal(sent string) string {
	var b strings.Builder
	for i := range len(sent) {
		if c := sent[i]; c >= ' ' && c < 0x7f && c != '\'' && c != '\\' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\0%03o`, c)
		}
	}
	return "'" + b.String() + "'"
}

// pattern returns the pattern of the route that serves a request.
func (s *oddSite) pattern(method, path string) string {
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return ""
	}
	return s.server.Pattern(&http.Request{Method: method, URL: u, Host: "retwis.example"})
}

var (
	oddLink = regexp.MustCompile(`/invite/[\w.-]+|/media/[0-9a-f]{32}/[\w.]+`)
	oddHref = map[string]string{"a": "href", "link": "href", "img": "src"}
)

// learn collects the links and forms of a page.
func (s *oddSite) learn(path, body string) {
	for _, link := range oddLink.FindAllString(body, -1) {
		s.keep(oddRequest{method: http.MethodGet, path: link})
	}
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		return
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if link := attribute(n, oddHref[n.Data]); strings.HasPrefix(link, "/") {
			to, query, _ := strings.Cut(strings.Split(link, "#")[0], "?")
			s.keep(oddRequest{method: http.MethodGet, path: to, query: fieldsOf(query)})
		}
		if n.Data == "form" {
			s.learnForm(n, path)
		}
	}
}

func (s *oddSite) learnForm(form *html.Node, path string) {
	r := oddRequest{method: strings.ToUpper(attribute(form, "method")), path: path, kind: formKind}
	if action := attribute(form, "action"); action != "" {
		r.path, _, _ = strings.Cut(action, "?")
	}
	if attribute(form, "enctype") == "multipart/form-data" {
		r.kind = multipartKind
	}
	for n := range form.Descendants() {
		f := oddField{name: attribute(n, "name"), value: attribute(n, "value")}
		switch {
		case f.name == "" || n.Type != html.ElementNode:
			continue
		case attribute(n, "type") == "file":
			f.file, f.value = "photo.jpg", s.photo
		case strings.Contains(f.name, "password") || f.name == "current":
			f.value = password
		case f.value != "":
			s.value(f.value)
		case n.Data == "select":
			for option := range n.Descendants() {
				if value := attribute(option, "value"); value != "" && (f.value == "" || s.rng.IntN(3) == 0) {
					f.value = value
				}
			}
		case f.name == "username":
			f.value = []string{"walk", "ada"}[s.rng.IntN(2)]
		default:
			f.value = []string{"walk", ""}[s.rng.IntN(2)]
		}
		r.form = append(r.form, f)
	}
	if r.method != http.MethodPost {
		r.method, r.kind, r.query, r.form = http.MethodGet, "", r.form, nil
	}
	s.keep(r)
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// keep adds a request to the known requests of its route.
func (s *oddSite) keep(r oddRequest) {
	const limit = 12
	for segment := range strings.SplitSeq(r.path, "/") {
		s.value(segment)
	}
	for _, f := range r.query {
		s.value(f.value)
	}
	pattern := s.pattern(r.method, r.path)
	if requests := s.known[pattern]; len(requests) < limit {
		s.known[pattern] = append(requests, r)
	} else {
		requests[1+s.rng.IntN(limit-1)] = r
	}
}

// value stores a value for use in other requests.
func (s *oddSite) value(v string) {
	const limit = 100
	switch {
	case v == "" || len(v) > 200:
	case len(s.values) < limit:
		s.values = append(s.values, v)
	default:
		s.values[s.rng.IntN(limit)] = v
	}
}

// oddLengths are lengths near the limits of fields, and far beyond them.
var oddLengths = []int{1, 15, 16, 20, 21, 30, 31, 64, 65, 100, 101, 128, 129, 160, 161, 200, 201, 256, 257, 280, 281, 500, 501, 1000, 1001, 4096, 4097, 20_000, 20_001, 70_000, 300_000}

// oddTexts are values that parsers and databases may misread.
var oddTexts = []string{
	"", " ", "0", "-1", "00", "+1", "1.5", "1e3", "NaN", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616",
	"\x00", "a\x00b", "\xff", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xffb\xfe", "\u202e\u0645\u0631", "e\u0301\u0301\u0301", "\u200b", "\ufeff", "\u2028", "\U0001f469\u200d\U0001f4bb", "İıſK", "\r\nX-Zq: 1", "\n", "\t",
	oddMarkup, `"><zq a="1">`, "'", `"`, "\\", "`", "{", "}", "{}", "[]", "null", `{"a":[[[[[[`, "%", "%zz", "%00", "../..", "..%2f..", "/", "//", "//evil.example", `/\evil`, "javascript:alert(1)", "https://evil.example/x", "http://[::1", "http://a b/", "://",
	"*", "**", "a*", "* b*", "-", "- -", "-a", "from:", "from:ada", "-from:ada", "from:*", "to:@", "tag:#", "#", "#walk", "@", "@ada", "(", ")", "( a OR", "a OR b", "OR", "NOT", "a AND NOT", `"a`, `"a b"`, `""`, "~", "^", "a~2", "a^9", ":", "::", "since:", "since:2020-01-01", "until:0000-00-00", "since:2020-13-45", "has:", "has:picture", "is:reply", "lang:xx",
	"user:1", "user:", "user:0", "post:1", "post:-1", "post:9223372036854775808", "x:1", "1.x", ".", "..", "1-1", "1,2,3", "1:1:1", "2020-01-01", "9999-99-99", "yes", "true", "on", "block", "delete", "hide", "suspend", "approve", "open", "closed", "invite",
	"gAAA", "====", "AAAAAAAAAAAAAAAAAAAAAA==", "eyJhIjoxfQ", "0-0", "1-", "[a", "(a", "+", "-inf", "+inf", "(1", "a|b", "a b", "1 1",
}

// odd returns a random value.
func (s *oddSite) odd() string {
	switch s.rng.IntN(6) {
	case 0:
		return strings.Repeat([]string{"a", "1", "a ", "é", "#a ", "@a ", "a* ", "\U0001f600", "\xff", "\n", "(", "-a "}[s.rng.IntN(12)], oddLengths[s.rng.IntN(len(oddLengths))])
	case 1, 2:
		return s.values[s.rng.IntN(len(s.values))]
	case 3:
		return s.damaged(s.values[s.rng.IntN(len(s.values))])
	default:
		return oddTexts[s.rng.IntN(len(oddTexts))]
	}
}

// damaged returns a value with a small change, such as a forged cursor or secret.
func (s *oddSite) damaged(v string) string {
	if v == "" {
		return "x"
	}
	at := s.rng.IntN(len(v))
	switch s.rng.IntN(5) {
	case 0:
		return v[:at]
	case 1:
		return v[:at] + string(rune('!'+s.rng.IntN(90))) + v[at+1:]
	case 2:
		return v + v
	case 3:
		return v + oddTexts[s.rng.IntN(len(oddTexts))]
	default:
		return v[:at] + v[at+1:]
	}
}

// oddHeaders are headers and typical values; %s is a random value.
var oddHeaders = []string{
	"Host: %s", "Host: evil.example:99999", "Host: [::1", "Host: ", "Origin: null", "Origin: https://evil.example", "Origin: %s", "Referer: %s", "Referer: http://retwis.example/%s",
	"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: %s",
	"Cookie: auth=%s", "Cookie: auth=; auth=%s; fresh=%s", "Cookie: fresh=1,2,x", "Cookie: fresh=%s", "Cookie: login=%s", "Cookie: %s", "Cookie: device=%s", "Cookie: visitor=%s",
	"Range: bytes=0-", "Range: bytes=-1", "Range: bytes=9-1", "Range: bytes=0-0,2-2,4-", "Range: %s", "If-Range: %s",
	"If-None-Match: *", "If-None-Match: %s", `If-None-Match: W/"x", "y`, "If-Modified-Since: %s", "If-Match: %s", "If-Unmodified-Since: %s",
	"Accept: %s", "Accept: application/json", "Accept: text/html;q=0", "Accept-Encoding: gzip;q=%s", "Accept-Encoding: *", "Accept-Encoding: gzip, gzip, br;q=0, %s", "Accept-Language: %s",
	"X-Forwarded-For: %s", "X-Forwarded-For: 1.2.3.4, 999.0.0.1", "X-Forwarded-Proto: https", "X-Forwarded-Proto: %s", "X-Forwarded-Host: %s", "Forwarded: for=%s",
	"Last-Event-ID: %s", "Last-Event-ID: 1-1", "User-Agent: %s", "X-Requested-With: fetch", "Expect: 100-continue", "Connection: upgrade", "Upgrade: websocket", "X-HTTP-Method-Override: DELETE", "Content-Encoding: gzip", "Content-Language: %s",
}

var oddKinds = []string{
	"", formKind, formKind + "; charset=utf-16", multipartKind, "multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=" + strings.Repeat("z", 100), "multipart/mixed; boundary=zq",
	"application/json", "text/plain", "image/jpeg", ";", "a/b/c", "%s",
}

var oddBodies = []string{
	"{}", "[]", "null", `"a"`, `{"a":`, strings.Repeat("[", 10_000), `{"id":"x","rawId":"x","type":"public-key","response":{"clientDataJSON":"e30","attestationObject":"oA","authenticatorData":"","signature":""}}`,
	"--zq", "--zq--", "--zq\r\n\r\n\r\n--zq--", "--zq\r\nContent-Disposition: form-data\r\n\r\nx\r\n--zq--", "--zq\r\nContent-Disposition: form-data; name=\"status\"; filename=\"\"\r\n\r\nx\r\n--zq--",
	"--zq\r\nContent-Disposition: form-data; name=\"file1\"; filename=\"../../x\"\r\nContent-Type: text/html\r\n\r\n" + oddMarkup, "--zq\r\nContent-Disposition: attachment; filename=x\r\n\r\n\r\n--zq--\r\n",
	"--zq\r\nContent-Disposition: form-data; name=\"status\"\r\nContent-Transfer-Encoding: base64\r\n\r\n!!\r\n--zq--", strings.Repeat("--zq\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n", 2_000) + "--zq--",
	"a=%zz&status=%", "&&&&", "=", "status", "status=a;b", strings.Repeat("a&", 30_000), "status=" + strings.Repeat("%F0", 10_000), "\x00\xff", "GET / HTTP/1.1\r\n\r\n",
}

// change modifies a request zero or more times.
func (s *oddSite) change(r oddRequest) oddRequest {
	r.query, r.form = slices.Clone(r.query), slices.Clone(r.form)
	for range []int{0, 1, 1, 1, 2, 3}[s.rng.IntN(6)] {
		switch s.rng.IntN(12) {
		case 0:
			r.path = s.changedPath(r.path)
		case 1, 2:
			r.query = s.changedFields(r.query)
		case 3, 4, 5, 6:
			r.form = s.changedFields(r.form)
		case 7, 8, 9:
			r.header = append(slices.Clone(r.header), s.line(oddHeaders[s.rng.IntN(len(oddHeaders))]))
		case 10:
			r.kind = s.line(oddKinds[s.rng.IntN(len(oddKinds))])
			if s.rng.IntN(2) == 0 {
				r.body = oddBodies[s.rng.IntN(len(oddBodies))]
			}
		case 11:
			switch s.rng.IntN(4) {
			case 0:
				r.method = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "zq"}[s.rng.IntN(9)]
			case 1:
				r.length = []int{-1, 1, 1000, -1000, 1 << 40}[s.rng.IntN(5)]
			default:
				r.query = s.changedFields(r.query)
			}
		}
	}
	return r
}

// line replaces %s in a header by a random value without line breaks, which would end the header.
func (s *oddSite) line(text string) string {
	value := s.odd()
	if len(value) > 20_000 {
		value = value[:20_000]
	}
	return strings.NewReplacer("%s", strings.NewReplacer("\r", "", "\n", "").Replace(value)).Replace(text)
}

func (s *oddSite) changedPath(path string) string {
	segments := strings.Split(path, "/")
	at := s.rng.IntN(len(segments))
	switch s.rng.IntN(8) {
	case 0:
		return path + "/"
	case 1:
		return "/" + path
	case 2:
		segments[at] = strings.ToUpper(segments[at])
	case 3:
		segments[at] = []string{"%", "%zz", "%00", "%ff", "%2f", "%2e%2e", "..", ".", "%0d%0aX-Zq:%201", "*", ";a=b", "a%20b"}[s.rng.IntN(12)]
	case 4:
		segments[at] += []string{".atom", ".json", ".html", "%00", ".", "%2f"}[s.rng.IntN(6)]
	default:
		segments[at] = url.PathEscape(s.odd())
	}
	return onlyPath(strings.Join(segments, "/"))
}

// onlyPath makes a request target start with a slash.
func onlyPath(path string) string {
	if !strings.HasPrefix(path, "/") {
		return "/" + path
	}
	return path
}

func (s *oddSite) changedFields(fields []oddField) []oddField {
	if len(fields) == 0 || s.rng.IntN(8) == 0 {
		names := []string{"before", "after", "next", "q", "in", "of", "on", "ids", "since", "cursor", "page", "kind", "status", "back", "name", "id", "user", "for", "file1", "alt1", "parent", "zq"}
		return append(fields, oddField{name: names[s.rng.IntN(len(names))], value: s.odd()})
	}
	at := s.rng.IntN(len(fields))
	switch f := fields[at]; s.rng.IntN(10) {
	case 0:
		return slices.Delete(fields, at, at+1)
	case 1:
		return append(fields, f, f)
	case 2:
		return append(fields, oddField{name: f.name, value: s.odd()})
	case 3:
		fields[at].name = s.odd()
	case 4:
		fields[at].value = s.damaged(f.value)
	case 5:
		if f.file != "" {
			fields[at].value = f.value[:s.rng.IntN(len(f.value)+1)]
		} else {
			fields[at].file = "x"
		}
	default:
		fields[at].value = s.odd()
	}
	return fields
}
