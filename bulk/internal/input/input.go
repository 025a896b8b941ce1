// Package input reads commands from the Redis protocol, append-only files, snapshots, commands as
// typed into redis-cli, CSV, TSV and JSON, compressed or not.
package input

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"retwis/bulk/internal/rdb"
	"retwis/bulk/resp"
	"retwis/internal/unpack"
)

// Input is a sequence of files, one of which is open.
type Input struct {
	source
	Format  Format
	Columns []string  // columns of CSV and TSV
	Digest  *Digester // nil without Options.Digest
	Number  int       // number of the current file, starting at 0
	Base    int64     // decompressed size of the earlier files

	opt     Options
	files   []File
	count   *atomic.Int64
	wait    Waiter
	async   *async
	file    io.Closer
	unpack  *unpack.Reader
	raw     *countingReader // counts the decompressed bytes of the current file
	first   int64           // number of records in the earlier files
	skipped int64           // number of skipped records in the earlier files
	dropped int64           // number of bytes left out at the end of the current file
}

// Open opens the first file, or resumes at opt.Start. It adds the number of bytes read to count,
// and calls wait whenever a file that is not regular has no data yet.
func Open(files []File, opt Options, count *atomic.Int64, wait Waiter) (*Input, error) {
	in := &Input{opt: opt, files: files, count: count, wait: wait}
	if opt.Digest {
		in.Digest = newDigester()
	}
	err := in.start(opt.Start)
	if err != nil {
		in.Close()
		return nil, in.addFileName(err)
	}
	return in, nil
}

// start opens the file in which a load starts. It adds the earlier files to the digest.
func (in *Input) start(from *Start) error {
	if from == nil {
		return in.open(nil)
	}
	if from.File >= len(in.files) {
		return mismatchError(0)
	}
	for ; in.Number < from.File; in.Number++ {
		r, err := in.reader()
		if err != nil {
			return err
		}
		if err := in.Digest.take(r); err != nil {
			return err
		}
		in.Close()
		in.Base += in.raw.n
	}
	if in.Base != from.Base {
		return mismatchError(in.Base)
	}
	return in.open(from)
}

// NextFile opens the next file, or returns io.EOF after the last one.
func (in *Input) NextFile() error {
	if in.Number+1 == len(in.files) {
		return io.EOF
	}
	in.Close()
	end, _ := in.source.End()
	in.first = max(in.first, end.Record)
	in.skipped += in.source.Skipped()
	in.Base += in.raw.n
	in.Number++
	in.dropped = 0
	return in.addFileName(in.open(nil))
}

// Name returns the name of the current file, or "" if it is the only file.
func (in *Input) Name() string {
	if len(in.files) == 1 {
		return ""
	}
	return in.files[in.Number].Name
}

// addFileName adds the name of the current file to an error.
func (in *Input) addFileName(err error) error {
	if packed := (*unpack.Error)(nil); errors.As(err, &packed) {
		err = &resp.InputError{Offset: in.raw.n, Msg: packed.Msg}
	}
	if wrong := (*resp.InputError)(nil); errors.As(err, &wrong) && wrong.File == "" && in.Number < len(in.files) {
		wrong.File = in.Name()
	}
	return err
}

// Close releases the resources for reading the current file. A blocked Read continues until the
// reader returns.
func (in *Input) Close() {
	if in.unpack != nil {
		in.unpack.Close()
	}
	if in.async != nil {
		close(in.async.stop)
	}
	if in.file != nil {
		in.file.Close()
	}
	in.unpack, in.async, in.file = nil, nil, nil
}

// reader opens and decompresses the current file.
func (in *Input) reader() (io.Reader, error) {
	file, err := in.files[in.Number].Open()
	if err != nil {
		return nil, err
	}
	in.file = file
	var r io.Reader = file
	if !regular(file) {
		in.async = startAsync(file, in.wait)
		r = in.async
	}
	in.unpack = unpack.NewReader(&counter{r: r, n: in.count, interrupted: in.opt.Interrupted})
	in.raw = &countingReader{r: in.unpack}
	return in.raw, nil
}

// open opens the current file, and skips to from, if set.
func (in *Input) open(from *Start) error {
	r, err := in.reader()
	if err != nil {
		return err
	}
	if in.Digest != nil {
		in.Digest.r = r
		r = in.Digest
	}
	in.Format, in.Columns = in.files[in.Number].Format, in.opt.Columns
	if in.Format == Auto {
		in.Format = in.opt.Format
	}
	start := Position{Record: in.first}
	if from != nil {
		start = from.Position
		start.Offset -= in.Base
		in.Format, in.Columns = from.Format, from.Columns
		if in.Format != RDB { // an RDB reader has to start at the beginning
			if err := in.Digest.skip(start.Offset, from.SHA256); err != nil {
				return err
			}
		}
	}
	peeker := bufio.NewReaderSize(r, 4096)
	head, err := peek(peeker)
	if err != nil {
		return err
	}
	if from == nil {
		if err := in.detect(head); err != nil {
			return err
		}
	}
	if err := in.openSource(peeker, start); err != nil {
		return err
	}
	if start.Offset > 0 && in.Format == RDB {
		return in.readUpTo(from)
	}
	return nil
}

// peek returns the first bytes of a file that are available. It only waits for the bytes needed to
// recognize a snapshot.
func peek(r *bufio.Reader) ([]byte, error) {
	head, err := r.Peek(4)
	if string(head) == "REDI" || string(head) == "VALK" {
		_, err = r.Peek(9)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return r.Peek(r.Buffered())
}

// detect determines the format of a file from its first bytes. It returns an error for a file of an
// unsupported kind.
func (in *Input) detect(head []byte) error {
	given := in.Format
	// An append-only file can begin with a snapshot.
	if version, _ := rdb.Header(head); version > 0 && (given == Auto || given == RESP || given == RDB) {
		in.Format = RDB
		return nil
	}
	if err := unpack.CheckHead(head); err != nil {
		return kindError(err)
	}
	if isArray(head) && given != Auto && given != JSON {
		if given != NDJSON {
			return &resp.InputError{Msg: "the input is a JSON array; use the format json (--format json)"}
		}
		in.Format = JSON
	}
	if given == Auto {
		if err := unpack.CheckText(trimHead(head)); err != nil {
			return kindError(err)
		}
		in.Format = detect(head, len(in.opt.Do) > 0)
		if in.Format == Commands {
			return checkTyped(head)
		}
	}
	return nil
}

// openSource creates the source of the commands.
func (in *Input) openSource(r io.Reader, start Position) error {
	opt := in.opt
	opt.passed = in.passed
	records := in.Format == CSV || in.Format == TSV || in.Format == NDJSON || in.Format == JSON
	switch {
	case records && len(opt.Do) == 0:
		return WrongOption("the input is %s: say with a template which commands to send for a record, as in 'HSET user:{id} name {name}'", in.Format)
	case !records && len(in.files) == 1 && (len(opt.Do) > 0 || len(opt.SkipIfMissing) > 0 || len(opt.Columns) > 0):
		return WrongOption("templates and columns are for csv, tsv, ndjson and json, and the format of the input is %s", in.Format)
	case (in.Format == NDJSON || in.Format == JSON) && len(in.files) == 1 && len(opt.Columns) > 0:
		return WrongOption("columns are for csv and tsv: in %s each record names its fields", in.Format)
	}
	switch in.Format {
	case RESP, Auto:
		in.source = &respSource{resp.NewScannerAt(r, start.Offset)}
	case RDB:
		redis6, now := opt.Redis6 != nil && opt.Redis6(), time.Now()
		if start.Offset > 0 {
			now = time.Time{} // readUpTo sets the time
		}
		in.source = newSnapshot(r, rdb.Options{Now: now, Redis6: redis6, Database: opt.Database, Passed: in.passed}, in.first)
	case Commands:
		in.source = newLines(r, start, in.files[in.Number].Format == Auto && opt.Format == Auto)
	case NDJSON:
		in.source = newJSON(newLineReader(r, start), opt, start)
	case JSON:
		in.source = newJSON(newArrayReader(r, start), opt, start)
	case CSV, TSV:
		c, err := newDelimited(r, in.Format == TSV, in.Columns, opt, start)
		if err != nil {
			return err
		}
		in.source, in.Columns = c, c.r.Names()
	}
	return nil
}

// kindError returns err as an *resp.InputError for a file of an unsupported kind.
func kindError(err error) error { return &resp.InputError{Msg: err.Error()} }

// readUpTo reads a snapshot up to the position of a checkpoint. It ignores expiry, because the key
// that ends at the position may have expired since.
func (in *Input) readUpTo(from *Start) error {
	var f resp.Frame
	for ended := false; ; {
		end, ok := in.End()
		if ok && end.Offset >= from.Offset {
			if in.Digest.Sum(end.Offset) != from.SHA256 {
				return mismatchError(end.Offset - in.Base)
			}
			s := in.source.(*snapshot)
			s.earlier += from.Record - end.Record
			s.head.Expire(time.Now())
			return nil
		}
		if ended {
			return mismatchError(end.Offset - in.Base)
		}
		_, err := in.source.Next(&f)
		ended = errors.Is(err, io.EOF)
		if key := (*BadRecord)(nil); err != nil && !ended && !errors.As(err, &key) {
			return err
		}
	}
}

// Next stores the next command of the current file in f, valid until the following call, and
// returns the place of the command. It returns io.EOF at the end of the file.
func (in *Input) Next(f *resp.Frame) (Place, error) {
	for {
		p, err := in.source.Next(f)
		p.File, p.Total = in.Number, in.Base+p.Offset
		if err == nil {
			return p, nil
		}
		var bad *BadRecord
		if errors.As(err, &bad) {
			if in.opt.SkipBad == nil {
				return p, in.addFileName(&bad.InputError)
			}
			bad.File = in.Name()
			if err := in.opt.SkipBad(bad); err != nil {
				return p, err
			}
			end, _ := in.source.End()
			in.passed(end.Offset)
			continue
		}
		var wrong *resp.InputError
		if errors.As(err, &wrong) && wrong.Truncated && in.mayEndEarly() {
			in.dropped = wrong.Offset - p.Offset
			return p, io.EOF
		}
		return p, in.addFileName(err)
	}
}

// mayEndEarly reports whether the current file may end within a command, as an append-only file may
// after a crash.
func (in *Input) mayEndEarly() bool {
	s, ok := in.source.(*snapshot)
	return in.files[in.Number].MayEndEarly && (!ok || s.tail != nil) || ok && s.tail != nil
}

// Truncation describes what was left out at the end of the current file, or returns "". open is the
// number of the last MULTI without EXEC, or 0.
func (in *Input) Truncation(open int64) string {
	file := in.files[in.Number].Name
	switch {
	case open > 0 && in.mayEndEarly():
		return fmt.Sprintf("%s ends within the transaction that begins with command %d, which was left out", file, open)
	case in.dropped > 0:
		return fmt.Sprintf("%s ends within a command, of which the first %d bytes are there; it was left out", file, in.dropped)
	}
	return ""
}

// End returns the position after the last command, or false within a record.
func (in *Input) End() (Where, bool) {
	pos, ok := in.source.End()
	pos.Offset += in.Base
	if in.Digest != nil {
		in.Digest.reach(pos.Offset, ok)
	}
	return Where{pos, in.Number, in.Base, in.Format, in.Columns}, ok
}

// passed records that no further command starts before an offset of the current file.
func (in *Input) passed(offset int64) {
	if in.Digest != nil {
		in.Digest.reach(in.Base+offset, false)
	}
}

// Skipped returns the number of skipped records.
func (in *Input) Skipped() int64 { return in.skipped + in.source.Skipped() }

// ByLine reports whether places in the current file are given by line instead of byte.
func (in *Input) ByLine() bool { return in.Format != RESP && in.Format != RDB }

// countingReader counts the bytes read.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
