// Package server connects to Redis servers, sentinels and Clusters and reads replies.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/bulk/resp"
	"retwis/internal/redis/rediserr"
	"retwis/internal/sleep"
)

const dialTimeout = 5 * time.Second

// Dialer opens connections to the servers of Options.
type Dialer struct {
	Options rueidis.ClientOption
}

// Conn is an authenticated connection.
type Conn struct {
	net.Conn
	Replies *Replies
	Addr    string
	loading bool // the server is loading its data set
}

// Sentinel reports whether sentinels provide the address of the server.
func (d *Dialer) Sentinel() bool { return d.Options.Sentinel.MasterSet != "" }

// Open connects to a server, selects a database, and waits until the server has loaded its data
// set.
func (d *Dialer) Open(ctx context.Context, addr string, db int) (*Conn, error) {
	c, err := d.Connect(ctx, addr)
	if err != nil {
		return nil, err
	}
	if err := d.prepare(ctx, c, db); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (d *Dialer) prepare(ctx context.Context, c *Conn, db int) error {
	if db > 0 {
		if _, err := c.Do("SELECT", strconv.Itoa(db)); err != nil {
			return explain(c.Addr, d.Options.TLSConfig != nil, err)
		}
	}
	for {
		_, err := c.Do("PING")
		if err == nil || !IsReply(err, "LOADING") {
			if IsReply(err, "NOPERM") {
				err = nil
			}
			return explain(c.Addr, d.Options.TLSConfig != nil, err)
		}
		if !sleep.For(ctx, 50*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// Connect opens a connection and authenticates.
func (d *Dialer) Connect(ctx context.Context, addr string) (*Conn, error) {
	return d.connect(ctx, addr, d.Options.Username, d.Options.Password)
}

func (d *Dialer) connect(ctx context.Context, addr, user, password string) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	nc, err := d.dial(ctx, addr)
	if err != nil {
		return nil, explain(addr, d.Options.TLSConfig != nil, err)
	}
	c := &Conn{Conn: nc, Replies: newReplies(nc), Addr: addr}
	if password != "" || user != "" {
		auth := []string{"AUTH", password}
		if user != "" {
			auth = []string{"AUTH", user, password}
		}
		_, err = c.Do(auth...)
	}
	if err == nil {
		_, err = c.Do("PING")
		if c.loading = IsReply(err, "LOADING"); c.loading || IsReply(err, "NOPERM") || IsReply(err, "MASTERDOWN") {
			err = nil
		}
	}
	if err != nil {
		nc.Close()
		if c.Replies.end > 0 && c.Replies.buf[0] == 0x15 && d.Options.TLSConfig == nil {
			err = errTLS
		}
		return nil, explain(addr, d.Options.TLSConfig != nil, err)
	}
	return c, nil
}

func (d *Dialer) dial(ctx context.Context, addr string) (net.Conn, error) {
	nd := d.Options.Dialer
	if nd.Timeout == 0 || nd.Timeout > dialTimeout {
		nd.Timeout = dialTimeout
	}
	if d.Options.DialCtxFn != nil {
		return d.Options.DialCtxFn(ctx, addr, &nd, d.Options.TLSConfig)
	}
	if d.Options.TLSConfig == nil {
		return nd.DialContext(ctx, "tcp", addr)
	}
	return (&tls.Dialer{NetDialer: &nd, Config: d.Options.TLSConfig}).DialContext(ctx, "tcp", addr)
}

// Master returns the address of the server: from the options, or from the sentinels.
func (d *Dialer) Master(ctx context.Context) (string, error) {
	if d.Options.Sentinel.MasterSet == "" {
		return d.Options.InitAddress[0], nil
	}
	sentinels := Dialer{Options: rueidis.ClientOption{
		Dialer: d.Options.Sentinel.Dialer, TLSConfig: d.Options.Sentinel.TLSConfig,
	}}
	var failed []error
	for _, addr := range d.Options.InitAddress {
		c, err := sentinels.connect(ctx, addr, d.Options.Sentinel.Username, d.Options.Sentinel.Password)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		found, err := c.Do("SENTINEL", "get-master-addr-by-name", d.Options.Sentinel.MasterSet)
		c.Close()
		parts, _ := found.([]any)
		if err == nil && len(parts) == 2 {
			return net.JoinHostPort(fmt.Sprint(parts[0]), fmt.Sprint(parts[1])), nil
		}
		if err == nil {
			err = fmt.Errorf("the sentinel does not monitor a master named %q", d.Options.Sentinel.MasterSet)
		}
		failed = append(failed, fmt.Errorf("%s: %w", addr, err))
	}
	return "", errors.Join(failed...)
}

// Any connects to the first server of addrs that answers and has loaded its data set. A server that
// is loading may not report yet whether it is part of a Cluster. If all servers that answer are
// loading, Any waits for one of them.
func (d *Dialer) Any(ctx context.Context, addrs []string) (*Conn, error) {
	for {
		var failed []error
		tried, loading := make(map[string]bool), false
		for _, addr := range addrs {
			if tried[addr] {
				continue
			}
			tried[addr] = true
			c, err := d.Connect(ctx, addr)
			switch {
			case err != nil:
				failed = append(failed, err)
			case c.loading:
				c.Close()
				loading = true
			default:
				return c, nil
			}
		}
		if !loading {
			return nil, errors.Join(failed...)
		}
		if !sleep.For(ctx, 50*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

// replyError is an error reply of a server.
type replyError string

func (e replyError) Error() string { return string(e) }

// IsReply reports whether err is an error reply that begins with kind.
func IsReply(err error, kind string) bool {
	var reply replyError
	return errors.As(err, &reply) && strings.HasPrefix(string(reply), kind)
}

// IsTemporary reports whether err is an error reply for a temporary condition.
func IsTemporary(err error) bool {
	var reply replyError
	return errors.As(err, &reply) && rediserr.IsTemporaryReply(string(reply))
}

// Do sends one command and reads its reply: a string, an int64, nil, or []any of these.
func (c *Conn) Do(args ...string) (any, error) {
	request := resp.AppendLength(nil, '*', len(args))
	for _, arg := range args {
		request = append(append(resp.AppendLength(request, '$', len(arg)), arg...), '\r', '\n')
	}
	if err := c.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return nil, err
	}
	if _, err := c.Write(request); err != nil {
		return nil, err
	}
	answer, err := c.Replies.value(0)
	if err != nil {
		return nil, err
	}
	return answer, c.SetDeadline(time.Time{})
}

// value reads a complete reply. It is meant for short replies.
func (p *Replies) value(depth int) (any, error) {
	line, err := p.line()
	if err != nil {
		return nil, err
	}
	if len(line) == 0 || depth > maxDepth {
		return nil, fmt.Errorf("%w: %q", ErrProtocol, resp.Shorten(line, 20))
	}
	switch line[0] {
	case '+':
		return string(line[1:]), nil
	case '-':
		return nil, replyError(line[1:])
	case ':':
		return strconv.ParseInt(string(line[1:]), 10, 64)
	case '$', '*':
	default:
		return nil, fmt.Errorf("%w: %q", ErrProtocol, resp.Shorten(line, 20))
	}
	if string(line[1:]) == "-1" {
		return nil, nil // a null reply
	}
	n, ok := parseLength(line[1:])
	if !ok {
		return nil, ErrProtocol
	}
	if line[0] == '$' {
		p.text = p.text[:0]
		digits := strconv.AppendInt(nil, int64(n), 10)
		return p.string(digits)
	}
	list := make([]any, 0, min(n, 1024))
	for range n {
		v, err := p.value(depth + 1)
		if err != nil && !IsReply(err, "") {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// string reads a bulk string, truncated to keptText.
func (p *Replies) string(length []byte) (any, error) {
	err := p.bulk(length)
	return string(p.text), err
}

// explain adds the address to a connection error, and advice for the user who wrote the URL.
func explain(addr string, encrypted bool, err error) error {
	var header tls.RecordHeaderError
	var unknown *net.DNSError
	switch {
	case err == nil:
		return nil
	case IsReply(err, "NOAUTH"):
		err = &refusal{errors.New("the server asks for a password; give one in the URL: redis://user:password@host")}
	case IsReply(err, "WRONGPASS"), IsReply(err, "ERR AUTH"), IsReply(err, "ERR invalid password"):
		err = &refusal{errors.New("the server rejects this user and password")}
	case IsReply(err, "DENIED"), IsReply(err, "NOPERM"), IsReply(err, "ERR DB index"):
		err = &refusal{err}
	case errors.As(err, &header):
		err = &refusal{errors.New("the server does not speak TLS on this port; use redis:// instead of rediss://")}
	case encrypted && isCertificate(err):
		err = &refusal{err}
	case errors.Is(err, errTLS):
		err = &refusal{errors.New("the server speaks TLS on this port; use rediss:// instead of redis://")}
	case errors.As(err, &unknown) && unknown.IsNotFound:
		err = fmt.Errorf("no such host: %s", unknown.Name)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		err = errors.New("no answer in time")
		if encrypted {
			err = errors.New("no answer in time; perhaps the server does not speak TLS on this port")
		}
	}
	return fmt.Errorf("%s: %w", addr, err)
}

var errTLS = errors.New("the server answered with a TLS alert")

// refusal is an error that retrying does not fix.
type refusal struct{ err error }

// IsPermanent reports whether retrying a connection is pointless.
func IsPermanent(err error) bool {
	var final *refusal
	return errors.As(err, &final)
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func isCertificate(err error) bool {
	var cert *tls.CertificateVerificationError
	return errors.As(err, &cert)
}
