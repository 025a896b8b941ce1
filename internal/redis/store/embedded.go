package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/owner"
	"retwis/internal/redis/redisserver"
	"retwis/internal/redis/redisurl"
	"retwis/internal/sleep"
)

// embedded is a server in a data directory, run by this process or by another process that opened
// the directory first.
type embedded struct {
	dir    string
	socket string
	opt    Options
	log    *slog.Logger

	changes Invalidations
	joined  bool // another process was running the server when this process opened the directory

	stop    context.CancelFunc // ends the watcher
	watcher sync.WaitGroup
	failed  error // why the last server did not stop cleanly; valid after the watcher has ended
}

const (
	// stopTimeout limits the wait for a server that saves its data.
	stopTimeout = time.Minute
	// watchEvery is how often a process that uses another process's server checks whether that
	// process has ended.
	watchEvery = 500 * time.Millisecond
	// orphanGrace is how long a server gets to exit after its owner has ended.
	orphanGrace = 2 * time.Second
	// maxJoins limits the attempts to join a server that exists but does not answer.
	maxJoins = 20
	// minPause and maxPause limit the pause before a server that keeps dying is restarted.
	minPause, maxPause = 10 * time.Millisecond, 5 * time.Second
	// stableAfter is how long a server must live to be restarted after minPause.
	stableAfter = 10 * time.Second
)

// openEmbedded runs a server in the directory, or joins the running one.
func openEmbedded(ctx context.Context, config redisurl.Config, opt Options) (*Store, error) {
	e := &embedded{dir: config.Dir, opt: opt, log: opt.Logger}
	if err := e.locate(); err != nil {
		return nil, err
	}
	server, lock, client, err := e.connect(ctx)
	if err != nil {
		return nil, err
	}
	option, err := e.option()
	if err != nil {
		client.Close()
		return nil, errors.Join(err, e.end(server, lock))
	}
	watch, stop := context.WithCancel(context.Background())
	e.stop = stop
	e.watcher.Go(func() { e.watch(watch, server, lock) })
	return &Store{client: opt.wrap(client), option: option, where: e.dir, embedded: e, changes: &e.changes}, nil
}

// connect enters the directory and connects to its server. A joined server may be ending with its
// owner; the next attempt then finds the directory unlocked.
func (e *embedded) connect(ctx context.Context) (*redisserver.Server, *os.File, rueidis.Client, error) {
	for try := 1; ; try++ {
		server, lock, err := e.enter(ctx)
		if err != nil {
			return nil, nil, nil, err
		}
		client, err := e.dial(ctx)
		if err == nil {
			if server == nil {
				e.joined = true
				e.log.Info("another process runs the server of the data directory; joined it", "dir", e.dir)
			}
			return server, lock, client, nil
		}
		if server != nil || try == maxJoins || ctx.Err() != nil {
			return nil, nil, nil, errors.Join(err, e.end(server, lock))
		}
		sleep.For(ctx, watchEvery/5)
	}
}

// dial connects to the server of the directory. A new owner may use another socket.
func (e *embedded) dial(ctx context.Context) (rueidis.Client, error) {
	opt, err := e.option()
	if err != nil {
		return nil, err
	}
	watched := counted(e.changes.watch(opt), e.opt.Connected)
	watched.CacheSizeEachConn = int(e.opt.CacheBytes)
	client, err := reach(ctx, Embedded, watched)
	if err != nil {
		return nil, explain(redisurl.Config{Kind: Embedded, Dir: e.dir}, err)
	}
	return client, nil
}

func (e *embedded) option() (rueidis.ClientOption, error) {
	opt, err := redisurl.Config{Kind: Embedded, Dir: e.dir, Socket: e.socket}.ClientOption()
	opt.DialCtxFn = redisurl.UnixDialer(func() (string, error) { return readSocket(e.dir) })
	return opt, err
}

// DefaultDir returns the data directory to use if none is configured.
func DefaultDir(getenv func(string) string) (string, error) {
	base := getenv("XDG_DATA_HOME")
	if base == "" {
		home := getenv("HOME")
		if home == "" {
			return "", errors.New("store: neither XDG_DATA_HOME nor HOME is set; name a directory: embedded:DIR")
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "retwis"), nil
}

// ErrNoDatabase means that the directory of an embedded database does not exist, or contains no
// database.
var ErrNoDatabase = errors.New("there is no database")

// locate determines the directory and the socket. It creates a missing directory, for this user
// only, if Options.Create is set, and checks that a server program is installed.
func (e *embedded) locate() error {
	var err error
	if e.dir == "" {
		if e.dir, err = DefaultDir(e.opt.Getenv); err != nil {
			return err
		}
	}
	if e.dir, err = filepath.Abs(e.dir); err != nil {
		return fmt.Errorf("store: the data directory: %w", err)
	}
	if _, err := owner.Of(e.dir); err != nil {
		return err
	}
	if err := e.makeOrRequire(); err != nil {
		return err
	}
	if err := os.Chmod(e.dir, 0o700); err != nil {
		return fmt.Errorf("store: the data directory: %w", err)
	}
	if _, err = redisserver.Find(e.opt.Getenv); err != nil {
		return err
	}
	e.socket, err = redisserver.SocketPath(e.dir)
	return err
}

// makeOrRequire creates the directory or, without Options.Create, rejects a directory that
// contains no database.
func (e *embedded) makeOrRequire() error {
	if e.opt.Create {
		if err := os.MkdirAll(e.dir, 0o700); err != nil {
			return fmt.Errorf("store: create the data directory: %w", err)
		}
		return nil
	}
	exists, err := redisserver.HasDatabase(e.dir)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if !exists && !locked(e.dir) { // a server that has just started may have no files yet
		return fmt.Errorf("store: %w in %s", ErrNoDatabase, e.dir)
	}
	return nil
}

// enter locks the directory and starts the server. If another process runs a server that answers,
// enter returns neither a server nor a lock. If the directory is locked but no server answers, the
// owner has just died or just started, and enter tries again.
func (e *embedded) enter(ctx context.Context) (*redisserver.Server, *os.File, error) {
	began, logged := time.Now(), false
	for {
		lock, err := tryLock(e.dir)
		if err != nil {
			return nil, nil, err
		}
		if lock != nil {
			server, err := e.start(ctx, lock)
			if err != nil {
				lock.Close()
				return nil, nil, err
			}
			return server, lock, nil
		}
		// A server whose owner was killed exits, too, but still answers for a moment: a process that
		// joins this server would lose a command. If the server does not exit, as on systems other
		// than Linux, this process joins it after the grace period.
		dying := time.Since(began) < orphanGrace && orphaned(e.dir)
		if e.answers() && !dying {
			return nil, nil, nil
		}
		if !logged && !dying {
			logged = true
			e.log.Info("another process has the data directory; waiting for its server to answer or to end", "dir", e.dir)
		}
		if !sleep.For(ctx, watchEvery/5) {
			return nil, nil, fmt.Errorf("store: %s is in use by another process whose server does not answer: %w", e.dir, ctx.Err())
		}
	}
}

// answers reports whether a server listens on the socket.
func (e *embedded) answers() bool {
	socket, err := readSocket(e.dir)
	if err != nil {
		return false
	}
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// start runs the server with an append-only file, which begins with a snapshot so that it loads
// fast. Separate snapshots would store the same data twice.
func (e *embedded) start(ctx context.Context, lock *os.File) (*redisserver.Server, error) {
	binary, err := redisserver.FindFor(ctx, e.opt.Getenv, e.dir)
	if err != nil {
		return nil, err
	}
	if err := writeSocket(lock, e.socket); err != nil {
		return nil, err
	}
	return redisserver.Start(ctx, redisserver.Options{
		Dir:    e.dir,
		Socket: e.socket,
		Binary: binary,
		Logger: e.log,
		Config: append(e.opt.maxMemoryConfig(),
			"appendonly yes",
			"appendfsync "+e.opt.Fsync,
			"aof-use-rdb-preamble yes",
			// By default a bulk load can leave a file of 60 MB for 18 MB of data, which takes
			// many seconds to load at the next start.
			"auto-aof-rewrite-min-size 16mb",
			"aof-load-truncated yes",
			`save ""`,
			// A backup requests a snapshot as a replica does: send it straight to the socket,
			// because there is no other replica to wait for.
			"repl-diskless-sync yes",
			"repl-diskless-sync-delay 0",
			// A follow takes 15 bytes in a small set and more than 100 in a large set. This is the
			// name of the option before 7.0, which newer servers also accept.
			"zset-max-ziplist-entries 512",
		),
		ExtraFiles: []*os.File{lock},
	})
}

// watch keeps a server running until ctx ends: it restarts the server of this process when the
// server dies, and takes over from another process once that process has ended.
func (e *embedded) watch(ctx context.Context, server *redisserver.Server, lock *os.File) {
	wait := minPause
	for {
		if server == nil {
			if server, lock = e.takeOver(ctx); server == nil {
				return
			}
		}
		began := time.Now()
		select {
		case <-ctx.Done():
			e.failed = e.end(server, lock)
			return
		case <-server.Done():
		}
		e.log.Warn("the server died; restarting it", "error", server.Err())
		if wait = min(2*wait, maxPause); time.Since(began) >= stableAfter {
			wait = minPause
		}
		sleep.For(ctx, wait)
		if server = e.revive(ctx, lock); server == nil {
			lock.Close()
			return
		}
	}
}

// takeOver waits until the owner of the server has ended, and then runs a server. It returns nil
// if ctx ends first.
func (e *embedded) takeOver(ctx context.Context) (*redisserver.Server, *os.File) {
	for sleep.For(ctx, watchEvery) {
		lock, err := tryLock(e.dir)
		if err != nil {
			e.log.Warn("cannot check whether the server still runs", "error", err)
			continue
		}
		if lock == nil {
			continue
		}
		e.log.Info("the process that ran the server has ended; taking over", "dir", e.dir)
		if server := e.revive(ctx, lock); server != nil {
			return server, lock
		}
		lock.Close()
	}
	return nil, nil
}

// revive tries to start the server until it runs. It returns nil if ctx ends first.
func (e *embedded) revive(ctx context.Context, lock *os.File) *redisserver.Server {
	for wait := minPause; ctx.Err() == nil; wait = min(2*wait, maxPause) {
		server, err := e.start(ctx, lock)
		if err == nil {
			return server
		}
		if ctx.Err() == nil {
			e.log.Error("the server does not start; retrying", "error", err, "in", wait.String())
		}
		sleep.For(ctx, wait)
	}
	return nil
}

// end stops the server of this process and unlocks the directory.
func (e *embedded) end(server *redisserver.Server, lock *os.File) error {
	if server == nil {
		return nil
	}
	defer lock.Close()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return server.Stop(ctx)
}

func (e *embedded) close() error {
	e.stop()
	e.watcher.Wait()
	return e.failed
}
