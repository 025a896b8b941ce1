package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/redisurl"
)

// Dial returns the server at a URL. The returned Redis connects on first use.
func Dial(text string) (*Redis, error) {
	config, err := redisurl.Parse(text)
	if err != nil {
		return nil, err // hides the password
	}
	if config.Kind != redisurl.Single {
		return nil, fmt.Errorf("%s is not a single server: a lock needs independent servers, redis:// or unix://", config)
	}
	option, err := config.ClientOption()
	if err != nil {
		return nil, err
	}
	config.DB = 0 // the label names the server, not one of its databases
	option.ClientName = "redlock"
	option.ForceSingleClient = true
	option.DisableCache = true
	option.DisableRetry = true
	option.PipelineMultiplex = -1 // one connection keeps the order of requests
	option.AlwaysPipelining = false
	option.Dialer.Timeout = time.Second
	option.ConnWriteTimeout = ReplyTimeout
	return &Redis{label: config.String(), dial: func(s *Redis) (rueidis.Client, error) {
		counted := option
		counted.DialCtxFn = func(ctx context.Context, address string, dialer *net.Dialer, secure *tls.Config) (net.Conn, error) {
			conn, err := connect(ctx, &option, address, dialer, secure)
			if err != nil {
				return nil, err
			}
			return conn, s.addConn(conn)
		}
		return rueidis.NewClient(counted)
	}}, nil
}

// connect dials like rueidis does with these options.
func connect(ctx context.Context, option *rueidis.ClientOption, address string, dialer *net.Dialer, secure *tls.Config) (net.Conn, error) {
	switch {
	case option.DialCtxFn != nil: // a unix socket
		return option.DialCtxFn(ctx, address, dialer, secure)
	case secure != nil:
		conn, err := (&tls.Dialer{NetDialer: dialer, Config: secure}).DialContext(ctx, "tcp", address)
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
			err = fmt.Errorf("%w; the server may not speak TLS: then its URL is redis://", err)
		}
		return conn, err
	}
	return dialer.DialContext(ctx, "tcp", address)
}
