package graph

import (
	"fmt"

	"retwis/index"
)

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
