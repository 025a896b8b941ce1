package web_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/web"
)

// access is a line of the access log.
type access struct {
	Method, Path, Address, Agent, Request string
	Status, Omitted                       int
	Bytes                                 int64
	Seconds                               float64
	UserID                                int64 `json:"user_id"`
}

func (l *lines) access(t *testing.T) (all []access) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		var entry access
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, entry)
	}
	return all
}

// Each kind of response is logged with the status and size that the client received.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	var out lines
	s := with(t, redistest.DB(t).Client(t), web.Options{
		Access:         slog.New(slog.NewJSONHandler(&out, nil)),
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	began := time.Now()
	ada, visitor := s.signedUp("ada"), s.visitor()
	// The line is written after the client gets its response.
	logged := func(lines int) {
		until(t, fmt.Sprint(lines, " requests are logged"), func() bool { return len(out.access(t)) == lines })
	}
	page := ada.get("/home").want(200)
	logged(2)
	shared := visitor.get("/timeline").want(200)
	repeated := visitor.get("/timeline").want(200) // from the cache
	css := visitor.get(linkTo(t, page.body, ".css")).want(200)
	visitor.get("//timeline") // the mux redirects
	visitor.get("/healthz").want(200)
	visitor.get("/" + strings.Repeat("x", 500)).want(404)
	request, err := http.NewRequest(http.MethodGet, s.http.URL+"/login", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Forwarded-For", "6.6.6.6, 2001:db8::1")
	request.Header.Set("User-Agent", strings.Repeat("a", 1000))
	visitor.do(request, nil).want(200)
	logged(9)

	got := out.access(t)
	for i, want := range []access{
		{Method: "POST", Path: "/register", Status: 303},
		{Method: "GET", Path: "/home", Status: 200, Bytes: int64(len(page.body)), UserID: 1, Request: page.header.Get("X-Request-Id")},
		{Method: "GET", Path: "/timeline", Status: 200, Bytes: int64(len(shared.body)), Request: shared.header.Get("X-Request-Id")},
		{Method: "GET", Path: "/timeline", Status: 200, Bytes: int64(len(repeated.body)), Request: repeated.header.Get("X-Request-Id")},
		{Method: "GET", Path: linkTo(t, page.body, ".css"), Status: 200, Bytes: int64(len(css.body))},
		{Method: "GET", Path: "//timeline", Status: -1},
		{Method: "GET", Path: "/healthz", Status: 200, Bytes: 3},
		{Method: "GET", Path: "/" + strings.Repeat("x", 199) + "…", Status: 404},
		{Method: "GET", Path: "/login", Status: 200, Address: "2001:db8::1", Agent: strings.Repeat("a", 200) + "…"},
	} {
		line := got[i]
		if line.Seconds <= 0 || line.Seconds > time.Since(began).Seconds() {
			t.Errorf("%v took %v seconds", line, line.Seconds)
		}
		if want.Status == -1 && line.Status >= 300 && line.Status < 400 {
			want.Status = line.Status
		}
		if line.Method != want.Method || line.Path != want.Path || line.Status != want.Status || line.UserID != want.UserID ||
			want.Bytes != 0 && line.Bytes != want.Bytes || want.Request != "" && line.Request != want.Request ||
			want.Agent != "" && line.Agent != want.Agent || line.Address != max(want.Address, "127.0.0.1") {
			t.Errorf("%+v, want %+v", line, want)
		}
	}
}

// linkTo returns the address of a static file linked from a page.
func linkTo(t *testing.T, page, ending string) string {
	t.Helper()
	end := strings.Index(page, ending+`"`)
	if end < 0 {
		t.Fatalf("no %s in the page", ending)
	}
	start := strings.LastIndexByte(page[:end], '"')
	return page[start+1:end] + ending
}

// If there are too many requests, the access log is sampled.
func TestAccessLogFlood(t *testing.T) {
	t.Parallel()
	var out lines
	s := with(t, redistest.DB(t).Client(t), web.Options{Access: slog.New(slog.NewJSONHandler(&out, nil)), AccessRate: 1})
	v := s.visitor()
	// The line of the last request may follow its response.
	for sent := 0; len(out.access(t)) >= sent-1; sent++ {
		v.get("/healthz").want(200)
	}
	if n := len(out.access(t)); n < 10 {
		t.Errorf("lines are omitted after %d, want at least 10", n)
	}
}

// Logs contain neither form values nor secrets from cookies, queries and paths.
func TestNoSecretsInLogs(t *testing.T) {
	t.Parallel()
	var out lines
	logger := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := with(t, redistest.DB(t).Client(t), web.Options{Access: logger, Security: logger})
	const mark = "S3CRET"
	ada := s.signedUp("ada")
	fields := []string{
		"username", "password", "password2", "current", "current_password", "new", "new_password", "code", "token", "secret",
		"recovery", "invite", "status", "bio", "display_name", "note", "reason", "next", "draft", "action", "confirm",
	}
	var form []string
	for _, name := range fields {
		form = append(form, name, mark+"-"+name+"-pa55word")
	}
	send := func(v *visitor, path string) {
		query := "?token=" + mark + "&invite=" + mark + "&next=" + url.QueryEscape("/reset/"+mark)
		v.send(path+query, form...)
		v.get(path + query)
	}
	patterns := s.server.Patterns()
	slices.Sort(patterns)
	paths := []string{}
	for _, pattern := range slices.Compact(patterns) {
		_, path, ok := strings.Cut(pattern, " ")
		if !ok || strings.HasPrefix(path, "/live") || path == "/logout" {
			continue
		}
		path = strings.NewReplacer("{$}", "", "{name}", "ada", "{id}", "1", "{token}", mark, "{file}", "x.css").Replace(path)
		paths = append(paths, path)
		if strings.Contains(path, mark) { // mistyped paths
			paths = append(paths, "/"+path, path+"/", path+"/x")
		}
	}
	for _, path := range slices.Compact(paths) {
		send(s.visitor(), path)
		send(ada, path)
	}
	// A log-in with a password in the name field.
	s.visitor().send("/login", "username", mark+"x", "password", mark)
	// A cookie that is not a session.
	request, err := http.NewRequest(http.MethodGet, s.http.URL+"/home", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Cookie", "auth="+mark+"; __Host-auth="+mark)
	request.Header.Set("Referer", s.http.URL+"/reset/"+mark)
	s.visitor().do(request, nil)
	// A failed log-in to an existing account logs the registered spelling of its name.
	s.visitor().send("/login", "username", "ADA", "password", mark)

	all := out.String() + s.log.String()
	for line := range strings.Lines(all) {
		if strings.Contains(line, mark) {
			t.Errorf("the log contains a secret: %s", line)
		}
	}
	if !strings.Contains(all, `"login failed"`) || !strings.Contains(all, `"name":"ada"`) {
		t.Error("the failed log-in is not logged")
	}
	if n := strings.Count(all, `"path"`); n < 2*len(paths) {
		t.Errorf("%d requests are logged, want at least %d", n, 2*len(paths))
	}
}

// A path with a secret is logged without the secret.
func TestSecretPaths(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/reset/abc": "/reset/…", "//reset/abc": "//reset/…", "/reset/a/b": "/reset/…", "/invite/abc": "/invite/…", "/home": "/home",
	} {
		if got := web.LoggedPath(path, "GET /reset/{token}", "POST /reset/{token}", "GET /invite/{token}", "GET /{$}"); got != want {
			t.Errorf("LoggedPath(%s) = %s, want %s", path, got, want)
		}
	}
}

// The example configuration for nginx leaves the same paths out of its log.
func TestSecretPathsOfNginx(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/proxy/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	_, words, _ := strings.Cut(string(text), "~^/(")
	words, _, _ = strings.Cut(words, ")/ 0;")
	var got []string
	for word := range strings.SplitSeq(words, "|") {
		got = append(got, "/"+word+"/")
	}
	slices.Sort(got)
	if want := slices.Compact(slices.Sorted(slices.Values(setup(t).server.Secrets()))); !slices.Equal(got, want) {
		t.Errorf("nginx.conf leaves out %q, want %q", got, want)
	}
}
