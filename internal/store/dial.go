package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redisserver"
)

const (
	// dialTimeout bounds the wait for a connection.
	dialTimeout = 4 * time.Second
	// reachTimeout bounds everything up to the first answer.
	reachTimeout = 5 * time.Second
	// silence is how long a server may leave a command unanswered before the
	// connection counts as broken.
	silence = 10 * time.Second
)

// options are the settings of the client for a database.
func (c Config) options() rueidis.ClientOption {
	opt := rueidis.ClientOption{
		InitAddress: c.Addresses,
		Username:    c.Username,
		Password:    c.Password,
		SelectDB:    c.DB,
		ClientName:  "retwis",
		// One connection to a server: a reply on it is read after the
		// invalidations of the client-side cache that came before it, so a
		// write and the read that follows it are in step.
		PipelineMultiplex: -1,
		Dialer:            net.Dialer{Timeout: dialTimeout, KeepAlive: time.Second},
		ConnWriteTimeout:  silence,
	}
	if c.TLS {
		opt.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		if host, _, err := net.SplitHostPort(c.Addresses[0]); err == nil && c.Kind == Single {
			opt.TLSConfig.ServerName = host
		}
	}
	switch c.Kind {
	case Sentinel:
		opt.Sentinel = rueidis.SentinelOption{
			MasterSet: c.Master, TLSConfig: opt.TLSConfig, Dialer: opt.Dialer, ClientName: opt.ClientName,
		}
	case Single, Embedded:
		opt.ForceSingleClient = true
	}
	if c.Socket != "" {
		opt.InitAddress = []string{c.Socket}
		opt.DialCtxFn = func(ctx context.Context, path string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", path)
		}
	}
	return opt
}

// dial connects to a database and sees that it can be used.
func dial(ctx context.Context, c Config) (rueidis.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	type result struct {
		client rueidis.Client
		err    error
	}
	// NewClient takes no context and can wait for each of several timeouts.
	done := make(chan result, 1)
	go func() {
		client, err := rueidis.NewClient(c.options())
		if err == nil {
			if err = usable(ctx, client, c); err != nil {
				client.Close()
			}
		}
		done <- result{client, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, c.explain(r.err)
		}
		return r.client, nil
	case <-ctx.Done():
		go func() { // whatever still comes of it is not wanted any more
			if r := <-done; r.err == nil {
				r.client.Close()
			}
		}()
		return nil, c.explain(context.Cause(ctx))
	}
}

// explain words an error for whoever typed the URL.
func (c Config) explain(err error) error {
	text := err.Error()
	switch {
	case strings.HasPrefix(text, "NOAUTH"):
		err = errors.New("the server asks for a password; give one in the URL: redis://user:password@host")
	case strings.HasPrefix(text, "WRONGPASS"):
		err = errors.New("the server does not take this user and password")
	case errors.Is(err, context.DeadlineExceeded) && c.TLS:
		err = fmt.Errorf("no answer in time; perhaps the server does not speak TLS: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer in time: %w", err)
	}
	return fmt.Errorf("store: %s: %w", c, err)
}

// usable tells whether the server behind a client answers and is new enough.
func usable(ctx context.Context, client rueidis.Client, c Config) error {
	info, err := client.Do(ctx, client.B().Info().Section("server").Build()).ToString()
	if err != nil {
		return err
	}
	version := field(info, "redis_version")
	if redisserver.TooOld(version) {
		return fmt.Errorf("the server is version %q; 6.2 or newer is needed", version)
	}
	if field(info, "redis_mode") == "cluster" && c.Kind != Cluster {
		return errors.New("the server is one of a Cluster; use redis+cluster://")
	}
	if c.Kind == Cluster && client.Mode() != rueidis.ClientModeCluster {
		return errors.New("the server is not one of a Cluster; use redis://")
	}
	return nil
}

// field is one line of INFO.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
