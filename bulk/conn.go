package bulk

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
)

const dialTimeout = 5 * time.Second

// dialer opens connections to the servers that an option names.
type dialer struct {
	opt rueidis.ClientOption
}

// conn is a connection on which a load can begin.
type conn struct {
	net.Conn
	replies *replies
	addr    string
}

// open connects to a server, signs in, and waits until it has loaded its own data.
func (d *dialer) open(ctx context.Context, addr string, db int) (*conn, error) {
	c, err := d.connect(ctx, addr, d.opt.Username, d.opt.Password)
	if err != nil {
		return nil, err
	}
	if err := d.begin(ctx, c, db); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (d *dialer) begin(ctx context.Context, c *conn, db int) error {
	if db > 0 {
		if _, err := c.do("SELECT", strconv.Itoa(db)); err != nil {
			return explain(c.addr, d.opt.TLSConfig != nil, err)
		}
	}
	for {
		_, err := c.do("PING")
		if err == nil || !isReply(err, "LOADING") {
			if isReply(err, "NOPERM") {
				err = nil
			}
			return explain(c.addr, d.opt.TLSConfig != nil, err)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// connect opens a connection and signs in.
func (d *dialer) connect(ctx context.Context, addr, user, password string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	nc, err := d.dial(ctx, addr)
	if err != nil {
		return nil, explain(addr, d.opt.TLSConfig != nil, err)
	}
	c := &conn{Conn: nc, replies: newReplies(nc), addr: addr}
	if password != "" || user != "" {
		words := []string{"AUTH", password}
		if user != "" {
			words = []string{"AUTH", user, password}
		}
		_, err = c.do(words...)
	}
	if err == nil {
		if _, err = c.do("PING"); isReply(err, "LOADING") || isReply(err, "NOPERM") || isReply(err, "MASTERDOWN") {
			err = nil
		}
	}
	if err != nil {
		nc.Close()
		if c.replies.end > 0 && c.replies.buf[0] == 0x15 && d.opt.TLSConfig == nil {
			err = errTLS
		}
		return nil, explain(addr, d.opt.TLSConfig != nil, err)
	}
	return c, nil
}

func (d *dialer) dial(ctx context.Context, addr string) (net.Conn, error) {
	nd := d.opt.Dialer
	if nd.Timeout == 0 || nd.Timeout > dialTimeout {
		nd.Timeout = dialTimeout
	}
	if d.opt.DialCtxFn != nil {
		return d.opt.DialCtxFn(ctx, addr, &nd, d.opt.TLSConfig)
	}
	if d.opt.TLSConfig == nil {
		return nd.DialContext(ctx, "tcp", addr)
	}
	return (&tls.Dialer{NetDialer: &nd, Config: d.opt.TLSConfig}).DialContext(ctx, "tcp", addr)
}

// master asks the sentinels where the server is, or returns the address itself
// where there are none.
func (d *dialer) master(ctx context.Context) (string, error) {
	if d.opt.Sentinel.MasterSet == "" {
		return d.opt.InitAddress[0], nil
	}
	sentinels := dialer{opt: rueidis.ClientOption{
		Dialer: d.opt.Sentinel.Dialer, TLSConfig: d.opt.Sentinel.TLSConfig,
	}}
	var failed []error
	for _, addr := range d.opt.InitAddress {
		c, err := sentinels.connect(ctx, addr, d.opt.Sentinel.Username, d.opt.Sentinel.Password)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		found, err := c.do("SENTINEL", "get-master-addr-by-name", d.opt.Sentinel.MasterSet)
		c.Close()
		parts, _ := found.([]any)
		if err == nil && len(parts) == 2 {
			return net.JoinHostPort(fmt.Sprint(parts[0]), fmt.Sprint(parts[1])), nil
		}
		if err == nil {
			err = fmt.Errorf("the sentinel knows no master %q", d.opt.Sentinel.MasterSet)
		}
		failed = append(failed, fmt.Errorf("%s: %w", addr, err))
	}
	return "", errors.Join(failed...)
}

// replyError is what a server said.
type replyError string

func (e replyError) Error() string { return string(e) }

// isReply tells whether an error is a server's, of a certain kind.
func isReply(err error, kind string) bool {
	var said replyError
	return errors.As(err, &said) && strings.HasPrefix(string(said), kind)
}

// do sends one command and reads its answer: a string, an int64, nil, or []any of
// these. It is for what comes before a load; see pipe.
func (c *conn) do(words ...string) (any, error) {
	request := appendLength(nil, '*', len(words))
	for _, w := range words {
		request = append(append(appendLength(request, '$', len(w)), w...), '\r', '\n')
	}
	if err := c.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return nil, err
	}
	if _, err := c.Write(request); err != nil {
		return nil, err
	}
	answer, err := c.replies.value(0)
	if err != nil {
		return nil, err
	}
	return answer, c.SetDeadline(time.Time{})
}

// value reads one answer whole. It is for short ones.
func (p *replies) value(depth int) (any, error) {
	line, err := p.line()
	if err != nil {
		return nil, err
	}
	if len(line) == 0 || depth > maxDepth {
		return nil, fmt.Errorf("%w: %q", errProtocol, shorten(line, 20))
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
		return nil, fmt.Errorf("%w: %q", errProtocol, shorten(line, 20))
	}
	if string(line[1:]) == "-1" {
		return nil, nil // a null reply
	}
	n, ok := parseLength(line[1:])
	if !ok {
		return nil, errProtocol
	}
	if line[0] == '$' {
		p.text = p.text[:0]
		digits := strconv.AppendInt(nil, int64(n), 10)
		return p.string(digits)
	}
	list := make([]any, 0, min(n, 1024))
	for range n {
		v, err := p.value(depth + 1)
		if err != nil && !isReply(err, "") {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// string reads a string of a length; one longer than keptText is cut.
func (p *replies) string(length []byte) (any, error) {
	err := p.bulk(length)
	return string(p.text), err
}

// explain words what goes wrong with a connection for whoever typed the URL.
func explain(addr string, encrypted bool, err error) error {
	var header tls.RecordHeaderError
	var unknown *net.DNSError
	switch {
	case err == nil:
		return nil
	case isReply(err, "NOAUTH"):
		err = &refusal{errors.New("the server asks for a password; give one in the URL: redis://user:password@host")}
	case isReply(err, "WRONGPASS"), isReply(err, "ERR AUTH"), isReply(err, "ERR invalid password"):
		err = &refusal{errors.New("the server does not take this user and password")}
	case isReply(err, "DENIED"), isReply(err, "NOPERM"), isReply(err, "ERR DB index"):
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

var errTLS = errors.New("the answer is an alert of TLS")

// refusal is an error that no waiting mends.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func isCertificate(err error) bool {
	var cert *tls.CertificateVerificationError
	return errors.As(err, &cert)
}

// pause waits, unless the context ends before.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
