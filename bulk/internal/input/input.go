// Package input reads commands from Redis' protocol, commands as they are typed, CSV, TSV
// and NDJSON, compressed or not.
package input

import (
	"bufio"
	"errors"
	"io"
	"sync/atomic"

	"retwis/bulk/resp"
)

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
	r, unpack, err := decompress(raw)
	if in.unpack = unpack; err != nil {
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
