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

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/redlock"
)

var errWaited = errors.New("waited")

// takeSignals takes the signals that are passed on to the command, but for those that
// retwis was told to ignore: a command under nohup ignores SIGHUP, too.
func takeSignals() (signals chan os.Signal, ignore func()) {
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

// lock waits for the lock as long as the flags say, or until a signal.
func (flags *lockFlags) lock(cmd *cobra.Command, m *redlock.Manager, name string, signals <-chan os.Signal) (*redlock.Lock, error) {
	ctx, stop := context.WithCancelCause(cmd.Context())
	defer stop(nil)
	watching, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-signals:
			stop(shell.ErrStopped)
		case <-watching:
		}
	}()
	l, err := flags.ask(ctx, cmd, m, name)
	close(watching)
	<-watched
	if ctx.Err() != nil { // also in the moment in which it was had
		if l != nil {
			_ = l.Unlock(context.WithoutCancel(ctx))
		}
		return nil, shell.ErrStopped
	}
	return l, notHad(err)
}

// ask asks once or waits.
func (flags *lockFlags) ask(ctx context.Context, cmd *cobra.Command, m *redlock.Manager, name string) (*redlock.Lock, error) {
	if flags.noWait {
		return m.TryLock(ctx, name)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, flags.wait, fmt.Errorf("%w for %v", errWaited, flags.wait))
	defer cancel()
	watching, stop := context.WithCancel(ctx)
	var watched sync.WaitGroup
	watched.Go(func() { flags.sayWhy(watching, cmd, m, name) })
	defer watched.Wait()
	defer stop()
	return m.Lock(ctx, name)
}

const (
	// quarantineNotice is when somebody who waits is told that the servers are
	// quarantined: soon, as it takes long.
	quarantineNotice = 100 * time.Millisecond
	// waitNotice is when a person is told what else is waited for.
	waitNotice = time.Second
)

// sayWhy says what is waited for, until the context ends: that servers are quarantined
// to everybody, else only to a person.
func (flags *lockFlags) sayWhy(ctx context.Context, cmd *cobra.Command, m *redlock.Manager, name string) {
	for _, notice := range []struct {
		after  time.Duration
		anyone bool
	}{{quarantineNotice, true}, {waitNotice - quarantineNotice, false}} {
		select {
		case <-time.After(notice.after):
		case <-ctx.Done():
			return
		}
		if !notice.anyone && !shell.IsTerminal(cmd.ErrOrStderr()) {
			return
		}
		status, err := m.Status(ctx, name)
		if ctx.Err() != nil {
			return
		}
		why := ""
		switch young, left := quarantined(status); {
		case err == nil && young > 0:
			why = fmt.Sprintf("%d of %d servers are quarantined, as they were started recently and may have lost locks: "+
				"they vote in %v, or at once after retwis lock --trust if they have not", young, len(status), left.Round(100*time.Millisecond))
		case !notice.anyone:
			why = whoHolds(status, err) + "; Ctrl-C gives up"
		default:
			continue
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "retwis: waiting for %q: %s\n", name, why)
		return
	}
}

// quarantined returns how many servers are quarantined, and how long it takes until a
// majority votes, if they are why it does not.
func quarantined(status redlock.Status) (young int, left time.Duration) {
	var answered []time.Duration
	for _, n := range status {
		if n.Err == nil {
			answered = append(answered, n.Quarantined)
		}
		if n.Err == nil && n.Quarantined > 0 {
			young++
		}
	}
	slices.Sort(answered)
	if quorum := len(status)/2 + 1; len(answered) >= quorum {
		left = answered[quorum-1]
	}
	if left == 0 {
		return 0, 0
	}
	return young, left
}

// notHad gives the error of a lock that somebody else may have, so that to ask
// again makes sense, its exit code.
func notHad(err error) error {
	for _, reason := range []error{redlock.ErrHeld, redlock.ErrNoQuorum, errWaited} {
		if errors.Is(err, reason) {
			return shell.Exit(exitNotHad, err)
		}
	}
	return badName(err)
}

// badName makes wrong usage of a name that cannot be locked.
func badName(err error) error {
	if errors.Is(err, redlock.ErrName) {
		return shell.Usage(errors.New(shell.OneLine(err)))
	}
	return err
}

// whoHolds says in a few words what somebody who wants a name waits for.
func whoHolds(status redlock.Status, err error) string {
	holder, held := status.Holder()
	switch {
	case held:
		return fmt.Sprintf("it is held for another %v at least, and %s", holder.TTL, shell.Plural(int(holder.Waiters), "process waits", "processes wait"))
	case err != nil || status.Undecided():
		return "too few servers answer"
	}
	return "nobody holds it, but others are first"
}
