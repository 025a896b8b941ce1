package redisurl

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/redis/rueidis"
)

const (
	// dialTimeout limits the time to connect.
	dialTimeout = 4 * time.Second
	// replyTimeout is how long a command may stay unanswered before the connection counts as broken.
	replyTimeout = 10 * time.Second
	// shortReplyTimeout replaces replyTimeout if another server can take over: the connection to a
	// hanging master is closed by the time its replica is promoted.
	shortReplyTimeout = 2 * time.Second
	// pingAfter is how long a connection may be idle before it is checked; shortPingAfter replaces
	// pingAfter if another server can take over.
	pingAfter      = 2 * time.Second
	shortPingAfter = time.Second
	// topologyRefresh is how often sentinels and Clusters are asked for the topology. They also
	// announce changes, but an announcement can be lost.
	topologyRefresh = 5 * time.Second
)

// ClientOption returns the options of a client. An embedded server is reachable at Socket once the
// server runs: see package store.
func (c Config) ClientOption() (rueidis.ClientOption, error) {
	opt := rueidis.ClientOption{
		InitAddress: c.Addresses,
		Username:    c.Username,
		Password:    c.Password,
		SelectDB:    c.DB,
		ClientName:  "retwis",
		// Use one connection per server: a reply is read after the client-side cache
		// invalidations that were sent before it, so a read sees the write before it. The rest of
		// the program relies on this.
		PipelineMultiplex: -1,
		// A pipelined command ends with its context; a command that is sent directly waits for the
		// server.
		AlwaysPipelining: true,
		RetryDelay:       RetryDelay,
		Dialer:           net.Dialer{Timeout: dialTimeout, KeepAlive: pingAfter},
		ConnWriteTimeout: replyTimeout,
	}
	var err error
	if opt.TLSConfig, err = c.tls(); err != nil {
		return opt, fmt.Errorf("%s: %w", c, err)
	}
	switch c.Kind {
	case Sentinel:
		opt.ConnWriteTimeout, opt.Dialer.KeepAlive = shortReplyTimeout, shortPingAfter
		opt.Sentinel = rueidis.SentinelOption{
			MasterSet:  c.Master,
			Username:   c.SentinelUsername,
			Password:   c.SentinelPassword,
			ClientName: opt.ClientName,
			TLSConfig:  opt.TLSConfig,
			Dialer:     opt.Dialer,

			TopologyRefreshInterval: topologyRefresh,
		}
	case Cluster:
		opt.ConnWriteTimeout, opt.Dialer.KeepAlive = shortReplyTimeout, shortPingAfter
		opt.ClusterOption.ShardsRefreshInterval = topologyRefresh
	case Single, Embedded:
		opt.ForceSingleClient = true
	}
	if c.Socket != "" {
		opt.InitAddress = []string{c.Socket}
		opt.DialCtxFn = UnixDialer(func() (string, error) { return c.Socket, nil })
	}
	return opt, nil
}

// UnixDialer returns a dialer that asks for the path of the socket on each connection.
func UnixDialer(path func() (string, error)) func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
	return func(ctx context.Context, _ string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
		socket, err := path()
		if err != nil {
			return nil, err
		}
		return dialer.DialContext(ctx, "unix", socket)
	}
}
