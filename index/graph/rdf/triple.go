package rdf

import (
	"fmt"

	"retwis/index"
)

// MaxName is the maximum length of a name, in bytes.
const MaxName = 64 << 10

// Triple is a subject, a predicate and an object, each a name of 1 to MaxName
// bytes. A graph.Triple converts to it, and back.
type Triple struct{ S, P, O string }

// part returns a pointer to the subject, the predicate or the object.
func (t *Triple) part(i int) *string { return [3]*string{&t.S, &t.P, &t.O}[i] }

// lengthError describes a name that is empty or too long, or returns "".
func lengthError(i int, name string) string {
	if len(name) > 0 && len(name) <= MaxName {
		return ""
	}
	part := [3]string{"subject", "predicate", "object"}[i]
	return fmt.Sprintf("the %s has %d bytes: it must have from 1 to %d", part, len(name), MaxName)
}

// SyntaxError describes an invalid line. It is an index.ErrValue.
type SyntaxError struct {
	Line   int // from 1
	Column int // in characters, from 1; 0: the line as a whole
	Text   string
}

// Error returns the text with its place.
func (e *SyntaxError) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("rdf: line %d: %s", e.Line, e.Text)
	}
	return fmt.Sprintf("rdf: line %d, column %d: %s", e.Line, e.Column, e.Text)
}

// Unwrap returns index.ErrValue.
func (e *SyntaxError) Unwrap() error { return index.ErrValue }

// invalid returns an error of an argument or an input.
func invalid(format string, args ...any) error {
	return fmt.Errorf("rdf: %w: %s", index.ErrValue, fmt.Sprintf(format, args...))
}
