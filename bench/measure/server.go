package measure

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/redis/rueidis"

	"retwis/internal/redis/redisserver"
	"retwis/internal/redis/redisurl"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/store"
)

// Server is a server on this machine, which can be started again.
type Server struct {
	*redisserver.Server
	Client rueidis.Client // without a cache, over one connection to the socket
	opt    redisserver.Options
}

// NewServer returns a server without persistence, unless config says otherwise. Without a port, it
// has a socket only.
func NewServer(dir string, port int, config ...string) *Server {
	return &Server{opt: redisserver.Options{
		Dir: dir, Port: port, Logger: slog.New(slog.DiscardHandler), DeathSignal: syscall.SIGKILL,
		Config: append([]string{`save ""`, "appendonly no"}, config...),
	}}
}

// Start starts the server, for the first time or again.
func (s *Server) Start(ctx context.Context) (err error) {
	if s.Server, err = redisserver.Start(ctx, s.opt); err != nil || s.Client != nil {
		return err
	}
	s.Client, err = rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.Socket()}, DialCtxFn: DialUnix, ForceSingleClient: true, DisableCache: true,
		PipelineMultiplex: -1, RetryDelay: redisurl.RetryDelay,
	})
	return err
}

// End ends the server at once, if it was started.
func (s *Server) End() {
	if s.Client != nil {
		s.Client.Close()
	}
	if s.Server != nil {
		_ = s.Kill()
		<-s.Done()
	}
}

// OnServer measures on a separate server, and returns what was written about it.
func OnServer(ctx context.Context, dir string, on func(out io.Writer, server *Server) error, config ...string) (string, error) {
	port, err := FreePort()
	if err != nil {
		return "", err
	}
	s := NewServer(filepath.Join(dir, "server"), port, config...)
	defer s.End()
	if err := s.Start(ctx); err != nil {
		return "", err
	}
	var out strings.Builder
	err = on(&out, s)
	return out.String(), err
}

// DialUnix is a rueidis.ClientOption.DialCtxFn for the path of a socket.
func DialUnix(ctx context.Context, path string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
	return dialer.DialContext(ctx, "unix", path)
}

// Send sends commands in pipelines of a thousand, and returns the first error.
func Send(ctx context.Context, client rueidis.Client, commands func(yield func(rueidis.Completed) bool)) error {
	var some rueidis.Commands
	for command := range commands {
		if some = append(some, command); len(some) == 1000 {
			if err := reply.FirstError(client.DoMulti(ctx, some...)); err != nil {
				return err
			}
			some = some[:0]
		}
	}
	return reply.FirstError(client.DoMulti(ctx, some...))
}

// Empty removes all data.
func Empty(ctx context.Context, client rueidis.Client) error {
	return client.Do(ctx, client.B().Flushall().Build()).Error()
}

// ServerTime reads the microseconds that a server has computed, reading and writing its sockets
// included. Unlike time on the clock, they hardly depend on what else the machine does.
func ServerTime(ctx context.Context, client rueidis.Client) Meter {
	return func() (float64, error) {
		info, err := client.Do(ctx, client.B().Info().Section("cpu").Build()).ToString()
		user, err1 := strconv.ParseFloat(store.InfoField(info, "used_cpu_user"), 64)
		system, err2 := strconv.ParseFloat(store.InfoField(info, "used_cpu_sys"), 64)
		return (user + system) * 1e6, errors.Join(err, err1, err2)
	}
}

// ServerMemory reads how many bytes of data a server has.
func ServerMemory(ctx context.Context, client rueidis.Client) Meter {
	return func() (float64, error) {
		info, err := client.Do(ctx, client.B().Info().Section("memory").Build()).ToString()
		return float64(store.InfoNumber(info, "used_memory_dataset")), err
	}
}

var given sync.Map // the ports that FreePort has returned

// FreePort returns a port that is free, and 10,000 above it the one for the bus of a Cluster.
func FreePort() (int, error) {
	isFree := func(port int) bool {
		listener, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			return false
		}
		listener.Close()
		return true
	}
	for range 1000 {
		port := 10_000 + rand.IntN(12_000)
		if _, taken := given.LoadOrStore(port, true); !taken && isFree(port) && isFree(port+10_000) {
			return port, nil
		}
	}
	return 0, errors.New("no TCP port is free")
}
