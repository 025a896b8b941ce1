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
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/rueidis"

	"retwis/internal/redis/redisserver"
	"retwis/internal/redis/redisurl"
)

// StartServer starts a server without persistence, unless config says otherwise. Without a
// port, it has a socket only.
func StartServer(ctx context.Context, dir string, port int, config ...string) (*redisserver.Server, error) {
	return redisserver.Start(ctx, redisserver.Options{
		Dir: dir, Port: port, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Config: append([]string{`save ""`, "appendonly no"}, config...),
	})
}

// OnServer measures on a separate server; socket is the path of its socket.
func OnServer(ctx context.Context, dir string, on func(client rueidis.Client, socket string) error) error {
	s, err := StartServer(ctx, filepath.Join(dir, "server"), 0)
	if err != nil {
		return err
	}
	defer StopServers(s)
	client, err := Dial(s.Socket())
	if err != nil {
		return err
	}
	defer client.Close()
	return on(client, s.Socket())
}

// StopServers stops servers.
func StopServers(servers ...*redisserver.Server) {
	for _, s := range servers {
		_ = s.Kill()
		<-s.Done()
	}
}

// Dial opens a client without a cache over one connection.
func Dial(socket string) (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{socket}, DialCtxFn: DialUnix, ForceSingleClient: true, DisableCache: true,
		PipelineMultiplex: -1, RetryDelay: redisurl.RetryDelay,
	})
}

// DialUnix is a rueidis.ClientOption.DialCtxFn for the path of a socket.
func DialUnix(ctx context.Context, path string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
	return dialer.DialContext(ctx, "unix", path)
}

// Send sends commands in pipelines of a thousand, and returns the first error.
func Send(ctx context.Context, client rueidis.Client, commands func(yield func(rueidis.Completed) bool)) error {
	var some rueidis.Commands
	flush := func() error {
		for _, r := range client.DoMulti(ctx, some...) {
			if err := r.Error(); err != nil {
				return err
			}
		}
		some = some[:0]
		return nil
	}
	for command := range commands {
		if some = append(some, command); len(some) == 1000 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// Empty removes all data.
func Empty(ctx context.Context, client rueidis.Client) error {
	return client.Do(ctx, client.B().Flushall().Build()).Error()
}

var usedCPU = regexp.MustCompile(`used_cpu_(?:sys|user):([0-9.]+)`)

// ServerMicros returns how many µs a server has computed since it started, reading and writing
// its sockets included. Unlike time on the clock, the difference of two hardly depends on what
// else the machine does.
func ServerMicros(ctx context.Context, client rueidis.Client) (float64, error) {
	info, err := client.Do(ctx, client.B().Info().Section("cpu").Build()).ToString()
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, found := range usedCPU.FindAllStringSubmatch(info, -1) {
		seconds, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			return 0, err
		}
		sum += seconds * 1e6
	}
	return sum, nil
}

// ServerTime returns the microseconds that the server computes for each of n repetitions.
func ServerTime(ctx context.Context, client rueidis.Client, n int) Meter {
	return func(run func() error) (float64, error) {
		before, err := ServerMicros(ctx, client)
		if err != nil {
			return 0, err
		}
		if err := run(); err != nil {
			return 0, err
		}
		after, err := ServerMicros(ctx, client)
		return (after - before) / float64(n), err
	}
}

// ServerMemory returns how many bytes of a server's data a run adds, for each of n
// repetitions.
func ServerMemory(ctx context.Context, client rueidis.Client, n int) Meter {
	return func(run func() error) (float64, error) {
		before, err := dataset(ctx, client)
		if err != nil {
			return 0, err
		}
		if err := run(); err != nil {
			return 0, err
		}
		after, err := dataset(ctx, client)
		return float64(after-before) / float64(n), err
	}
}

func dataset(ctx context.Context, client rueidis.Client) (int, error) {
	info, err := client.Do(ctx, client.B().Info().Section("memory").Build()).ToString()
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(info, "used_memory_dataset:")
	if !ok {
		return 0, errors.New("INFO has no used_memory_dataset")
	}
	number, _, _ := strings.Cut(rest, "\r")
	return strconv.Atoi(number)
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
