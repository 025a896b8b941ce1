package text

import (
	"errors"
	"fmt"

	"retwis/index"
)

var (
	// ErrConflict is returned by a write whose text is not the one that the index has:
	// another writer was first. Read the document again and repeat the write with what
	// is there now. Nothing has changed in the index.
	ErrConflict = errors.New("the index has another text of the document: read it again")
	// ErrRemoved is an ErrConflict of a document that was removed. Its id stays marked,
	// so that a late Put of interrupted work does not bring it back.
	ErrRemoved = fmt.Errorf("%w: it was removed", ErrConflict)
	// ErrNoTexts is an index.ErrValue of a query with a phrase where Options.Text is not set.
	ErrNoTexts = invalid("phrases need Options.Text")
)

// invalid returns an error of an argument.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", index.ErrValue, fmt.Sprintf(format, args...))
}
