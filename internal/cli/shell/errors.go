package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"retwis/internal/redis/rediserr"
)

// ErrReported is a failure that the command has already printed.
var ErrReported = errors.New("failed")

// ErrStopped means that a signal ended the command before its work was done.
var ErrStopped = errors.New("stopped before finishing")

// exitError sets the exit code of the program.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d: %v", e.code, e.err) }

func (e *exitError) Unwrap() error { return e.err }

// usageError is a usage error detected after the command has started.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

// hintedError is an error with a hint on a second line.
type hintedError struct {
	err  error
	hint string
}

func (e *hintedError) Error() string { return e.err.Error() }

func (e *hintedError) Unwrap() error { return e.err }

// PrintError prints the error of a command, unless it has already been printed, and returns the
// exit code. ctx is the context of the command.
func PrintError(ctx context.Context, stderr io.Writer, command string, err error) int {
	var usage *usageError
	var exit *exitError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &exit):
		if exit.err != nil {
			fmt.Fprintf(stderr, "retwis: %s\n", OneLine(exit.err))
		}
		return exit.code
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "retwis: %v\nSee %q.\n", err, command+" --help")
		return ExitUsage
	case errors.Is(err, ErrReported):
		return ExitFailure
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		fmt.Fprintf(stderr, "retwis: %v\n", ErrStopped)
		return ExitFailure
	}
	fmt.Fprintf(stderr, "retwis: %s\n", OneLine(err))
	var hinted *hintedError
	switch {
	case errors.As(err, &hinted):
		fmt.Fprintln(stderr, hinted.hint)
	case rediserr.IsWrongType(err):
		fmt.Fprintln(stderr, "A key of that name has another type, which redis-cli TYPE shows. Use another name or another database.")
	}
	return ExitFailure
}

// OneLine formats an error for people: joined errors on one line, without package prefixes.
func OneLine(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = rediserr.WithoutScript(withoutPackages(line))
	}
	return strings.Join(lines, "; ")
}

func withoutPackages(text string) string {
	for {
		head, rest, ok := strings.Cut(text, ": ")
		switch head {
		case "store", "redisserver", "owner", "social", "web", "seed", "redlock", "bulk", "index", "suggest", "text", "graph", "space", "model", "collection", "backup", "snapshot":
		default:
			ok = false
		}
		if !ok {
			return text
		}
		text = rest
	}
}

// Usage returns a usage error. The program points to the help and exits with ExitUsage.
func Usage(err error) error { return &usageError{err} }

// IsUsage reports whether err is a usage error.
func IsUsage(err error) bool {
	var usage *usageError
	return errors.As(err, &usage)
}

// Hint returns err with a second line that says what to do.
func Hint(err error, hint string) error { return &hintedError{err, hint} }

// Exit returns an error that makes the program print err, unless err is nil, and exit with code.
func Exit(code int, err error) error { return &exitError{code, err} }
