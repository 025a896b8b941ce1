package redistest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"

	"retwis/internal/redisserver"
)

// FreePort returns a TCP port of 127.0.0.1 on which nobody listens.
func FreePort(t testing.TB) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// TCP returns a server for this test alone that listens on 127.0.0.1 too.
func TCP(t testing.TB, config ...string) *Server {
	t.Helper()
	return own(t, FreePort(t), config)
}

// Sentinel returns a sentinel that watches over master under this name.
func Sentinel(t testing.TB, name string, master *Server) *Server {
	t.Helper()
	binary := require(t)
	s, err := begin(0, nil) // only for its directory
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	s.stop()
	t.Cleanup(func() { removeAll(s) })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.Server, err = redisserver.Start(ctx, redisserver.Options{
		Dir: s.dir, Port: FreePort(t), Binary: binary, Sentinel: true, DeathSignal: killSignal,
		Config: []string{fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 1", name, master.Port())},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	t.Cleanup(s.stop)
	return s
}
