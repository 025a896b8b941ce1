// Package lock implements the retwis lock command.
package lock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
)

// New returns the retwis lock command.
func New(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "lock [flags] NAME -- COMMAND [ARG...]",
		Short: "Run a command under a lock that all machines share",
		Long: `Runs a command while it holds a lock, as flock does on one machine: another process that
locks the same name on the same servers waits or gives up, on whatever machine it runs.
The lock is extended as long as the command runs, and released when it ends. If the
machine dies, the name is free after --ttl.

With --node the lock is kept on several independent servers, such as three or five, and
a majority of them decides who holds it. Otherwise it is kept in the database of --redis.

The variable RETWIS_LOCK_NAME of the command has the name and, with --fencing,
RETWIS_LOCK_TOKEN has a number that grows with every lock of that name. Signals are passed
on to the command; while retwis waits for the lock, they end the wait. If the lock is lost,
because the servers could not be reached for too long, the command gets SIGTERM and, after
--grace, SIGKILL; so do all processes that it started, unless it runs at a terminal.

The same happens after --max-time: the lock is no longer extended, and the next process
gets it when the command has ended, or after --ttl. Without --max-time, a command that
hangs keeps the lock. --grace should be shorter than --ttl, so that the command has ended
before another command can get the lock.

If retwis itself is killed, by "kill -9" or for lack of memory, a guard, which is a second
process of retwis, ends the command before the name is free: with SIGTERM, and SIGKILL
after --grace, or after half of --ttl if that is shorter. The guard does not end processes
that started a session or process group of their own; at a terminal it ends only COMMAND.
If the guard is killed, too, COMMAND gets SIGTERM on Linux, and no signal elsewhere.

The lock is held until COMMAND itself ends: "sh -c 'job & exit 0'" releases it while the
job goes on. flock(1) would wait for the job.

A server that was started less than a --ttl ago may have lost its locks: until then it is
quarantined, and does not vote. If the servers have lost no locks, because they are new or
write each change to disk before they answer, --trust ends the quarantine: all servers of
--node vote at once, or with --trust URL... only those, even if other servers are down.

The exit code is that of the command (128 plus the signal that killed it), or
   75  the lock was not acquired; a message says why
   76  the lock was lost while the command ran
  124  the command ran for longer than --max-time, as from timeout(1)
  126  the command cannot be run, 127 it was not found
    1  it was stopped before the command started, or something else failed
    2  the flags or arguments are wrong
With --show the exit code is 0 if a majority of the servers has the lock, 1 if no majority
can have it, and 75 if too few servers answered, or vote, to decide; with --break 0 if the
name was held and is free now, 1 if it was not held or its key is not a lock of retwis, 75
if too few servers answered; with --health 0 if a majority of the servers votes, 75 if not.`,
		Example: `  retwis lock backup -- ./backup.sh
  retwis lock --node redis://a --node redis://b --node redis://c --no-wait nightly -- make report
  retwis lock --max-time 2h nightly -- make report
  retwis lock --fencing --ttl 30s import -- sh -c 'import --token "$RETWIS_LOCK_TOKEN"'
  retwis lock --node redis://a,redis://b,redis://c --show nightly
  retwis lock --node redis://a,redis://b,redis://c --health
  retwis lock --trust redis://c`,
		Args: func(*cobra.Command, []string) error { return nil }, // see lockFlags.check
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

// run runs the command, or the action that a flag selects.
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
		return trustServers(ctx, c, m, max(1, len(flags.nodes)))
	case flags.show:
		return showLock(ctx, c, m, args[0])
	case flags.watch:
		return watchLock(ctx, c, m, args[0])
	case flags.breaks:
		return breakLock(ctx, c, m, args[0])
	case flags.health:
		return showHealth(ctx, c, m)
	}
	// Signals are caught until the end, so that none is missed between the wait for the lock and
	// the start of the command.
	signals, stop := catchSignals()
	defer stop()
	// The guard starts before the wait for the lock. The grace period of the guard is limited
	// because the last extension before retwis is killed can be about a third of the TTL ago.
	guard, err := startGuard(min(flags.grace, flags.ttl/2))
	if err != nil {
		return err
	}
	defer guard.end()
	l, err := flags.acquire(ctx, c, m, args[0], signals)
	if err != nil {
		return err
	}
	locked := lockedCommand{program: program, args: args[1:], env: c.Env, grace: flags.grace, maxTime: flags.maxTime, guard: guard}
	return locked.run(ctx, l, signals)
}

// lookPath finds a program as a shell does.
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
