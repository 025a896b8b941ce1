package cli

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"retwis/internal/social"
)

// errTold is a failure that the command has reported by itself.
var errTold = errors.New("failed")

// errStopped is a signal that came before the work was done.
var errStopped = errors.New("stopped before it was done")

// exitError ends the program with a code of its own, and tells err if there is one.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d: %v", e.code, e.err) }
func (e *exitError) Unwrap() error { return e.err }

// usageError is a command that was called in a way it does not know, found out
// only after it began.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// hintedError is an error and a second line that says what can be done.
type hintedError struct {
	err  error
	hint string
}

func (e *hintedError) Error() string { return e.err.Error() }
func (e *hintedError) Unwrap() error { return e.err }

// inWords words input that the site would refuse as this program words what is
// wrong: there it is a sentence beside a field.
func inWords(err error) error {
	var invalid *social.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	first, size := utf8.DecodeRuneInString(invalid.Reason)
	reason := string(unicode.ToLower(first)) + strings.TrimSuffix(invalid.Reason[size:], ".")
	return fmt.Errorf("%s: %s", invalid.Field, reason)
}

// oneLine words an error for a person: without the names of packages before
// each of the errors that may be joined in it.
func oneLine(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = withoutPackages(line)
	}
	return strings.Join(lines, "; ")
}

func withoutPackages(text string) string {
	for {
		head, rest, ok := strings.Cut(text, ": ")
		switch head {
		case "store", "redisserver", "social", "web", "seed", "redlock", "bulk", "index", "suggest", "graph", "space", "model":
		default:
			ok = false
		}
		if !ok {
			return text
		}
		text = rest
	}
}
