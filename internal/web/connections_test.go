package web_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/web"
)

// An address has a limited number of connections; other addresses and trusted proxies are not
// affected. Closing a connection makes room.
func TestConnections(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opt   web.Options
		bound bool
	}{
		"bound":         {web.Options{}, true},
		"trusted proxy": {web.Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := with(t, redistest.DB(t).Client(t), c.opt)
			server := httptest.NewUnstartedServer(s.server.Handler())
			s.server.BoundConnections(server.Config, 3)
			server.Start()
			t.Cleanup(server.Close)
			// get sends a request on a new connection and keeps it open.
			get := func(from string) (net.Conn, bool) {
				t.Helper()
				dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
				conn, err := dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				context.AfterFunc(t.Context(), func() { conn.Close() })
				if _, err := conn.Write([]byte("GET /login HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
					return conn, false
				}
				response, err := http.ReadResponse(bufio.NewReader(conn), nil)
				return conn, err == nil && response.StatusCode == http.StatusOK
			}
			var last net.Conn
			for i := range 3 {
				conn, ok := get("127.0.0.1")
				if !ok {
					t.Fatalf("connection %d was refused", i)
				}
				last = conn
			}
			for range 3 {
				if _, ok := get("127.0.0.1"); ok == c.bound {
					t.Errorf("a connection past the limit was served: %t", ok)
				}
			}
			if n := strings.Count(s.log.String(), "too many connections"); c.bound != (n == 1) {
				t.Errorf("%d warnings: %s", n, s.log)
			}
			if !c.bound {
				return
			}
			if _, ok := get("127.0.0.2"); !ok {
				t.Error("another address was refused")
			}
			last.Close()
			for { // until the server notices the closed connection
				if _, ok := get("127.0.0.1"); ok {
					return
				}
				if t.Context().Err() != nil {
					t.Fatal("no connection was accepted after another was closed")
				}
			}
		})
	}
}
