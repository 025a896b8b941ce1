package input

import (
	"errors"
	"fmt"

	"retwis/bulk/resp"
)

// Format is the format of an input.
type Format string

// The formats.
const (
	Auto     Format = ""
	RESP     Format = "resp"
	Commands Format = "commands"
	CSV      Format = "csv"
	TSV      Format = "tsv"
	NDJSON   Format = "ndjson"
)

// Place is where a command comes from.
type Place struct {
	Line   int64 // the first line of its record; 0 for inputs without lines
	Record int64 // starting at 1; 0 for inputs without records
	Offset int64 // of its first byte
}

// Position is a place at which reading can resume: what lies before it.
type Position struct{ Offset, Line, Record int64 }

// source returns the commands of an input one after another.
type source interface {
	// Next makes f the next command, valid until the following call, and returns its
	// place. It returns io.EOF at the end.
	Next(f *resp.Frame) (Place, error)
	// End returns the position after the last command, or false if there are more
	// commands of the same record.
	End() (Position, bool)
	// Skipped returns the number of records that were skipped.
	Skipped() int64
}

// Options describe an input.
type Options struct {
	Format        Format
	Do            []*Template
	Columns       []string
	SkipIfMissing []string
	// Digest computes the digest of the input, for a checkpoint.
	Digest bool
	// Start, if set, is where an earlier load stopped; it requires Digest.
	Start *Start
}

// Start is where a checkpoint says that a load has to resume.
type Start struct {
	Position
	SHA256  string // of the input before Position
	Format  Format
	Columns []string
}

// ErrOptions is the error of options that do not fit the input.
var ErrOptions = errors.New("an option is wrong")

// OptionError is an ErrOptions with the reason.
type OptionError struct{ Text string }

func (e *OptionError) Error() string        { return "bulk: " + e.Text }
func (e *OptionError) Is(target error) bool { return target == ErrOptions }

// WrongOption returns an OptionError.
func WrongOption(format string, args ...any) error { return &OptionError{fmt.Sprintf(format, args...)} }
