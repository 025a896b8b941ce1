// Package lock is the command retwis lock.
package lock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/rediserr"
	"retwis/internal/redisurl"
	"retwis/internal/store"
	"retwis/redlock"
)

// Exit codes of retwis lock, beside those of the command that it runs.
const (
	exitNotAcquired   = 75 // EX_TEMPFAIL: try again later
	exitLost          = 76
	exitNotExecutable = 126 // as in shells
	exitNotFound      = 127
)

// showTimeout is how long --show, --watch, --break and --health wait for a server.
const showTimeout = time.Second

// reopenPause is the pause between two attempts to open the database.
const reopenPause = 250 * time.Millisecond

// lockFlags are the flags of retwis lock.
type lockFlags struct {
	nodes, given                  []string // given may hold several URLs, separated by commas
	ttl, wait, grace, nodeTimeout time.Duration
	maxTime                       time.Duration
	owner                         string
	noWait, fencing               bool
	// What to do instead of running a command.
	show, watch, breaks, health, trust bool
}

// mode returns the flag that replaces running a command, or "".
func (flags *lockFlags) mode() (string, error) {
	mode := ""
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"--show", flags.show},
		{"--watch", flags.watch},
		{"--break", flags.breaks},
		{"--health", flags.health},
		{"--trust", flags.trust},
	} {
		switch {
		case f.set && mode != "":
			return "", fmt.Errorf("%s and %s cannot be combined: use one at a time", mode, f.name)
		case f.set:
			mode = f.name
		}
	}
	return mode, nil
}

// New returns retwis lock.
func New(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "lock [flags] NAME -- COMMAND [ARG...]",
		Short: "Run a command under a lock that all machines share",
		Long: `Runs a command while it holds a lock, as flock does on one machine: another process that
wants the same name on the same servers waits or gives up, whatever machine it runs on.
The lock is extended as long as the command runs, and released when it ends. If the
machine dies, the name is free after --ttl.

With --node the lock is kept on independent servers, three or five of them, and held by
the process that has it on a majority; otherwise it is kept in the database of --redis.

The command finds the name in RETWIS_LOCK_NAME and, with --fencing, a number that grows
with every lock of that name in RETWIS_LOCK_TOKEN. Signals are passed on to it; while
retwis waits for the lock, they end the waiting. If the lock is lost, because the servers
could not be reached for too long, the command gets SIGTERM and, after --grace, SIGKILL;
so do all processes that it started, unless it runs at a terminal. The same happens after
--max-time. Without that, a command that hangs holds the lock for as long as it hangs.

The lock is held until COMMAND itself ends: "sh -c 'job & exit 0'" releases it while the
job goes on, where flock(1) would wait for the job.

A server that was started less than a --ttl ago may have lost its locks: until then it is
quarantined, and does not vote. --trust says that the servers have lost none, because
they are new or write each change to disk before they answer. It lets all servers of
--node vote at once, or with --trust URL... only those, even if other servers are down.

The exit code is that of the command (128 plus the signal that killed it), or
   75  the lock was not acquired; a line says why
   76  the lock was lost while the command ran
  126  the command cannot be run, 127 it was not found
    1  it was stopped before the command started, or something else failed
    2  the flags or arguments are wrong
With --show it is 0 if a majority of the servers has the lock, 1 if no majority can have
it, and 75 if too few servers answered, or vote, to decide; with --break 0 if the name
was held and is free now, 1 if it was not held, 75 if too few servers answered; with
--health 0 if a majority of the servers votes, 75 if not.`,
		Example: `  retwis lock backup -- ./backup.sh
  retwis lock --node redis://a --node redis://b --node redis://c --no-wait nightly -- make report
  retwis lock --fencing --ttl 30s import -- sh -c 'import --token "$RETWIS_LOCK_TOKEN"'
  retwis lock --node redis://a,redis://b,redis://c --show nightly
  retwis lock --node redis://a,redis://b,redis://c --health
  retwis lock --trust redis://c`,
		Args: func(*cobra.Command, []string) error { return nil }, // see check
	})
	var flags lockFlags
	flags.add(c)
	return c.Build(func(ctx context.Context, args []string) error {
		err := flags.resolve(c.Flags().Changed, c.JSON)
		if err == nil {
			err = flags.check(args)
		}
		if err != nil {
			return shell.Usage(err)
		}
		return flags.run(ctx, c, args)
	})
}

func (flags *lockFlags) add(c *shell.Command) {
	f := c.Flags()
	f.SetInterspersed(false) // what comes after NAME belongs to the command
	c.AddRedis()
	f.Lookup("redis").Usage = "the `URL` of the database that keeps the lock, if no --node is given"
	// Not a StringSlice, which prints the passwords in what it cannot split.
	f.StringArrayVar(&flags.given, "node", nil, "the `URL` of one of several independent servers; repeat it, or separate them by commas")
	f.DurationVar(&flags.ttl, "ttl", 10*time.Second, "how long the lock outlives a holder that dies")
	f.DurationVar(&flags.wait, "wait", 30*time.Second, "how long to wait for the lock")
	f.BoolVar(&flags.noWait, "no-wait", false, "try once, and give up if the lock is held")
	f.BoolVar(&flags.fencing, "fencing", false, "give the command a token that grows with every lock: RETWIS_LOCK_TOKEN")
	f.DurationVar(&flags.grace, "grace", 5*time.Second, "the time from SIGTERM to SIGKILL when the lock is lost")
	f.DurationVar(&flags.maxTime, "max-time", 0, "how long COMMAND may run; then it ends as if the lock was lost (default no limit)")
	f.StringVar(&flags.owner, "owner", "", "a `text` that --show prints with the host and process, so no secrets (default the name of COMMAND)")
	f.DurationVar(&flags.nodeTimeout, "node-timeout", 0, "how long to wait for the answer of one server (default 50ms, or a quarter of --ttl)")
	f.BoolVar(&flags.show, "show", false, "show who holds NAME, on which servers and for how long")
	f.BoolVar(&flags.watch, "watch", false, "show who holds NAME, and each change of it, until a signal")
	f.BoolVar(&flags.breaks, "break", false, "free NAME, whichever process holds it, and let the next one have it")
	f.BoolVar(&flags.health, "health", false, "show which servers vote, since when, and which --ttl is in use")
	f.BoolVar(&flags.trust, "trust", false, "let recently started servers vote at once; URLs of servers may follow")
	c.AddJSON("print the result of --show, --watch, --break or --health as JSON")
	c.FromEnv("show", "watch", "break", "health", "trust")
}

// resolve refuses flags that contradict each other, and lets those on the command line
// win over variables that contradict them.
func (flags *lockFlags) resolve(onCommandLine func(string) bool, json bool) error {
	for _, urls := range flags.given {
		for url := range strings.SplitSeq(urls, ",") {
			if url = strings.TrimSpace(url); url != "" {
				flags.nodes = append(flags.nodes, url)
			}
		}
	}
	switch {
	case len(flags.given) > 0 && len(flags.nodes) == 0:
		return errors.New("--node names no server")
	case onCommandLine("node") && onCommandLine("redis"):
		return errors.New("--node and --redis both say where to keep the lock: use one")
	case onCommandLine("wait") && onCommandLine("no-wait") && flags.noWait:
		return errors.New("--wait and --no-wait contradict each other: use one")
	case json && onCommandLine("json") && !flags.show && !flags.watch && !flags.breaks && !flags.health:
		return errors.New("--json goes with --show, --watch, --break and --health")
	}
	if onCommandLine("redis") {
		flags.nodes = nil
	}
	if onCommandLine("wait") {
		flags.noWait = false
	}
	return nil
}

// check refuses arguments that do not match the flags, and values out of range.
func (flags *lockFlags) check(args []string) error {
	mode, err := flags.mode()
	least := 2
	switch mode {
	case "--show", "--watch", "--break":
		least = 1
	case "--health", "--trust":
		least = 0
	}
	switch {
	case err != nil:
		return err
	case flags.health && len(args) > 0:
		return fmt.Errorf("--health takes no name, not even %q", args[0])
	case flags.trust && len(args) > 0 && !strings.Contains(args[0], "://"):
		return fmt.Errorf("--trust takes the URLs of servers, not %q", args[0])
	case least == 1 && len(args) == 0:
		return fmt.Errorf("name the lock: retwis lock %s NAME", mode)
	case least > 0 && len(args) == 0:
		return errors.New("name the lock: retwis lock NAME -- COMMAND")
	case least > 0 && args[0] == "":
		return errors.New("the name of the lock is empty")
	case least == 1 && len(args) > 1:
		return fmt.Errorf("%s takes one name, and %q is one too many; flags come before the name", mode, args[1])
	case least == 2 && (len(args) == 1 || len(args) == 2 && args[1] == "--"):
		return fmt.Errorf("say what to run under %q: retwis lock NAME -- COMMAND", args[0])
	case least == 2 && len(args[1]) > 1 && args[1][0] == '-' && args[1] != "--":
		return fmt.Errorf("%q comes after the name: flags of retwis lock come before it, and the command after --", args[1])
	case flags.ttl < 10*time.Millisecond || flags.ttl%time.Millisecond != 0:
		return fmt.Errorf("--ttl is %v: it must be whole milliseconds, at least 10", flags.ttl)
	case flags.ttl > 24*time.Hour:
		return fmt.Errorf("--ttl is %v: it can be 24h at most; the lock is extended as long as the command runs", flags.ttl)
	case flags.wait < 0:
		return fmt.Errorf("--wait is %v: it cannot be negative", flags.wait)
	case flags.wait == 0 && !flags.noWait:
		return errors.New("--wait must be more than 0: use --no-wait to try once")
	case flags.maxTime < 0:
		return fmt.Errorf("--max-time is %v: it cannot be negative", flags.maxTime)
	case flags.grace < 0:
		return fmt.Errorf("--grace is %v: it cannot be negative", flags.grace)
	case flags.nodeTimeout < 0:
		return fmt.Errorf("--node-timeout is %v: it cannot be negative", flags.nodeTimeout)
	}
	return nil
}

// run does what the flags say.
func (flags *lockFlags) run(ctx context.Context, c *shell.Command, args []string) (err error) {
	if flags.trust && len(args) > 0 {
		flags.nodes, args = args, nil
	}
	if len(args) > 1 && args[1] == "--" {
		args = append(args[:1:1], args[2:]...)
	}
	var program string
	if len(args) > 1 {
		if program, err = lookPath(args[1]); err != nil {
			return err
		}
	}
	if flags.owner == "" && len(args) > 1 {
		flags.owner = strconv.QuoteToGraphic(filepath.Base(args[1]))
		flags.owner = flags.owner[1:min(len(flags.owner)-1, 200)]
	}
	m, end, err := flags.open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	switch {
	case flags.trust:
		return trustServers(ctx, c, m)
	case flags.show:
		return showLock(ctx, c, m, args[0])
	case flags.watch:
		return watchLock(ctx, c, m, args[0])
	case flags.breaks:
		return breakLock(ctx, c, m, args[0])
	case flags.health:
		return showHealth(ctx, c, m)
	}
	// Signals are taken until the end, so that none is missed between the waiting
	// and the command.
	signals, ignore := takeSignals()
	defer ignore()
	l, err := flags.acquire(ctx, c, m, args[0], signals)
	if err != nil {
		return err
	}
	locked := lockedCommand{program: program, args: args[1:], env: c.Env, grace: flags.grace}
	return locked.run(ctx, l, signals)
}

// lookPath finds a program as a shell does, before the waiting for the lock.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil || errors.Is(err, exec.ErrDot):
		return path, nil
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		return "", shell.Exit(exitNotFound, fmt.Errorf("%s: not found", name))
	}
	return "", shell.Exit(exitNotExecutable, fmt.Errorf("%s: %w", name, errors.Unwrap(err)))
}

// open returns a lock manager on the servers, or on the database, of the flags.
func (flags *lockFlags) open(ctx context.Context, c *shell.Command) (*redlock.Manager, func() error, error) {
	opt := redlock.Options{TTL: flags.ttl, NodeTimeout: flags.nodeTimeout, Fencing: flags.fencing, MaxHold: flags.maxTime, Owner: flags.owner}
	if mode, _ := flags.mode(); mode != "" && opt.NodeTimeout == 0 { // show slow servers, too
		opt.NodeTimeout = min(showTimeout, flags.ttl/4)
	}
	if len(flags.nodes) > 0 {
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
	// An embedded server was often just started, and would be quarantined each time.
	// It still has its locks: it writes all to its file when it ends with its owner,
	// and a machine that dies takes all clients of the server with it. What remains
	// is a server that is killed alone while a slow disk delays its file by a second
	// or two.
	if config.Kind == store.Embedded {
		if err := m.SkipQuarantine(ctx); err != nil {
			return nil, nil, errors.Join(err, end())
		}
	}
	return m, end, nil
}

// openDatabase opens the database of --redis. One that can fail over may be about to,
// so opening it is retried for as long as --wait.
func (flags *lockFlags) openDatabase(ctx context.Context, c *shell.Command, kind redisurl.Kind) (*store.Store, error) {
	retry := !flags.noWait && (kind == redisurl.Sentinel || kind == redisurl.Cluster)
	if mode, _ := flags.mode(); mode != "" {
		retry = false
	}
	reported := false
	for start := time.Now(); ; {
		db, err := store.Open(ctx, c.Redis, store.Options{Logger: c.Log(), Getenv: c.Getenv})
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

func trustServers(ctx context.Context, c *shell.Command, m *redlock.Manager) error {
	if err := m.SkipQuarantine(ctx); err != nil {
		return err
	}
	_, nodes := m.Quorum()
	_, err := fmt.Fprintf(c.Stdout, "%s from now on\n", shell.Plural(nodes, "server votes", "servers vote"))
	return err
}
