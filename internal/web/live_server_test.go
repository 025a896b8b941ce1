package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social/live"
	"retwis/internal/web"
	"retwis/internal/web/httpserver"
)

// Neither the server's timeouts nor the handler's deadlines end a stream, whether its connection
// can be hijacked or not.
func TestLiveOutlastsTimeouts(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := redistest.DB(t).Client(t)
			s := with(t, db, web.Options{
				Timeout: time.Second, Live: live.Options{Heartbeat: 3 * time.Second},
			})
			s.server.SetEventTime(2 * time.Second) // shorter than the heartbeat
			ada := on(t, db).signedUp("ada")       // a site with the default timeout
			server := httptest.NewUnstartedServer(nil)
			server.Config = httpserver.New(s.server.Handler(), nil)
			server.Config.ReadTimeout, server.Config.WriteTimeout = time.Second, time.Second
			server.EnableHTTP2 = secure
			if secure {
				server.StartTLS()
			} else {
				server.Start()
			}
			t.Cleanup(server.Close)
			t.Cleanup(s.server.CloseEvents)
			client := server.Client()
			v := &visitor{site: &site{t: t, http: server}, http: client}
			e := v.follow("on=timeline", "")
			if got := e.next(""); got.id == "" {
				t.Errorf("heartbeat without an ID: %v", got)
			}
			ada.send("/post", "status", "text").want(303)
			if got := e.next("posts"); got.data != "1" {
				t.Errorf("new posts %q, want 1", got.data)
			}
			// An announced shutdown ends the stream.
			s.server.CloseEvents()
			for range e.got { // nothing more arrives
			}
			v.get("/live?on=timeline").want(503)
		})
	}
}

func TestLiveLimit(t *testing.T) {
	t.Parallel()
	s := with(t, redistest.DB(t).Client(t), web.Options{Live: live.Options{MaxConnections: 1}})
	v := s.visitor()
	e := v.follow("on=timeline", "")
	a := v.get("/live?on=timeline").want(503)
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	connections := func(want string) bool {
		metrics := httptest.NewRecorder()
		s.server.AdminHandler().ServeHTTP(metrics, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
		return strings.Contains(metrics.Body.String(), "\nretwis_live_connections "+want+"\n")
	}
	if !connections("1") {
		t.Error("the metrics do not count the open connection")
	}
	// A connection is free again after its client has disconnected.
	e.stop()
	until(t, "the connection of the disconnected client is closed", func() bool { return connections("0") })
}
