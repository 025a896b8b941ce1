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

// cut puts a listener in front of a server, and breaks the first n connections on which a word is
// sent.
func cut(t *testing.T, s *redistest.Server, n int64, word string) *router {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	require.OK(t)(err)
	t.Cleanup(func() { listener.Close() })
	var left atomic.Int64
	left.Store(n)
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", filepath.Join(s.Dir(), "redis.sock"))
			if err != nil {
				from.Close()
				return
			}
			request := readFunc(func(p []byte) (int, error) {
				n, err := from.Read(p)
				if err == nil && bytes.Contains(p[:n], []byte(word)) && left.Add(-1) >= 0 {
					return 0, io.EOF // the server does not receive it
				}
				return n, err
			})
			go func() {
				_, _ = io.Copy(to, request)
				from.Close()
				to.Close()
			}()
			go func() { _, _ = io.Copy(from, to) }()
		}
	}()
	config, err := redisurl.Parse("unix://" + socket)
	require.OK(t)(err)
	to, err := config.ClientOption()
	require.OK(t)(err)
	opt := Options{RetryFor: time.Minute}
	require.OK(t)(opt.prepare())
	return &newLoader(to, opt).router
}

// A broken connection proves nothing about the server: neither that it is new, nor that it is not
// a Cluster.
func TestBrokenConnectionIsRetried(t *testing.T) {
	t.Parallel()
	s := redistest.Own(t)
	r := cut(t, s, 3, "HELLO")
	if version := r.version(t.Context()); version != redistest.Version(t) {
		t.Errorf("version %q after three cuts, %q without", version, redistest.Version(t))
	}
	if err := cut(t, s, 1, "SLOTS").open(t.Context()); err == nil {
		t.Error("a server whose connection broke was taken for a standalone server")
	}
}
