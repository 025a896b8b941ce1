package graph

import (
	"errors"
	"fmt"

	"retwis/index"
)

// ErrMemory is returned by a query that needs more memory than Query.Memory.
var ErrMemory = errors.New("the query needs too much memory")

// ErrTooMany is returned by a Set that would have to remove too many objects in one step.
var ErrTooMany = errors.New("too many objects to remove at once")

// invalid returns an error of an argument.
func invalid(format string, args ...any) error {
	return fmt.Errorf("graph: %w: %s", index.ErrValue, fmt.Sprintf(format, args...))
}

// SyntaxError describes what is wrong in the text of a query, and where. It is an
// index.ErrValue.
type SyntaxError struct {
	Column int // in characters, from 1
	Text   string
}

// Error returns the text with its place.
func (e *SyntaxError) Error() string { return fmt.Sprintf("graph: column %d: %s", e.Column, e.Text) }

// Unwrap returns index.ErrValue.
func (e *SyntaxError) Unwrap() error { return index.ErrValue }
