package redlock

import (
	"context"
	"crypto/sha1"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/redis/rueidis"
)

// answerTime is how long a connection may be silent before it is given up. What
// a server then still does is undone over the next one.
const answerTime = 2 * time.Second

// dialed returns a server that is connected to when it is first needed.
func dialed(text string) (*redisServer, error) {
	option, err := rueidis.ParseURL(text)
	if err != nil {
		return nil, fmt.Errorf("%s is not a URL like redis://user:password@host:6379 or unix:///path: %w", redact(text), clean(err))
	}
	if len(option.InitAddress) != 1 || option.Sentinel.MasterSet != "" {
		return nil, fmt.Errorf("%s does not name exactly one server", redact(text))
	}
	option.ClientName = "redlock"
	option.ForceSingleClient = true
	option.DisableCache = true
	option.DisableRetry = true
	option.PipelineMultiplex = -1 // one connection: what is asked in order is done in order
	option.Dialer.Timeout = time.Second
	option.ConnWriteTimeout = answerTime
	return &redisServer{label: redact(text), dial: func(s *redisServer) (rueidis.Client, error) {
		counted := option
		counted.DialCtxFn = func(ctx context.Context, address string, dialer *net.Dialer, secure *tls.Config) (net.Conn, error) {
			conn, err := connect(ctx, &option, address, dialer, secure)
			if err != nil {
				return nil, err
			}
			return conn, s.dialed(conn)
		}
		return rueidis.NewClient(counted)
	}}, nil
}

// connect is what rueidis does for the options of a URL.
func connect(ctx context.Context, option *rueidis.ClientOption, address string, dialer *net.Dialer, secure *tls.Config) (net.Conn, error) {
	switch {
	case option.DialCtxFn != nil: // a unix socket
		return option.DialCtxFn(ctx, address, dialer, secure)
	case secure != nil:
		return (&tls.Dialer{NetDialer: dialer, Config: secure}).DialContext(ctx, "tcp", address)
	}
	return dialer.DialContext(ctx, "tcp", address)
}

// redact returns a URL without its user and password.
func redact(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "this"
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// clean takes out of an error of url.Parse what may be part of a password.
func clean(err error) error {
	parse, ok := err.(*url.Error)
	if !ok {
		return err
	}
	if _, ok := parse.Err.(url.EscapeError); ok {
		return errors.New("a % in it begins no escape: write %25 for a % in a password")
	}
	return parse.Err
}

// sha1Hex is how servers name a script.
func sha1Hex(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}
