// Package lock is the command retwis lock.
package lock

import (
	"errors"
	"fmt"
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

// Exit codes of retwis lock, beside that of the command that it runs.
const (
	exitNotHad        = 75 // EX_TEMPFAIL: try again later
	exitLost          = 76
	exitNotExecutable = 126 // as shells have it
	exitNotFound      = 127
)

// showTimeout is how long --show and the like wait for a server.
const showTimeout = time.Second

// openAgain is how long after a failure the database is opened again.
const openAgain = 250 * time.Millisecond

// lockFlags are the flags of retwis lock.
type lockFlags struct {
	redis                         string
	nodes, given                  []string // given may hold several, with commas
	ttl, wait, grace, nodeTimeout time.Duration
	maxTime                       time.Duration
	owner                         string
	noWait, fencing, js           bool
	// What is done in place of running a command.
	show, watch, breaks, health, trust bool
}

// mode returns the flag that says what is done in place of running a command, or "".
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
			return "", fmt.Errorf("%s and %s are two things: use one at a time", mode, f.name)
		case f.set:
			mode = f.name
		}
	}
	return mode, nil
}

func New(env shell.Env) *cobra.Command {
	var flags lockFlags
	cmd := &cobra.Command{
		Use:   "lock [flags] NAME -- COMMAND [ARG...]",
		Short: "Run a command under a lock that all machines share",
		Long: `Runs a command while it holds a lock, as flock does on one machine: whoever
wants the same name on the same servers, on any machine, waits or gives up. The
lock is extended as long as the command runs, and given back when it ends. If
the machine dies, the name is free after --ttl.

With --node the lock is kept on servers that know nothing of each other, three
or five of them, and held by whoever has it on a majority; else it is kept in
the database of --redis.

The command finds the name in RETWIS_LOCK_NAME and, with --fencing, a number that
grows with every lock of that name in RETWIS_LOCK_TOKEN. Signals are passed on to
it; while the lock is waited for they end the waiting. If the lock is lost, because
the servers could not be reached for too long, the command gets SIGTERM and, after
--grace, SIGKILL; so does all that it has started, unless it runs at a terminal.
The same happens after --max-time. Without that a command that hangs holds the lock
for as long as it hangs.

The lock is held until COMMAND itself ends: "sh -c 'job & exit 0'" gives it back while
the job goes on, where flock(1) would wait for the job.

A server that was started less than a --ttl ago may have forgotten locks: it is
quarantined, and does not vote until then. --trust says that the servers have not,
as they are new, or write each change to disk before they answer. It lets all
servers of --node vote at once, or with --trust URL... those, also while others are
down.

The exit code is that of the command (128 and the signal if one killed it), or
   75  the lock could not be had; one line says who said no
   76  the lock was lost while the command ran
  126  the command cannot be run, 127 it was not found
    1  it was stopped before the command began, or something else failed
    2  it was called in a wrong way
With --show it is 0 if a majority of the servers has the lock, 1 if none can have
it, and 75 if too few servers answered, or vote, to tell; with --break 0 if the name
was held and is free, 1 if nobody held it, 75 if too few servers answered; with
--health 0 if a majority of the servers votes, 75 if not.`,
		Example: `  retwis lock backup -- ./backup.sh
  retwis lock --node redis://a --node redis://b --node redis://c --no-wait nightly -- make report
  retwis lock --fencing --ttl 30s import -- sh -c 'import --token "$RETWIS_LOCK_TOKEN"'
  retwis lock --node redis://a,redis://b,redis://c --show nightly
  retwis lock --node redis://a,redis://b,redis://c --health
  retwis lock --trust redis://c`,
		Args: func(*cobra.Command, []string) error { return nil }, // see check
		RunE: func(cmd *cobra.Command, args []string) error {
			err := flags.settle(cmd.Flags().Changed)
			if err == nil {
				err = flags.check(args)
			}
			if err != nil {
				return shell.Usage(err)
			}
			return flags.run(cmd, env, args)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what comes after NAME is the command's
	f.StringVar(&flags.redis, "redis", "embedded:", "the `URL` of the database that keeps the lock, if no --node is given")
	// Not a StringSlice, which prints the passwords in what it cannot split.
	f.StringArrayVar(&flags.given, "node", nil, "the `URL` of one of several independent servers; repeat it, or put commas between them")
	f.DurationVar(&flags.ttl, "ttl", 10*time.Second, "how long the lock outlives a holder that dies")
	f.DurationVar(&flags.wait, "wait", 30*time.Second, "how long to wait for the lock")
	f.BoolVar(&flags.noWait, "no-wait", false, "ask once, and give up if somebody else has the lock")
	f.BoolVar(&flags.fencing, "fencing", false, "give the command a token that grows with every lock: RETWIS_LOCK_TOKEN")
	f.DurationVar(&flags.grace, "grace", 5*time.Second, "from SIGTERM to SIGKILL when the lock is lost")
	f.DurationVar(&flags.maxTime, "max-time", 0, "how long COMMAND may run at most: then it ends as if the lock was lost (default no limit)")
	f.StringVar(&flags.owner, "owner", "", "`text` that --show shows to others beside host and process, so no secrets (default the name of COMMAND)")
	f.DurationVar(&flags.nodeTimeout, "node-timeout", 0, "how long one server may take to answer (default 50ms, or a quarter of --ttl)")
	f.BoolVar(&flags.show, "show", false, "show who holds NAME, on which servers and for how long")
	f.BoolVar(&flags.watch, "watch", false, "show who holds NAME, and each change of it, until a signal")
	f.BoolVar(&flags.breaks, "break", false, "free NAME, whoever holds it, and let the next in line have it")
	f.BoolVar(&flags.health, "health", false, "show which servers vote, since when, and which --ttl is in use")
	f.BoolVar(&flags.trust, "trust", false, "let servers vote at once that were started recently; names of servers may follow")
	f.BoolVar(&flags.js, "json", false, "print what --show, --watch, --break and --health find as JSON")
	shell.FromEnv(cmd, env.Getenv, "show", "watch", "break", "health", "trust")
	return cmd
}

// settle refuses flags that contradict each other, and lets those on the command
// line win over variables that contradict them.
func (flags *lockFlags) settle(onCommandLine func(string) bool) error {
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
		return errors.New("--node and --redis are two places to keep the lock: use one")
	case onCommandLine("wait") && onCommandLine("no-wait") && flags.noWait:
		return errors.New("--wait and --no-wait contradict each other: use one")
	case flags.js && onCommandLine("json") && !flags.show && !flags.watch && !flags.breaks && !flags.health:
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

// check refuses arguments that do not go with the flags, and values out of range.
func (flags *lockFlags) check(args []string) error {
	mode, err := flags.mode()
	words := 2
	switch mode {
	case "--show", "--watch", "--break":
		words = 1
	case "--health", "--trust":
		words = 0
	}
	switch {
	case err != nil:
		return err
	case flags.health && len(args) > 0:
		return fmt.Errorf("--health takes no name, and %q is one", args[0])
	case flags.trust && len(args) > 0 && !strings.Contains(args[0], "://"):
		return fmt.Errorf("--trust takes the URLs of servers, and %q is none", args[0])
	case words == 1 && len(args) == 0:
		return fmt.Errorf("name the lock: retwis lock %s NAME", mode)
	case words > 0 && len(args) == 0:
		return errors.New("name the lock: retwis lock NAME -- COMMAND")
	case words > 0 && args[0] == "":
		return errors.New("the name of the lock is empty")
	case words == 1 && len(args) > 1:
		return fmt.Errorf("%s takes one name, and %q is more; flags come before the name", mode, args[1])
	case words == 2 && (len(args) == 1 || len(args) == 2 && args[1] == "--"):
		return fmt.Errorf("say what to run under %q: retwis lock NAME -- COMMAND", args[0])
	case words == 2 && len(args[1]) > 1 && args[1][0] == '-' && args[1] != "--":
		return fmt.Errorf("%q comes after the name: flags of retwis lock come before it, and the command after --", args[1])
	case flags.ttl < 10*time.Millisecond || flags.ttl%time.Millisecond != 0:
		return fmt.Errorf("--ttl is %v: it must be whole milliseconds, at least 10", flags.ttl)
	case flags.ttl > 24*time.Hour:
		return fmt.Errorf("--ttl is %v: it can be 24h at most; the lock is extended as long as the command runs", flags.ttl)
	case flags.wait < 0:
		return fmt.Errorf("--wait is %v: it cannot be negative", flags.wait)
	case flags.wait == 0 && !flags.noWait:
		return errors.New("--wait 0 is no time at all: use --no-wait to ask once")
	case flags.maxTime < 0:
		return fmt.Errorf("--max-time is %v: it cannot be negative", flags.maxTime)
	case flags.grace < 0:
		return fmt.Errorf("--grace is %v: it cannot be negative", flags.grace)
	case flags.nodeTimeout < 0:
		return fmt.Errorf("--node-timeout is %v: it cannot be negative", flags.nodeTimeout)
	}
	return nil
}

// run does what the flags ask for.
func (flags *lockFlags) run(cmd *cobra.Command, env shell.Env, args []string) (err error) {
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
	m, end, err := flags.open(cmd, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	switch {
	case flags.trust:
		return trustServers(cmd, m)
	case flags.show:
		return showLock(cmd, m, args[0], flags.js)
	case flags.watch:
		return watchLock(cmd, m, args[0], flags.js)
	case flags.breaks:
		return breakLock(cmd, m, args[0], flags.js)
	case flags.health:
		return showHealth(cmd, m, flags.js)
	}
	// From here to the end, so that none is missed between the waiting and the
	// command.
	signals, ignore := takeSignals()
	defer ignore()
	l, err := flags.lock(cmd, m, args[0], signals)
	if err != nil {
		return err
	}
	c := lockedCommand{program: program, args: args[1:], env: env, grace: flags.grace}
	return c.run(cmd.Context(), l, signals)
}

// lookPath finds a program as a shell does, before anybody waits for a lock.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil || errors.Is(err, exec.ErrDot):
		return path, nil
	case errors.Is(err, exec.ErrNotFound) || isNotExist(err):
		return "", shell.Exit(exitNotFound, fmt.Errorf("%s: not found", name))
	}
	return "", shell.Exit(exitNotExecutable, fmt.Errorf("%s: %w", name, errors.Unwrap(err)))
}

// open returns what locks, on the servers or in the database of the flags.
func (flags *lockFlags) open(cmd *cobra.Command, env shell.Env) (*redlock.Manager, func() error, error) {
	opt := redlock.Options{TTL: flags.ttl, NodeTimeout: flags.nodeTimeout, Fencing: flags.fencing, MaxHold: flags.maxTime, Owner: flags.owner}
	if mode, _ := flags.mode(); mode != "" && opt.NodeTimeout == 0 { // whoever looks wants to see all servers
		opt.NodeTimeout = min(showTimeout, flags.ttl/4)
	}
	if len(flags.nodes) > 0 {
		m, err := redlock.Dial(flags.nodes, opt)
		if err != nil {
			return nil, nil, shell.Usage(errors.New(shell.OneLine(err)))
		}
		return m, m.Close, nil
	}
	if err := cmd.Context().Err(); err != nil {
		return nil, nil, err
	}
	config, err := store.Parse(flags.redis)
	if err != nil {
		return nil, nil, err
	}
	db, err := flags.openDatabase(cmd, env, config.Kind)
	if err != nil {
		return nil, nil, err
	}
	m, err := redlock.New([]rueidis.Client{db.Client()}, opt)
	if err != nil {
		return nil, nil, errors.Join(shell.Usage(errors.New(shell.OneLine(err))), db.Close())
	}
	end := func() error { return errors.Join(m.Close(), db.Close()) }
	// An embedded server that was just started would let everybody wait for a
	// ttl, each time. It has its locks: when it ends with its owner it writes
	// all to its file, and a machine that dies takes with it all who can reach
	// the server. What remains is a server that is killed by itself while a slow
	// disk delays its file, which is a second or two behind then.
	if config.Kind == store.Embedded {
		if err := m.SkipQuarantine(cmd.Context()); err != nil {
			return nil, nil, errors.Join(err, end())
		}
	}
	return m, end, nil
}

// openDatabase opens the database of --redis. One that can fail over is waited for as
// the lock is: it may be about to.
func (flags *lockFlags) openDatabase(cmd *cobra.Command, env shell.Env, kind redisurl.Kind) (*store.Store, error) {
	patient := !flags.noWait && (kind == redisurl.Sentinel || kind == redisurl.Cluster)
	if mode, _ := flags.mode(); mode != "" {
		patient = false
	}
	said := false
	for begun := time.Now(); ; {
		db, err := store.Open(cmd.Context(), flags.redis, store.Options{Logger: shell.Quiet(cmd), Getenv: env.Getenv})
		passes := rediserr.Of(err) == rediserr.Unavailable || rediserr.Of(err) == rediserr.WritesRefused
		if err == nil || !patient || !passes || cmd.Context().Err() != nil {
			return db, err
		}
		if time.Since(begun) >= flags.wait {
			return nil, shell.Exit(exitNotHad, fmt.Errorf("%w (%w for %v)", err, errWaited, flags.wait))
		}
		if !said {
			said = true
			fmt.Fprintf(cmd.ErrOrStderr(), "retwis: waiting for the database: %s\n", shell.OneLine(err))
		}
		select {
		case <-time.After(openAgain):
		case <-cmd.Context().Done():
		}
	}
}

func trustServers(cmd *cobra.Command, m *redlock.Manager) error {
	if err := m.SkipQuarantine(cmd.Context()); err != nil {
		return err
	}
	_, nodes := m.Quorum()
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s from now on\n", shell.Plural(nodes, "server votes", "servers vote"))
	return err
}
