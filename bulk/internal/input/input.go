// Package input reads commands from Redis' protocol, commands as they are typed, CSV, TSV
// and NDJSON, compressed or not.
package input

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

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

// Input is an open input.
type Input struct {
	source
	Format  Format
	Columns []string  // of CSV and TSV
	Digest  *Digester // nil without Options.Digest

	async  *async
	unpack io.Closer
}

// Open detects the format of r and goes to opt.Start. It counts the bytes it reads in
// count and calls wait whenever r, unless it is a regular file, has no data yet.
func Open(r io.Reader, opt Options, count *atomic.Int64, wait Waiter) (*Input, error) {
	in := &Input{Format: opt.Format, Columns: opt.Columns}
	if !regular(r) {
		in.async = startAsync(r, wait)
		r = in.async
	}
	err := in.open(&counter{r: r, n: count}, opt)
	if err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// Close releases what reading needed. A Read of the reader that blocks goes on until the
// reader ends.
func (in *Input) Close() {
	if in.unpack != nil {
		in.unpack.Close()
	}
	if in.async != nil {
		close(in.async.stop)
	}
}

func (in *Input) open(raw *counter, opt Options) error {
	r, err := in.decompress(raw)
	if err != nil {
		return err
	}
	var start Position
	if opt.Digest {
		in.Digest = newDigester(r)
		r = in.Digest
	}
	if opt.Start != nil {
		if err := in.Digest.skip(opt.Start); err != nil {
			return err
		}
		start = opt.Start.Position
		in.Format, in.Columns = opt.Start.Format, opt.Start.Columns
	}
	peeker := bufio.NewReaderSize(r, 4096)
	if _, err := peeker.Peek(4); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	head, _ := peeker.Peek(peeker.Buffered())
	if opt.Start == nil {
		if err := refuse(head); err != nil {
			return err
		}
	}
	if in.Format == Auto {
		in.Format = detect(head, len(opt.Do) > 0)
	}
	if in.Format == Commands && opt.Format == Auto && opt.Start == nil {
		if err := refuseTyped(head); err != nil {
			return err
		}
	}
	return in.read(peeker, opt, start)
}

// read creates the source of the commands.
func (in *Input) read(r io.Reader, opt Options, start Position) error {
	records := in.Format == CSV || in.Format == TSV || in.Format == NDJSON
	switch {
	case records && len(opt.Do) == 0:
		return WrongOption("the input is %s: say with a template which commands to send for a record, as in 'HSET user:{id} name {name}'", in.Format)
	case !records && (len(opt.Do) > 0 || len(opt.SkipIfMissing) > 0 || len(opt.Columns) > 0):
		return WrongOption("templates and columns are for csv, tsv and ndjson, and the format of the input is %s", in.Format)
	case in.Format == NDJSON && len(opt.Columns) > 0:
		return WrongOption("columns are for csv and tsv: in ndjson each record names its fields")
	}
	switch in.Format {
	case RESP, Auto:
		in.source = &respSource{resp.NewScannerAt(r, start.Offset)}
	case Commands:
		in.source = newLines(r, start, opt.Format == Auto)
	case NDJSON:
		in.source = newJSON(r, opt.Do, opt.SkipIfMissing, start)
	case CSV, TSV:
		comma := ','
		if in.Format == TSV {
			comma = '\t'
		}
		c, err := newCSV(r, comma, in.Columns, opt.Do, opt.SkipIfMissing, start)
		if err != nil {
			return err
		}
		in.source, in.Columns = c, c.columns
	}
	return nil
}

// ByLine reports whether places in the input are given by line, not by byte.
func (in *Input) ByLine() bool { return in.Format != RESP }

// respSource is an input in the protocol.
type respSource struct{ s *resp.Scanner }

func (r *respSource) Next(f *resp.Frame) (Place, error) {
	err := r.s.Next(f)
	return Place{Offset: r.s.Offset()}, err
}

func (r *respSource) End() (Position, bool) { return Position{Offset: r.s.End()}, true }

func (r *respSource) Skipped() int64 { return 0 }
