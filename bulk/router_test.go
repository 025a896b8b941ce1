package bulk

import (
	"bytes"
	"io"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"retwis/internal/redis/redisurl"
	"retwis/internal/redistest"
	"retwis/internal/require"
)

// cutRouter returns a router that connects to a server through a proxy. The proxy breaks the first
// n connections on which word is sent.
func cutRouter(t *testing.T, s *redistest.Server, n int64, word string) *router {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	require.OK(t)(err)
	t.Cleanup(func() { listener.Close() })
	var remaining atomic.Int64
	remaining.Store(n)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", filepath.Join(s.Dir(), "redis.sock"))
			if err != nil {
				client.Close()
				return
			}
			request := readFunc(func(p []byte) (int, error) {
				n, err := client.Read(p)
				if err == nil && bytes.Contains(p[:n], []byte(word)) && remaining.Add(-1) >= 0 {
					return 0, io.EOF // do not forward word to the server
				}
				return n, err
			})
			go func() {
				_, _ = io.Copy(server, request)
				client.Close()
				server.Close()
			}()
			go func() { _, _ = io.Copy(client, server) }()
		}
	}()
	config, err := redisurl.Parse("unix://" + socket)
	require.OK(t)(err)
	option, err := config.ClientOption()
	require.OK(t)(err)
	opt := Options{RetryFor: time.Minute}
	require.OK(t)(opt.prepare())
	return &newLoader(option, opt).router
}

// TestBrokenConnectionIsRetried checks that the version of a server is read again after a broken
// connection, and that a server whose connection broke is not taken for a standalone server.
func TestBrokenConnectionIsRetried(t *testing.T) {
	t.Parallel()
	s := redistest.Own(t)
	r := cutRouter(t, s, 3, "HELLO")
	if version := r.version(t.Context()); version != redistest.Version(t) {
		t.Errorf("version %q after three cuts, want %q", version, redistest.Version(t))
	}
	if err := cutRouter(t, s, 1, "SLOTS").open(t.Context()); err == nil {
		t.Error("a server whose connection broke was taken for a standalone server")
	}
}
