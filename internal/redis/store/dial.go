package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/nodes"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/redisserver"
	"retwis/internal/redis/redisurl"
	"retwis/internal/sleep"
)

// reachTimeout limits the time to the first reply: five seconds, minus the time to report an
// error.
const reachTimeout = 4800 * time.Millisecond

// dial connects to a database and checks that the database is usable. It also returns the options
// for additional connections, whose changes are not reported.
func dial(ctx context.Context, c redisurl.Config, changes *Invalidations, o Options) (rueidis.Client, rueidis.ClientOption, error) {
	opt, err := c.ClientOption()
	if err != nil {
		return nil, opt, fmt.Errorf("store: %w", err)
	}
	watched := counted(changes.watch(opt), o.Connected)
	watched.CacheSizeEachConn = int(o.CacheBytes)
	client, err := reach(ctx, c.Kind, watched)
	if err == nil && c.Kind == redisurl.Cluster {
		client, err = divide(ctx, client, watched)
	}
	if err != nil && c.Kind == redisurl.Sentinel {
		err = attribute(ctx, opt, err)
	}
	if err != nil {
		return nil, opt, explain(c, err)
	}
	return client, opt, nil
}

// divide returns a Cluster client whose connections share the cache size of a single connection.
// Only a connected client knows the number of connections, so divide opens a new client. Connections
// to masters that join later get the same share.
func divide(ctx context.Context, client rueidis.Client, opt rueidis.ClientOption) (rueidis.Client, error) {
	n := len(client.Nodes())
	if masters, err := nodes.Masters(ctx, client); err == nil { // excludes replicas
		n = len(masters)
	}
	if n < 2 {
		return client, nil
	}
	client.Close()
	opt.CacheSizeEachConn = max(opt.CacheSizeEachConn/n, minCache)
	return reach(ctx, redisurl.Cluster, opt)
}

// counted returns client options that report each connection the client opens.
func counted(opt rueidis.ClientOption, connected func()) rueidis.ClientOption {
	if connected == nil {
		return opt
	}
	next := opt.DialCtxFn
	if next == nil {
		next = func(ctx context.Context, addr string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
			if config == nil {
				return dialer.DialContext(ctx, "tcp", addr)
			}
			return (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, "tcp", addr)
		}
	}
	opt.DialCtxFn = func(ctx context.Context, addr string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
		conn, err := next(ctx, addr, dialer, config)
		if err == nil {
			connected()
		}
		return conn, err
	}
	return opt
}

// reach creates a client and tests it, within reachTimeout. It retries while the server returns a
// temporary error.
func reach(caller context.Context, kind redisurl.Kind, opt rueidis.ClientOption) (rueidis.Client, error) {
	ctx, cancel := context.WithTimeout(caller, reachTimeout)
	defer cancel()
	type result struct {
		client rueidis.Client
		err    error
	}
	// NewClient takes no context, and several of its timeouts can add up.
	done := make(chan result, 1)
	var refused atomic.Pointer[error] // error of the last attempt
	go func() {
		for {
			client, err := rueidis.NewClient(opt)
			if err == nil {
				if err = usable(ctx, client, kind); err != nil {
					client.Close()
				}
			}
			if rediserr.Passes(err) {
				refused.Store(&err)
				if sleep.For(ctx, 50*time.Millisecond) {
					continue
				}
			}
			done <- result{client, err}
			return
		}
	}()
	select {
	case r := <-done:
		return r.client, r.err
	case <-ctx.Done():
		go func() { // close a client that connects too late
			if r := <-done; r.err == nil {
				r.client.Close()
			}
		}()
		if err := refused.Load(); err != nil && caller.Err() == nil {
			return nil, *err
		}
		return nil, ctx.Err()
	}
}

// usable checks that a server answers and is new enough. One node of a Cluster is enough: other
// nodes in the URL may no longer exist.
func usable(ctx context.Context, client rueidis.Client, kind redisurl.Kind) error {
	if kind == redisurl.Cluster && client.Mode() != rueidis.ClientModeCluster {
		// The client assumed a single server because its query failed.
		if err := client.Do(ctx, client.B().ClusterSlots().Build()).Error(); err != nil {
			return err
		}
		return errNoCluster
	}
	_, err := nodes.First(ctx, client, reachTimeout, func(ctx context.Context, node rueidis.Client) (struct{}, error) {
		return struct{}{}, nodeUsable(ctx, node, kind)
	})
	return err
}

func nodeUsable(ctx context.Context, node rueidis.Client, kind redisurl.Kind) error {
	// Unlike INFO, HELLO has the same fields on all servers, and every user may call it.
	hello, err := node.Do(ctx, node.B().Arbitrary("HELLO").Build()).AsMap()
	if err != nil {
		return err
	}
	field := func(name string) string {
		value := hello[name]
		text, _ := value.ToString()
		return text
	}
	if version := field("version"); redisserver.TooOld(version) {
		return fmt.Errorf("the server is version %q; 6.2 or newer is needed", version)
	}
	switch mode := field("mode"); {
	case mode == "sentinel":
		return errors.New("the server is a sentinel; use redis+sentinel://host/master")
	case mode == "cluster" && kind != redisurl.Cluster:
		return errors.New("the server is a node of a Cluster; use redis+cluster://")
	case mode != "cluster" && kind == redisurl.Cluster:
		return errNoCluster
	}
	return waitLoaded(ctx, node)
}

var errNoCluster = errors.New("the server is not a node of a Cluster; use redis://")

// waitLoaded waits until a server has loaded its data.
func waitLoaded(ctx context.Context, node rueidis.Client) error {
	for {
		err := node.Do(ctx, node.B().Ping().Build()).Error()
		switch {
		case err == nil:
			return nil
		case rediserr.Code(err.Error()) != "LOADING":
			// Any other reply means that the data is loaded: Redis 6.2 rejects PING when it cannot save.
			if rediserr.IsReply(err) {
				return nil
			}
			return err
		}
		if !sleep.For(ctx, 50*time.Millisecond) {
			return fmt.Errorf("the server is still loading its data; try again later: %w", err)
		}
	}
}

// IsLoading reports whether Open failed because the database is still loading its data.
func IsLoading(err error) bool {
	var reply *rueidis.RedisError
	return errors.As(err, &reply) && reply.IsLoading()
}

// sentinelError is an error of a sentinel, not of the server that it names.
type sentinelError struct{ err error }

func (e *sentinelError) Error() string { return "sentinel: " + e.err.Error() }
func (e *sentinelError) Unwrap() error { return e.err }

// passingError is a temporary error reply, in the words of the server.
type passingError struct {
	text string
	err  error
}

func (e *passingError) Error() string { return e.text }
func (e *passingError) Unwrap() error { return e.err }

// attribute determines whether an error of a client with sentinels comes from a sentinel: it asks
// each sentinel.
func attribute(ctx context.Context, opt rueidis.ClientOption, err error) error {
	if rediserr.Of(err) != rediserr.Denied && !errors.Is(err, rueidis.ErrNoCache) {
		return err
	}
	sentinel := opt
	sentinel.Username, sentinel.Password, sentinel.SelectDB = opt.Sentinel.Username, opt.Sentinel.Password, 0
	sentinel.Sentinel, sentinel.ForceSingleClient = rueidis.SentinelOption{}, true
	for _, address := range opt.InitAddress {
		sentinel.InitAddress = []string{address}
		client, refused := rueidis.NewClient(sentinel)
		if refused == nil {
			refused = client.Do(ctx, client.B().SentinelGetMasterAddrByName().Master(opt.Sentinel.MasterSet).Build()).Error()
			client.Close()
		}
		if rediserr.Of(refused) == rediserr.Denied {
			return &sentinelError{refused}
		}
	}
	return err
}

// explain turns an error into advice for the user who wrote the URL.
func explain(c redisurl.Config, err error) error {
	var sentinel *sentinelError
	peer, password := "the server", "a password; give one in the URL: redis://user:password@host"
	if errors.As(err, &sentinel) {
		err, peer = sentinel.err, "the sentinel"
		password = "its own password; give it in the parameter sentinel_password"
	}
	timedOut := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
	switch text := err.Error(); {
	case rediserr.Code(text) == "NOAUTH":
		err = fmt.Errorf("%s asks for %s", peer, password)
	case rediserr.Code(text) == "WRONGPASS" && sentinel != nil:
		err = errors.New("the sentinel rejects this user and password; set them with the parameters sentinel_username and sentinel_password")
	case rediserr.Code(text) == "WRONGPASS":
		err = errors.New("the server rejects this user and password")
	case rediserr.Code(text) == "NOPERM":
		text, _, _ = strings.Cut(text, "\n") // without the client's addition
		err = fmt.Errorf("%s denies this user a command or key that retwis needs (docs/operations.md lists the permissions): %s", peer, text)
	case rediserr.Passes(err):
		text, _, _ = strings.Cut(text, ": [") // without the client's addition
		err = &passingError{text, err}
	case errors.Is(err, rueidis.ErrNoCache):
		// Redis 5 and older, and servers that only resemble Redis.
		err = errors.New("the server does not speak RESP3 with client-side caching; Redis 6.2, Valkey or newer is needed")
	case strings.Contains(text, "cluster support disabled"):
		err = errNoCluster
	case strings.Contains(text, "unknown command") && strings.Contains(text, "SENTINEL"):
		err = errors.New("the server is not a sentinel; use redis://")
	case strings.Contains(text, "received unknown message type"):
		err = errors.New("this is not a Redis server; is the port right?")
	case timedOut && c.TLS:
		err = fmt.Errorf("no answer in time; perhaps the server does not speak TLS: %w", err)
	case timedOut:
		err = fmt.Errorf("no answer in time: %w", err)
	}
	return fmt.Errorf("store: %s: %w", c, err)
}
