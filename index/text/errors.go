package text

import (
	"errors"
	"fmt"

	"retwis/index"
)

var (
	// ErrConflict is returned by a write if the index has a different text: another writer was
	// first. Nothing has changed in the index. Read the document again and repeat the write
	// with its current text.
	ErrConflict = errors.New("the document has changed in the index: read it again")
	// ErrRemoved is an ErrConflict for a removed document. Its id stays marked, so that a late
	// Put of interrupted work does not restore it.
	ErrRemoved = fmt.Errorf("%w: it was removed", ErrConflict)
	// ErrNoTexts is an index.ErrValue for a query with a phrase if Options.Text is not set.
	ErrNoTexts = invalid("phrases need Options.Text")
)

// invalid returns the error for an invalid argument.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", index.ErrValue, fmt.Sprintf(format, args...))
}
