package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/cli/shell"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/redisurl"
	"retwis/internal/redis/store"
	"retwis/redlock"
)

// showTimeout is how long --show, --watch, --break and --health wait for a server. The same timeout
// applies to --no-wait, whose only attempt has to connect first.
const showTimeout = time.Second

// reopenPause is the pause between two attempts to open the database.
const reopenPause = 250 * time.Millisecond

// open returns a lock manager for the servers, or the database, given by the flags.
func (flags *lockFlags) open(ctx context.Context, c *shell.Command) (*redlock.Manager, func() error, error) {
	opt := redlock.Options{TTL: flags.ttl, NodeTimeout: flags.nodeTimeout, Fencing: flags.fencing, MaxHold: flags.maxTime, Owner: flags.owner}
	if mode, _ := flags.mode(); (mode != "" || flags.noWait) && opt.NodeTimeout == 0 {
		opt.NodeTimeout = min(showTimeout, flags.ttl/4)
	}
	if len(flags.nodes) > 0 {
		if err := flags.refuseSites(ctx, c); err != nil {
			return nil, nil, err
		}
		m, err := redlock.Dial(flags.nodes, opt)
		if err != nil {
			return nil, nil, shell.Usage(errors.New(shell.OneLine(err)))
		}
		return m, m.Close, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	config, err := store.Parse(c.Redis)
	if err != nil {
		return nil, nil, err
	}
	db, err := flags.openDatabase(ctx, c, config.Kind)
	if err != nil {
		return nil, nil, err
	}
	m, err := redlock.New([]rueidis.Client{db.Client()}, opt)
	if err != nil {
		return nil, nil, errors.Join(shell.Usage(errors.New(shell.OneLine(err))), db.Close())
	}
	end := func() error { return errors.Join(m.Close(), db.Close()) }
	// An embedded server was often just started, and would be quarantined each time. The server
	// still has its locks: it saves all data when it stops, and if the machine fails, so do all
	// clients of the server. Locks can be lost only if the server alone is killed while a slow disk
	// delays its append-only file by a second or two.
	if config.Kind == store.Embedded {
		if err := m.SkipQuarantine(ctx); err != nil {
			return nil, nil, errors.Join(err, end())
		}
	}
	return m, end, nil
}

// refuseSites returns an error if a server holds a site. Servers that do not answer are ignored:
// the lock needs only a majority of the servers.
func (flags *lockFlags) refuseSites(ctx context.Context, c *shell.Command) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(flags.nodeTimeout, showTimeout))
	defer cancel()
	refused := make([]error, len(flags.nodes))
	var wg sync.WaitGroup
	for i, url := range flags.nodes {
		wg.Go(func() {
			db, err := store.Open(ctx, url, shell.Configure(c, store.Options{}))
			if err != nil {
				return
			}
			defer db.Close()
			err = c.RefuseSite(ctx, db.Client(), fmt.Sprintf("server %d of --node", i+1))
			if shell.IsUsage(err) {
				refused[i] = err
			}
		})
	}
	wg.Wait()
	return cmp.Or(refused...)
}

// openDatabase opens the database given by --redis. If the database can fail over, openDatabase
// retries for up to --wait.
func (flags *lockFlags) openDatabase(ctx context.Context, c *shell.Command, kind redisurl.Kind) (*store.Store, error) {
	retry := !flags.noWait && (kind == redisurl.Sentinel || kind == redisurl.Cluster)
	mode, _ := flags.mode()
	if mode != "" {
		retry = false
	}
	opt := shell.Configure(c, store.Options{})
	opt.Create = mode == ""
	reported := false
	for start := time.Now(); ; {
		db, err := c.OpenStore(ctx, opt)
		temporary := rediserr.Of(err) == rediserr.Unavailable || rediserr.Of(err) == rediserr.WritesRefused
		if err == nil || !retry || !temporary || ctx.Err() != nil {
			return db, err
		}
		if time.Since(start) >= flags.wait {
			return nil, shell.Exit(exitNotAcquired, fmt.Errorf("%w (%w for %v)", err, errWaited, flags.wait))
		}
		if !reported {
			reported = true
			fmt.Fprintf(c.Stderr, "retwis: waiting for the database: %s\n", shell.OneLine(err))
		}
		select {
		case <-time.After(reopenPause):
		case <-ctx.Done():
		}
	}
}
