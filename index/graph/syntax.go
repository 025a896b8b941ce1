package graph

import (
	"fmt"

	"retwis/index"
)

// SyntaxError tells what is wrong in a text, and where. It is an index.ErrValue.
type SyntaxError struct {
	Line   int // from 1; 0 in a query, which has one
	Column int // in characters, from 1; 0: the line as a whole
	Text   string
}

// Error says it as people look for it.
func (e *SyntaxError) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("graph: column %d: %s", e.Column, e.Text)
	case e.Column == 0:
		return fmt.Sprintf("graph: line %d: %s", e.Line, e.Text)
	}
	return fmt.Sprintf("graph: line %d, column %d: %s", e.Line, e.Column, e.Text)
}

// Unwrap returns index.ErrValue.
func (e *SyntaxError) Unwrap() error { return index.ErrValue }
