package redisurl_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/redisurl"
	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// breaking is a connection that breaks when a command that contains text is written, unless broken
// is set.
type breaking struct {
	net.Conn
	broken *atomic.Bool
}

const text = "breaks the first connection"

func (c breaking) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(text)) && c.broken.CompareAndSwap(false, true) {
		_ = c.Close()
		return 0, io.ErrClosedPipe
	}
	return c.Conn.Write(b)
}

// The memory of a retried command must not be reused for a later command, because the writer of the
// broken connection may still read the memory.
func TestRetriedCommandIsNotReused(t *testing.T) {
	t.Parallel()
	server := redistest.One(t)
	config, err := redisurl.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	opt, err := config.ClientOption()
	if err != nil {
		t.Fatal(err)
	}
	var broken atomic.Bool
	opt.DialCtxFn = func(ctx context.Context, _ string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, "unix", server.Socket())
		return breaking{conn, &broken}, err
	}
	client, err := rueidis.NewClient(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	cmd := client.B().Echo().Message(text).Build().ToRetryable()
	if got, err := client.Do(t.Context(), cmd).ToString(); err != nil || got != text {
		t.Fatalf("retried command: %q, %v; want %q", got, err, text)
	}
	if got := cmd.Commands(); !broken.Load() || !slices.Equal(got, []string{"ECHO", text}) {
		t.Errorf("connection broken: %v; the command is now %q", broken.Load(), got)
	}
}

func TestRetryDelay(t *testing.T) {
	t.Parallel()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{redistest.One(t).Socket()}, ForceSingleClient: true,
		DialCtxFn: func(ctx context.Context, socket string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	cmd := client.B().Ping().Build()
	for attempts, minDelay := range map[int]time.Duration{1: 2 * time.Microsecond, 2: 4 * time.Microsecond, 11: 2048 * time.Microsecond, 20: time.Second, 1000: time.Second} {
		if got := redisurl.RetryDelay(attempts, cmd, nil); got < minDelay || got > min(2*minDelay, time.Second) {
			t.Errorf("attempt %d: %v; want %v to twice that, at most 1s", attempts, got, minDelay)
		}
	}
}
