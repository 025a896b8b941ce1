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

	"retwis/internal/redisserver"
	"retwis/internal/redisurl"
)

// embedded is a server in a directory of ours: run by us, or by another process
// that opened the directory first.
type embedded struct {
	dir    string
	socket string
	opt    Options
	log    *slog.Logger

	stop    context.CancelFunc // of watcher
	watcher sync.WaitGroup
	failed  error // why the last server was not stopped cleanly; after watcher
}

const (
	// stopTimeout bounds the wait for a server that saves its data.
	stopTimeout = time.Minute
	// watchEvery is how often a process that has joined another's server
	// looks whether the other is gone.
	watchEvery = 500 * time.Millisecond
	// lastWords is how long a server whose owner is gone is given to end.
	lastWords = 2 * time.Second
	// maxJoins is how often joining a server that is there and yet does not
	// answer is tried.
	maxJoins = 20
	// quickest and slowest are the shortest and the longest pause before a
	// server that keeps dying is started again.
	quickest, slowest = 10 * time.Millisecond, 5 * time.Second
	// settled is how long a server has to live to be started again at once.
	settled = 10 * time.Second
)

// openEmbedded runs a server in the directory, or joins the one that runs
// there.
func openEmbedded(ctx context.Context, config redisurl.Config, opt Options) (*Store, error) {
	e := &embedded{dir: config.Dir, opt: opt, log: opt.Logger}
	if err := e.place(); err != nil {
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
	return &Store{client: client, option: option, where: e.dir, embedded: e}, nil
}

// connect enters the directory and connects to the server in it. A server that
// was joined may be ending with the process that ran it: then the next try
// finds the directory free.
func (e *embedded) connect(ctx context.Context) (*redisserver.Server, *os.File, rueidis.Client, error) {
	for try := 1; ; try++ {
		server, lock, err := e.enter(ctx)
		if err != nil {
			return nil, nil, nil, err
		}
		client, err := e.dial(ctx)
		if err == nil {
			if server == nil {
				e.log.Info("another process runs the server of the data directory; joined it", "dir", e.dir)
			}
			return server, lock, client, nil
		}
		if server != nil || try == maxJoins || ctx.Err() != nil {
			return nil, nil, nil, errors.Join(err, e.end(server, lock))
		}
		pause(ctx, watchEvery/5)
	}
}

// dial connects to the server of the directory, whoever runs it: after each
// change of owner its socket can be elsewhere.
func (e *embedded) dial(ctx context.Context) (rueidis.Client, error) {
	opt, err := e.option()
	if err != nil {
		return nil, err
	}
	client, err := reach(ctx, Embedded, opt)
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

// defaultDir is where the data is if nobody names a place.
func defaultDir(getenv func(string) string) (string, error) {
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

// place finds the directory, makes it ours alone, and finds the server.
func (e *embedded) place() error {
	var err error
	if e.dir == "" {
		if e.dir, err = defaultDir(e.opt.Getenv); err != nil {
			return err
		}
	}
	if e.dir, err = filepath.Abs(e.dir); err != nil {
		return fmt.Errorf("store: the data directory: %w", err)
	}
	if err := os.MkdirAll(e.dir, 0o700); err != nil {
		return fmt.Errorf("store: make the data directory: %w", err)
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

// enter takes the directory and starts the server, or returns neither where
// another process runs one that answers. A lock without an answer is an owner
// that has just died, or has just begun: either ends soon.
func (e *embedded) enter(ctx context.Context) (*redisserver.Server, *os.File, error) {
	began, told := time.Now(), false
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
		// A server whose owner was killed ends too, and answers for a moment more:
		// who joined it then would lose a command. Where it does not end, as
		// outside Linux, it is joined after all.
		dying := time.Since(began) < lastWords && orphaned(e.dir)
		if e.answers() && !dying {
			return nil, nil, nil
		}
		if !told && !dying {
			told = true
			e.log.Info("another process has the data directory; waiting for its server to answer or to end", "dir", e.dir)
		}
		if !pause(ctx, watchEvery/5) {
			return nil, nil, fmt.Errorf("store: %s is in use by another process whose server does not answer: %w", e.dir, ctx.Err())
		}
	}
}

// answers tells whether somebody listens at the socket.
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

// start runs the server. It keeps every write in an append-only file, which
// begins with a snapshot so that it loads fast; the snapshots that a server
// makes by itself would keep the same things twice.
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
		Config: []string{
			"appendonly yes",
			"appendfsync " + e.opt.Fsync,
			"aof-use-rdb-preamble yes",
			"aof-load-truncated yes",
			`save ""`,
		},
		ExtraFiles: []*os.File{lock},
	})
}

// watch keeps a server running until ctx ends: the one that we run is started
// again when it dies, and the one that another process runs is taken over when
// that process is gone.
func (e *embedded) watch(ctx context.Context, server *redisserver.Server, lock *os.File) {
	wait := quickest
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
		e.log.Warn("the server died and is started again", "error", server.Err())
		if wait = min(2*wait, slowest); time.Since(began) >= settled {
			wait = quickest
		}
		pause(ctx, wait)
		if server = e.revive(ctx, lock); server == nil {
			lock.Close()
			return
		}
	}
}

// takeOver waits until the process that runs the server is gone, and runs one.
// It returns nothing when ctx ends first.
func (e *embedded) takeOver(ctx context.Context) (*redisserver.Server, *os.File) {
	for pause(ctx, watchEvery) {
		lock, err := tryLock(e.dir)
		if err != nil {
			e.log.Warn("cannot see whether the server still runs", "error", err)
			continue
		}
		if lock == nil {
			continue
		}
		e.log.Info("the process that ran the server is gone; taking over", "dir", e.dir)
		if server := e.revive(ctx, lock); server != nil {
			return server, lock
		}
		lock.Close()
	}
	return nil, nil
}

// revive starts the server until it runs. It returns nil when ctx ends first.
func (e *embedded) revive(ctx context.Context, lock *os.File) *redisserver.Server {
	for wait := quickest; ctx.Err() == nil; wait = min(2*wait, slowest) {
		server, err := e.start(ctx, lock)
		if err == nil {
			return server
		}
		if ctx.Err() == nil {
			e.log.Error("the server does not start; trying again", "error", err, "in", wait.String())
		}
		pause(ctx, wait)
	}
	return nil
}

// end stops a server that is ours and gives the directory up.
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

// pause waits, and tells whether ctx still goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
