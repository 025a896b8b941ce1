// Package shell is what the commands of retwis share: environment, flags, input,
// tables, errors, progress and the opening of databases.
package shell

import (
	"io"
)

// Exit codes that scripts can rely on.
const (
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2
	// ExitTryAgain is that of a lock that is held, or of an event that a limit does not
	// allow now: EX_TEMPFAIL of sysexits.h.
	ExitTryAgain = 75
)

// Env is the environment of a command.
type Env struct {
	Getenv  func(string) string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Version string // empty: that of the build
	Commit  string // empty: that of the build
	// Toolkit is that of the commands of the toolkit, which keep out of the site: their database
	// and their variables are their own.
	Toolkit bool
}
