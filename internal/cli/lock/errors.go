package lock

import (
	"errors"

	"retwis/internal/cli/shell"
	"retwis/redlock"
)

// Exit codes of retwis lock, in addition to those of the command it runs.
const (
	exitNotAcquired   = shell.ExitTryAgain
	exitLost          = 76
	exitMaxTime       = 124 // as in timeout(1)
	exitNotExecutable = 126 // as in shells
	exitNotFound      = 127
)

// errWaited reports that the time of --wait is over.
var errWaited = errors.New("waited")

// notAcquired sets the exit code of an error from acquiring or breaking a lock. The code is
// exitNotAcquired if trying again can succeed.
func notAcquired(err error) error {
	for _, reason := range []error{redlock.ErrHeld, redlock.ErrNoQuorum, errWaited} {
		if errors.Is(err, reason) {
			return shell.Exit(exitNotAcquired, err)
		}
	}
	return badName(err)
}

// exitOfLost returns the exit code for a lock that ended while the command ran.
func exitOfLost(err error) int {
	if errors.Is(err, redlock.ErrMaxHold) {
		return exitMaxTime
	}
	return exitLost
}

// badName turns an error about a lock's name into a usage error.
func badName(err error) error {
	if errors.Is(err, redlock.ErrName) {
		return shell.Usage(errors.New(shell.OneLine(err)))
	}
	return err
}
