package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// line returns the log line of a request.
func (l *lines) line(t *testing.T, id string) (found string) {
	t.Helper()
	until(t, "the request is in the log", func() bool { // the line is written after the response
		for line := range strings.Lines(l.String()) {
			if strings.Contains(line, "request="+id) {
				found = line
			}
		}
		return found != ""
	})
	return found
}

// A request of a client that has disconnected is not logged as a failure.
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
		t.Errorf("status %d, log %s; want 499, no log", w.status, s.log)
	}
	s.http.Config.Handler = s.server.AdminHandler()
	s.visitor().get("/metrics").want(200, `{route="GET /u/{name}",status="4xx"} 1`, `{route="GET /u/{name}",status="5xx"} 0`)
}
