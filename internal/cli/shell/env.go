// Package shell holds what the retwis commands share: environment, flags, input, tables, errors,
// progress and opening databases.
package shell

import (
	"io"
)

// Exit codes that scripts can rely on.
const (
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2
	// ExitTryAgain means that a lock is held, or that a rate limit denies an event: EX_TEMPFAIL in
	// sysexits.h.
	ExitTryAgain = 75
)

// Env is the environment of a command.
type Env struct {
	Getenv  func(string) string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Version string // empty for the version of the build
	Commit  string // empty for the commit of the build
	// Toolkit is set for toolkit commands, which have a database and variables of their own,
	// separate from the site's.
	Toolkit bool
}
