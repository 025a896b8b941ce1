package bulk

import (
	"errors"
	"fmt"

	"retwis/bulk/internal/input"
	"retwis/bulk/resp"
)

// Errors that a caller can act on, besides *[InputError].
var (
	// ErrLost is returned when a connection was lost and could not be restored, or was lost while
	// commands were in flight that must not be sent twice.
	ErrLost = errors.New("the connection was lost")
	// ErrOptions is returned for options that are out of range or do not fit the input.
	ErrOptions = input.ErrOptions
	// ErrFailed is returned when a command failed and Options.FailFast is set, or when a SELECT
	// failed.
	ErrFailed = errors.New("a command failed")
)

// InputError describes a fault in an input and its position. See [resp.InputError].
type InputError = resp.InputError

// lostError matches ErrLost and wraps its cause.
type lostError struct{ err error }

func (e *lostError) Error() string        { return "bulk: " + e.err.Error() }
func (e *lostError) Unwrap() error        { return e.err }
func (e *lostError) Is(target error) bool { return target == ErrLost }

// lost wraps err in a lostError.
func lost(err error) error { return &lostError{err} }

// selectError matches ErrFailed and names the database that cannot be selected.
type selectError struct{ text string }

func (e *selectError) Error() string        { return "bulk: " + e.text }
func (e *selectError) Is(target error) bool { return target == ErrFailed }

// inputError returns err as an *InputError for command number no at place p.
func inputError(in *input.Input, p input.Place, no int64, err error) error {
	return &InputError{File: in.Name(), Offset: p.Offset, Line: p.Line, Msg: fmt.Sprintf("command %d: %v", no, err)}
}

// endError returns err as an *InputError for an input that ends at place p.
func endError(in *input.Input, p input.Place, err error) error {
	return &InputError{File: in.Name(), Offset: p.Offset, Line: p.Line, Msg: err.Error()}
}
