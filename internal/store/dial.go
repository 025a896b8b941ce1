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
	// reachTimeout bounds everything up to the first answer: five seconds, with
	// room for the telling.
	reachTimeout = 4800 * time.Millisecond
	// silence is how long a server may leave a command unanswered before the
	// connection counts as broken.
	silence = 10 * time.Second
	// look is how often sentinels and Clusters are asked who is who. They tell
	// of changes by themselves, but a word can get lost.
	look = 5 * time.Second
)

// options are the settings of the client for a database.
func (c Config) options() (rueidis.ClientOption, error) {
	opt := rueidis.ClientOption{
		InitAddress: c.Addresses,
		Username:    c.Username,
		Password:    c.Password,
		SelectDB:    c.DB,
		ClientName:  "retwis",
		// One connection to a server: a reply on it is read after the
		// invalidations of the client-side cache that came before it, so a
		// write and the read that follows it are in step. The rest of the
		// program relies on this.
		PipelineMultiplex: -1,
		Dialer:            net.Dialer{Timeout: dialTimeout, KeepAlive: time.Second},
		ConnWriteTimeout:  silence,
	}
	var err error
	if opt.TLSConfig, err = c.tls(); err != nil {
		return opt, err
	}
	switch c.Kind {
	case Sentinel:
		opt.Sentinel = rueidis.SentinelOption{
			MasterSet:  c.Master,
			Username:   c.SentinelUsername,
			Password:   c.SentinelPassword,
			ClientName: opt.ClientName,
			TLSConfig:  opt.TLSConfig,
			Dialer:     opt.Dialer,

			TopologyRefreshInterval: look,
		}
	case Cluster:
		opt.ClusterOption.ShardsRefreshInterval = look
	case Single, Embedded:
		opt.ForceSingleClient = true
	}
	if c.Socket != "" {
		opt.InitAddress = []string{c.Socket}
		opt.DialCtxFn = unixDialer(func() (string, error) { return c.Socket, nil })
	}
	return opt, nil
}

// ClientOption describes the database for those who make connections of their own. For
// an embedded one there has to be a server: see Store.ClientOption.
func (c Config) ClientOption() (rueidis.ClientOption, error) {
	opt, err := c.options()
	if err != nil {
		return opt, c.explain(err)
	}
	return opt, nil
}

// unixDialer connects to the socket whose path it is told each time.
func unixDialer(path func() (string, error)) func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
	return func(ctx context.Context, _ string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
		socket, err := path()
		if err != nil {
			return nil, err
		}
		return dialer.DialContext(ctx, "unix", socket)
	}
}

// dial connects to a database and sees that it can be used.
func dial(ctx context.Context, c Config) (rueidis.Client, rueidis.ClientOption, error) {
	opt, err := c.ClientOption()
	if err != nil {
		return nil, opt, err
	}
	client, err := reach(ctx, c.Kind, opt)
	if err != nil {
		return nil, opt, c.explain(err)
	}
	return client, opt, nil
}

// reach makes a client and tries it, within reachTimeout.
func reach(ctx context.Context, kind Kind, opt rueidis.ClientOption) (rueidis.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	type result struct {
		client rueidis.Client
		err    error
	}
	// NewClient takes no context and can wait for each of several timeouts.
	done := make(chan result, 1)
	go func() {
		client, err := rueidis.NewClient(opt)
		if err == nil {
			if err = usable(ctx, client, kind); err != nil {
				client.Close()
			}
		}
		done <- result{client, err}
	}()
	select {
	case r := <-done:
		return r.client, r.err
	case <-ctx.Done():
		go func() { // whatever still comes of it is not wanted any more
			if r := <-done; r.err == nil {
				r.client.Close()
			}
		}()
		return nil, ctx.Err()
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
	case errors.Is(err, rueidis.ErrNoCache):
		// Redis 5 and older, and what only resembles Redis.
		err = errors.New("the server does not speak RESP3 with client-side caching; Redis 6.2, Valkey or newer is needed")
	case errors.Is(err, context.DeadlineExceeded) && c.TLS:
		err = fmt.Errorf("no answer in time; perhaps the server does not speak TLS: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer in time: %w", err)
	}
	return fmt.Errorf("store: %s: %w", c, err)
}

// usable tells whether the server behind a client answers and is new enough.
func usable(ctx context.Context, client rueidis.Client, kind Kind) error {
	info, err := client.Do(ctx, client.B().Info().Section("server").Build()).ToString()
	if err != nil {
		return err
	}
	version := field(info, "redis_version")
	if redisserver.TooOld(version) {
		return fmt.Errorf("the server is version %q; 6.2 or newer is needed", version)
	}
	if field(info, "redis_mode") == "cluster" && kind != Cluster {
		return errors.New("the server is one of a Cluster; use redis+cluster://")
	}
	if kind == Cluster && client.Mode() != rueidis.ClientModeCluster {
		return errors.New("the server is not one of a Cluster; use redis://")
	}
	return loaded(ctx, client)
}

// loaded waits for a server that still reads its data.
func loaded(ctx context.Context, client rueidis.Client) error {
	for {
		err := client.Do(ctx, client.B().Ping().Build()).Error()
		if err == nil || !strings.HasPrefix(err.Error(), "LOADING") {
			return err
		}
		if !pause(ctx, 50*time.Millisecond) {
			return errors.New("the server is still loading its data; try again when it has")
		}
	}
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
