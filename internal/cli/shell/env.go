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
)

// Env is what a command sees of the world.
type Env struct {
	Getenv  func(string) string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Version string // empty: what the build knows
	Commit  string // empty: what the build knows
}
