package web_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/web"
)

// siteTimeout is the timeout of the sites of these tests.
const siteTimeout = 300 * time.Millisecond

// Without a database the site responds with an error page with the request ID of the
// log, and never with an empty page.
func TestDatabaseTrouble(t *testing.T) {
	t.Parallel()
	for name, befalls := range map[string]func(*redistest.Server, testing.TB){
		"killed": (*redistest.Server).Kill,
		"frozen": (*redistest.Server).Freeze,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Own(t)
			s := with(t, server.Client(t), web.Options{Timeout: siteTimeout})
			v := s.signedUp("ada")
			v.get("/home").want(200)
			befalls(server, t)
			for _, a := range []*response{v.get("/u/somebody"), v.get("/home?before=7"), v.send("/post", "status", "lost")} {
				id := a.header.Get("X-Request-Id")
				a.want(503, id, "can&#39;t reach its database right now").wantNot("redis.sock", "refused", "social:", "context")
				if a.header.Get("Retry-After") == "" {
					t.Error("the page does not say when to come again")
				}
				if got := a.header.Get("Content-Length"); got != strconv.Itoa(len(a.body)) {
					t.Errorf("Content-Length: %s of a page of %d bytes", got, len(a.body))
				}
				line := s.log.line(id)
				if !strings.Contains(line, "level=ERROR") || !strings.Contains(line, "status=503") || !strings.Contains(line, `error="`) {
					t.Errorf("the log says %q", line)
				}
			}
			v.get("/healthz").want(200)
			v.get("/readyz").want(503, "does not answer")
			s.http.Config.Handler = s.server.AdminHandler()
			v.get("/metrics").want(200, `{route="GET /u/{name}",status="5xx"} 1`, `{route="POST /post",status="5xx"} 1`)
		})
	}
}

// line is a line of the log about a request.
func (l *lines) line(id string) string {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, "request="+id) {
			return line
		}
	}
	return ""
}

// A client that disconnects is not a failure of the site.
func TestClientGone(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "/u/somebody", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	w := &sink{header: http.Header{}}
	s.server.Handler().ServeHTTP(w, request)
	if w.status != 499 || s.log.String() != "" {
		t.Errorf("status %d, and the log says %s", w.status, s.log)
	}
	s.http.Config.Handler = s.server.AdminHandler()
	s.visitor().get("/metrics").want(200, `{route="GET /u/{name}",status="4xx"} 1`, `{route="GET /u/{name}",status="5xx"} 0`)
}
