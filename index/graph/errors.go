package graph

import (
	"errors"
	"fmt"

	"retwis/index"
)

// ErrMemory is returned if a query needs more memory than Query.Memory.
var ErrMemory = errors.New("the query needs too much memory")

// invalid returns the error for an invalid argument.
func invalid(format string, args ...any) error {
	return fmt.Errorf("graph: %w: %s", index.ErrValue, fmt.Sprintf(format, args...))
}

// syntaxError describes an error in the text of a query or in a line of triples, and its
// position. It wraps index.ErrValue.
type syntaxError struct {
	Column int // in characters, from 1; 0 for the whole text
	Text   string
}

// Error returns the text with its position.
func (e *syntaxError) Error() string {
	if e.Column == 0 {
		return "graph: " + e.Text
	}
	return fmt.Sprintf("graph: column %d: %s", e.Column, e.Text)
}

// Unwrap returns index.ErrValue.
func (e *syntaxError) Unwrap() error { return index.ErrValue }
