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

// Server is a Redis server on this machine. It can be restarted.
type Server struct {
	*redisserver.Server
	Client rueidis.Client // uncached, over one connection to the unix socket
	opt    redisserver.Options
}

// NewServer returns a server without persistence, unless config enables persistence. With port 0,
// the server listens on a unix socket only.
func NewServer(dir string, port int, config ...string) *Server {
	return &Server{opt: redisserver.Options{
		Dir: dir, Port: port, Logger: slog.New(slog.DiscardHandler), DeathSignal: syscall.SIGKILL,
		Config: append([]string{`save ""`, "appendonly no"}, config...),
	}}
}

// Start starts or restarts the server.
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

// End closes the client and kills the server, if it was started.
func (s *Server) End() {
	if s.Client != nil {
		s.Client.Close()
	}
	if s.Server != nil {
		_ = s.Kill()
		<-s.Done()
	}
}

// OnServer starts a new server, runs a measurement on it, and returns its output.
func OnServer(ctx context.Context, dir string, run func(out io.Writer, server *Server) error, config ...string) (string, error) {
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
	err = run(&out, s)
	return out.String(), err
}

// DialUnix is a rueidis.ClientOption.DialCtxFn that dials a unix socket.
func DialUnix(ctx context.Context, path string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
	return dialer.DialContext(ctx, "unix", path)
}

// Send sends commands in pipelines of 1,000, and stops at the first error.
func Send(ctx context.Context, client rueidis.Client, commands func(yield func(rueidis.Completed) bool)) error {
	var batch rueidis.Commands
	for command := range commands {
		if batch = append(batch, command); len(batch) == 1000 {
			if err := reply.FirstError(client.DoMulti(ctx, batch...)); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return reply.FirstError(client.DoMulti(ctx, batch...))
}

// FlushAll deletes all data.
func FlushAll(ctx context.Context, client rueidis.Client) error {
	return client.Do(ctx, client.B().Flushall().Build()).Error()
}

// ServerCPU returns a Meter of the CPU time of a server in microseconds, including its socket I/O.
// Unlike wall time, CPU time hardly depends on other load on the machine.
func ServerCPU(ctx context.Context, client rueidis.Client) Meter {
	return func() (float64, error) {
		info, err := client.Do(ctx, client.B().Info().Section("cpu").Build()).ToString()
		user, err1 := strconv.ParseFloat(store.InfoField(info, "used_cpu_user"), 64)
		system, err2 := strconv.ParseFloat(store.InfoField(info, "used_cpu_sys"), 64)
		return (user + system) * 1e6, errors.Join(err, err1, err2)
	}
}

// ServerMemory returns a Meter of the used_memory_dataset of a server in bytes.
func ServerMemory(ctx context.Context, client rueidis.Client) Meter {
	return func() (float64, error) {
		info, err := client.Do(ctx, client.B().Info().Section("memory").Build()).ToString()
		return float64(store.InfoNumber(info, "used_memory_dataset")), err
	}
}

var reserved sync.Map // the ports that FreePort has returned

// FreePort returns a free port whose Cluster bus port, port+10,000, is also free.
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
		if _, used := reserved.LoadOrStore(port, true); !used && isFree(port) && isFree(port+10_000) {
			return port, nil
		}
	}
	return 0, errors.New("no free TCP port")
}
