package lock

import (
	"errors"

	"retwis/internal/cli/shell"
	"retwis/redlock"
)

// Exit codes of retwis lock, beside those of the command that it runs.
const (
	exitNotAcquired   = shell.ExitTryAgain
	exitLost          = 76
	exitMaxTime       = 124 // as of timeout(1)
	exitNotExecutable = 126 // as in shells
	exitNotFound      = 127
)

var errWaited = errors.New("waited")

// notAcquired returns the exit code for the error of a lock that another process may
// hold, so that it makes sense to try again.
func notAcquired(err error) error {
	for _, reason := range []error{redlock.ErrHeld, redlock.ErrNoQuorum, errWaited} {
		if errors.Is(err, reason) {
			return shell.Exit(exitNotAcquired, err)
		}
	}
	return badName(err)
}

// exitOfLost returns the exit code for the error of a lock that ended while the command
// ran.
func exitOfLost(err error) int {
	if errors.Is(err, redlock.ErrMaxHold) {
		return exitMaxTime
	}
	return exitLost
}

// badName returns wrong usage for a name that cannot be locked.
func badName(err error) error {
	if errors.Is(err, redlock.ErrName) {
		return shell.Usage(errors.New(shell.OneLine(err)))
	}
	return err
}
