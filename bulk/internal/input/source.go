package input

import (
	"errors"
	"fmt"
	"io"

	"retwis/bulk/resp"
)

// Format is the format of an input.
type Format string

// The input formats.
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

// Place is the place of a command in an input.
type Place struct {
	Line       int64 // first line of the record; 0 for inputs without lines
	Record     int64 // number of the record, starting at 1; 0 for inputs without records
	Offset     int64 // offset of the first byte in the file
	InKey      bool  // restores a key of a snapshot; all commands of the key can be resent together
	Repeatable bool  // the command can be repeated, along with its transaction
	File       int   // number of the file, starting at 0
	Total      int64 // Offset, counted from the start of the first file
}

// Position is a place at which reading can resume: the number of bytes, lines and records before
// it. A source counts Offset from the start of its file, an Input from the start of the first file.
type Position struct{ Offset, Line, Record int64 }

// Where is a Position with the information needed to resume reading.
type Where struct {
	Position
	File    int   // number of the file, starting at 0
	Base    int64 // total size of the earlier files
	Format  Format
	Columns []string
}

// source returns the commands of a file in order.
type source interface {
	// Next stores the next command in f, valid until the following call, and returns its place. It
	// returns io.EOF at the end, and a *BadRecord for an error after which reading can continue.
	Next(f *resp.Frame) (Place, error)
	// End returns the position after the last command, or false if the same record has more
	// commands.
	End() (Position, bool)
	// Skipped returns the number of skipped records.
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
	// Start, if set, is where an earlier load stopped. It requires Digest.
	Start *Start
	// Interrupted, if set, returns an error once reading must stop.
	Interrupted func() error
	// SkipBad, if set, receives records that cannot be loaded, and reading continues.
	SkipBad func(*BadRecord) error
	// Redis6, if set, reports whether the commands are for a server before Redis 7.0.
	Redis6 func() bool
	// Database, if set, is the only database of a snapshot to read.
	Database *int

	passed func(offset int64) // called when no further command starts before offset; may be nil
}

// Start is where a load resumes according to a checkpoint.
type Start struct {
	Where
	SHA256 string // of the input before Position
}

// BadRecord is the error for a record that cannot be loaded. Reading can continue after it.
type BadRecord struct {
	resp.InputError
	Record int64
	Text   []byte // the record, or nil for a key
	Key    []byte // the key, if the input is a snapshot
	DB     int    // database of the key
}

// ErrOptions is the error for options that do not fit the input.
var ErrOptions = errors.New("invalid option")

// OptionError matches ErrOptions and has the reason.
type OptionError struct{ Text string }

func (e *OptionError) Error() string        { return "bulk: " + e.Text }
func (e *OptionError) Is(target error) bool { return target == ErrOptions }

// WrongOption returns an *OptionError with a formatted reason.
func WrongOption(format string, args ...any) error { return &OptionError{fmt.Sprintf(format, args...)} }

// NotEOF returns err, or nil for io.EOF.
func NotEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
