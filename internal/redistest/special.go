package redistest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"testing"

	"retwis/internal/redis/redisserver"
)

const (
	// lowestPort and highestPort are below the ports of outgoing connections, which could take a
	// port before the server does.
	lowestPort, highestPort = 10_000, 22_000
	// busOffset is the offset of the Cluster bus port from the server's port.
	busOffset = 10_000
	// tries limits the attempts to find a port that no other process takes.
	tries = 5
)

// FreePort returns a free TCP port of 127.0.0.1 whose Cluster bus port is also free. No other test
// of this binary gets the same port.
func FreePort(t testing.TB) int {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.ports == nil {
		shared.ports = map[int]bool{}
	}
	for range highestPort - lowestPort {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		if !shared.ports[port] && free(port) && free(port+busOffset) {
			shared.ports[port] = true
			return port
		}
	}
	t.Fatal("redistest: no TCP port is free")
	return 0
}

func free(port int) bool {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}

// TCP returns a server for this test only that also listens on 127.0.0.1.
func TCP(t testing.TB, config ...string) *Server {
	t.Helper()
	Require(t)
	s := beginTCP(t, config...)
	t.Cleanup(s.end)
	return s
}

// beginTCP starts a server that the caller must stop.
func beginTCP(t testing.TB, config ...string) *Server {
	t.Helper()
	for try := 1; ; try++ {
		s, err := begin(FreePort(t), config)
		if err == nil {
			return s
		}
		s.end()
		if try == tries {
			t.Fatalf("redistest: %v", err)
		}
	}
}

// Sentinel returns a sentinel that monitors master under the given name.
func Sentinel(t testing.TB, name string, master *Server, config ...string) *Server {
	t.Helper()
	binary := Require(t)
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	s := &Server{dir: dir}
	t.Cleanup(s.end)
	for try := 1; ; try++ {
		s.Server, err = redisserver.Start(context.Background(), redisserver.Options{
			Dir: s.dir, Port: FreePort(t), Binary: binary, Sentinel: true, DeathSignal: deathSignal,
			Config: append([]string{fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 1", name, master.Port())}, config...),
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		if err == nil {
			return s
		}
		if try == tries {
			t.Fatalf("redistest: %v", err)
		}
	}
}
