package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/nodes"
	"retwis/internal/rediserr"
	"retwis/internal/redisserver"
	"retwis/internal/redisurl"
)

// reachTimeout bounds everything up to the first answer: five seconds, with
// room for the report.
const reachTimeout = 4800 * time.Millisecond

// dial connects to a database and sees that it can be used.
func dial(ctx context.Context, c redisurl.Config) (rueidis.Client, rueidis.ClientOption, error) {
	opt, err := c.ClientOption()
	if err != nil {
		return nil, opt, fmt.Errorf("store: %w", err)
	}
	client, err := reach(ctx, c.Kind, opt)
	if err != nil && c.Kind == redisurl.Sentinel {
		err = blame(ctx, opt, err)
	}
	if err != nil {
		return nil, opt, explain(c, err)
	}
	return client, opt, nil
}

// reach makes a client and tries it, within reachTimeout.
func reach(ctx context.Context, kind redisurl.Kind, opt rueidis.ClientOption) (rueidis.Client, error) {
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

// usable reports whether a server behind a client answers and is new enough. Of
// a Cluster one node is enough: others of those that were named may be gone.
func usable(ctx context.Context, client rueidis.Client, kind redisurl.Kind) error {
	if kind == redisurl.Cluster && client.Mode() != rueidis.ClientModeCluster {
		// The client took the server for a single one because it could not ask.
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
	// HELLO, not INFO: its fields are the same everywhere, and whoever is
	// connected may send it.
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
		return errors.New("the server is one of a Cluster; use redis+cluster://")
	case mode != "cluster" && kind == redisurl.Cluster:
		return errNoCluster
	}
	return loaded(ctx, node)
}

var errNoCluster = errors.New("the server is not one of a Cluster; use redis://")

// loaded waits for a server that still reads its data.
func loaded(ctx context.Context, node rueidis.Client) error {
	for {
		err := node.Do(ctx, node.B().Ping().Build()).Error()
		switch {
		case err == nil:
			return nil
		case rediserr.Code(err.Error()) != "LOADING":
			// Only whether it has loaded is asked here: 6.2 refuses a PING when it
			// cannot save.
			if rediserr.IsReply(err) {
				return nil
			}
			return err
		}
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("the server is still loading its data; try again when it has: %w", err)
		}
	}
}

// IsLoading reports whether a database was not opened because it still loads its
// data.
func IsLoading(err error) bool {
	var reply *rueidis.RedisError
	return errors.As(err, &reply) && reply.IsLoading()
}

// sentinelError is an error of the sentinels, not of the server they name.
type sentinelError struct{ err error }

func (e *sentinelError) Error() string { return "sentinel: " + e.err.Error() }
func (e *sentinelError) Unwrap() error { return e.err }

// blame finds out whose error it is that a client with sentinels returned: if
// one of the sentinels refuses this program, it is theirs.
func blame(ctx context.Context, opt rueidis.ClientOption, err error) error {
	if rediserr.Of(err) != rediserr.Denied && !errors.Is(err, rueidis.ErrNoCache) {
		return err
	}
	one := opt
	one.Username, one.Password, one.SelectDB = opt.Sentinel.Username, opt.Sentinel.Password, 0
	one.Sentinel, one.ForceSingleClient = rueidis.SentinelOption{}, true
	for _, address := range opt.InitAddress {
		one.InitAddress = []string{address}
		client, refused := rueidis.NewClient(one)
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

// explain words an error for whoever typed the URL.
func explain(c redisurl.Config, err error) error {
	var sentinel *sentinelError
	who, password := "the server", "a password; give one in the URL: redis://user:password@host"
	if errors.As(err, &sentinel) {
		err, who = sentinel.err, "the sentinel"
		password = "a password of its own; give it in the parameter sentinel_password"
	}
	late := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
	switch text := err.Error(); {
	case rediserr.Code(text) == "NOAUTH":
		err = fmt.Errorf("%s asks for %s", who, password)
	case rediserr.Code(text) == "WRONGPASS" && sentinel != nil:
		err = errors.New("the sentinel does not take this user and password; they are the parameters sentinel_username and sentinel_password")
	case rediserr.Code(text) == "WRONGPASS":
		err = errors.New("the server does not take this user and password")
	case rediserr.Code(text) == "NOPERM":
		text, _, _ = strings.Cut(text, "\n") // without what the client adds
		err = fmt.Errorf("%s does not let this user do what retwis needs (docs/operations.md lists the rights): %s", who, text)
	case errors.Is(err, rueidis.ErrNoCache):
		// Redis 5 and older, and what only resembles Redis.
		err = errors.New("the server does not speak RESP3 with client-side caching; Redis 6.2, Valkey or newer is needed")
	case strings.Contains(text, "cluster support disabled"):
		err = errNoCluster
	case late && c.TLS:
		err = fmt.Errorf("no answer in time; perhaps the server does not speak TLS: %w", err)
	case late:
		err = fmt.Errorf("no answer in time: %w", err)
	}
	return fmt.Errorf("store: %s: %w", c, err)
}
