package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

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
			stop(errStopped)
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
		return nil, errStopped
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
	if isTerminal(cmd.ErrOrStderr()) {
		waiting := time.AfterFunc(time.Second, func() {
			fmt.Fprintf(cmd.ErrOrStderr(), "retwis: waiting for %q, %s; Ctrl-C gives up\n", name, whoHolds(ctx, m, name))
		})
		defer waiting.Stop()
	}
	return m.Lock(ctx, name)
}

// notHad gives the error of a lock that somebody else may have, so that to ask
// again makes sense, its exit code.
func notHad(err error) error {
	for _, reason := range []error{redlock.ErrHeld, redlock.ErrNoQuorum, errWaited} {
		if errors.Is(err, reason) {
			return &exitError{exitNotHad, err}
		}
	}
	return badName(err)
}

// badName makes wrong usage of a name that cannot be locked.
func badName(err error) error {
	if errors.Is(err, redlock.ErrName) {
		return &usageError{errors.New(oneLine(err))}
	}
	return err
}

// whoHolds says in a few words whom somebody who wants a name waits for.
func whoHolds(ctx context.Context, m *redlock.Manager, name string) string {
	s, err := statusOf(ctx, m, name)
	switch {
	case err != nil || s.Undecided:
		return "as too few servers answer"
	case !s.Held:
		return "which nobody holds, but others are first"
	}
	return fmt.Sprintf("which is held for another %v at least and waited for by %d", s.holder.TTL, s.holder.Waiters)
}
