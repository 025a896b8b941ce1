package input

import (
	"errors"
	"fmt"
	"io"

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
	JSON     Format = "json"
	RDB      Format = "rdb"
)

// File is one of the files of an input, documented as bulk.File.
type File struct {
	Name        string
	Format      Format
	Open        func() (io.ReadCloser, error)
	MayEndEarly bool
}

// Place is where a command comes from.
type Place struct {
	Line   int64 // the first line of its record; 0 for inputs without lines
	Record int64 // starting at 1; 0 for inputs without records
	Offset int64 // of its first byte, in its file
	InKey  bool  // it belongs to a key of a snapshot, all of whose commands can be repeated together
	Again  bool  // it can be repeated, in its transaction if it has one
	File   int   // the number of the file
	Total  int64 // Offset, counted from the first file on
}

// Position is a place at which reading can resume: what lies before it. A source counts
// Offset from the beginning of its file, an Input from the first file on.
type Position struct{ Offset, Line, Record int64 }

// Where is a Position with what is needed to resume there.
type Where struct {
	Position
	File    int   // the number of the file, starting at 0
	Base    int64 // the size of the files before it
	Format  Format
	Columns []string
}

// source returns the commands of a file one after another.
type source interface {
	// Next makes f the next command, valid until the following call, and returns its
	// place. It returns io.EOF at the end, and a *BadRecord where reading can go on.
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
	// Interrupted, if set, returns an error once reading has to stop.
	Interrupted func() error
	// SkipBad, if set, receives records that cannot be loaded, and reading goes on.
	SkipBad func(*BadRecord) error
	// Redis6, if set, reports whether the commands are for a server before Redis 7.0.
	Redis6 func() bool
	// Database, if set, is the only database of a snapshot that is read.
	Database *int

	passed func(offset int64) // of Input; nil: not needed
}

// Start is where a checkpoint says that a load has to resume.
type Start struct {
	Where
	SHA256 string // of the input before Position
}

// BadRecord is a record that cannot be loaded. Reading can go on after it.
type BadRecord struct {
	resp.InputError
	Record int64
	Text   []byte // the record, nil for a key
	Key    []byte // of a snapshot
	DB     int    // of the key
}

// ErrOptions is the error of options that do not fit the input.
var ErrOptions = errors.New("an option is wrong")

// OptionError is an ErrOptions with the reason.
type OptionError struct{ Text string }

func (e *OptionError) Error() string        { return "bulk: " + e.Text }
func (e *OptionError) Is(target error) bool { return target == ErrOptions }

// WrongOption returns an OptionError.
func WrongOption(format string, args ...any) error { return &OptionError{fmt.Sprintf(format, args...)} }

// NotEOF returns err, or nil for io.EOF.
func NotEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
