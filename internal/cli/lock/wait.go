package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"retwis/internal/cli/shell"
	"retwis/redlock"
)

// catchSignals catches the signals to pass on to the command, except signals that retwis itself
// ignores: under nohup the command must ignore SIGHUP, too.
func catchSignals() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 8)
	for _, s := range []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	return signals, func() { signal.Stop(signals) }
}

// acquire waits for the lock, until --wait is over or a signal arrives.
func (flags *lockFlags) acquire(ctx context.Context, c *shell.Command, m *redlock.Manager, name string, signals <-chan os.Signal) (*redlock.Lock, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	requested, watcherEnded := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watcherEnded)
		select {
		case <-signals:
			stop(shell.ErrStopped)
		case <-requested:
		}
	}()
	l, err := flags.request(ctx, c, m, name)
	close(requested)
	<-watcherEnded
	if ctx.Err() != nil { // even if the lock was acquired at this moment
		if l != nil {
			_ = l.Unlock(context.WithoutCancel(ctx))
		}
		return nil, shell.ErrStopped
	}
	return l, notAcquired(err)
}

// request tries to acquire the lock once, or for up to --wait.
func (flags *lockFlags) request(ctx context.Context, c *shell.Command, m *redlock.Manager, name string) (*redlock.Lock, error) {
	if len(flags.nodes) > 1 {
		if err := checkKeys(ctx, m, name); err != nil {
			return nil, err
		}
	}
	if flags.noWait {
		return m.TryLock(ctx, name)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, flags.wait, fmt.Errorf("%w for %v", errWaited, flags.wait))
	defer cancel()
	explainCtx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { flags.explainWait(explainCtx, c, m, name) })
	defer wg.Wait()
	defer stop()
	return m.Lock(ctx, name)
}

// checkKeys returns an error if the key of the lock holds something else on one of several servers.
// Lock would find this, too, but only after other servers have granted the lock.
func checkKeys(ctx context.Context, m *redlock.Manager, name string) error {
	status, err := m.Status(ctx, name)
	for _, n := range status.Servers {
		if errors.Is(n.Err, redlock.ErrNotLock) {
			return fmt.Errorf("%q: %w (%s)", name, n.Err, n.Node)
		}
	}
	return err
}

const (
	// quarantineNotice is the delay before quarantined servers are reported: short, because a
	// quarantine is long.
	quarantineNotice = 100 * time.Millisecond
	// waitNotice is the delay before other reasons are reported on a terminal.
	waitNotice = time.Second
)

// explainWait prints why the lock has not been acquired yet. Quarantined servers and a command that
// waits for its own lock are always reported; other reasons only on a terminal. explainWait asks
// the servers again until enough of them have answered.
func (flags *lockFlags) explainWait(ctx context.Context, c *shell.Command, m *redlock.Manager, name string) {
	for after := quarantineNotice; ; after = waitNotice {
		select {
		case <-time.After(after):
		case <-ctx.Done():
			return
		}
		if c.Getenv("RETWIS_LOCK_NAME") == name {
			fmt.Fprintf(c.Stderr, "retwis: waiting for %q: this command already runs under a lock of that name, according to RETWIS_LOCK_NAME\n", name)
			return
		}
		status, err := m.Status(ctx, name)
		if ctx.Err() != nil {
			return
		}
		why := ""
		switch count, left := quarantined(status); {
		case count > 0:
			why = fmt.Sprintf("%d of %d servers are quarantined, because they were started recently and may have lost locks: "+
				"they vote in %v, or at once after retwis lock --trust if they have lost none", count, len(status.Servers), left.Round(100*time.Millisecond))
		case after == waitNotice && shell.IsTerminal(c.Stderr):
			why = describeHolder(status, err) + "; press Ctrl-C to give up"
		case shell.IsTerminal(c.Stderr) || err != nil || status.Undecided:
			continue
		default:
			return
		}
		fmt.Fprintf(c.Stderr, "retwis: waiting for %q: %s\n", name, why)
		return
	}
}

// quarantined returns how many servers are quarantined and how long it takes until a majority
// votes; both are 0 if a majority votes already.
func quarantined(status redlock.Status) (count int, left time.Duration) {
	var answered []time.Duration
	for _, n := range status.Servers {
		if n.Err == nil {
			answered = append(answered, n.Quarantined)
		}
		if n.Err == nil && n.Quarantined > 0 {
			count++
		}
	}
	slices.Sort(answered)
	if len(answered) >= status.Quorum {
		left = answered[status.Quorum-1]
	}
	if left == 0 {
		return 0, 0
	}
	return count, left
}

// describeHolder describes why a name cannot be locked.
func describeHolder(status redlock.Status, err error) string {
	switch {
	case status.Held:
		return fmt.Sprintf("it is held for at least another %v, and %s", status.Holder.TTL, shell.Plural(status.Holder.Waiters, "process waits", "processes wait"))
	case err != nil || status.Undecided:
		return "too few servers answer"
	}
	return "it is free, but other processes are first in the queue"
}
