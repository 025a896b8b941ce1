package bulk

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// input is an input that has been opened.
type input struct {
	source
	format  Format
	columns []string // of CSV and TSV
	digest  *digester
	async   *async
	unpack  io.Closer
}

// openInput finds out what r gives, and goes to where a checkpoint says.
func openInput(r io.Reader, opt Options, count *atomic.Int64, wait waiter, from *saved) (*input, error) {
	in := &input{format: opt.Format, columns: opt.Columns}
	if !regular(r) {
		in.async = startAsync(r, wait)
		r = in.async
	}
	err := in.open(&counter{r: r, n: count}, opt, from)
	if err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

func (in *input) close() {
	if in.unpack != nil {
		in.unpack.Close()
	}
	if in.async != nil {
		close(in.async.stop)
	}
}

func (in *input) open(raw *counter, opt Options, from *saved) error {
	r, err := in.decompress(raw)
	if err != nil {
		return err
	}
	var start position
	if opt.Checkpoint != "" {
		in.digest = newDigester(r)
		r = in.digest
	}
	if from != nil {
		if err := in.digest.skip(from); err != nil {
			return err
		}
		start = position{Offset: from.Offset, Line: from.Line, Record: from.Record}
		in.format, in.columns = from.Format, from.Columns
	}
	peeker := bufio.NewReaderSize(r, 4096)
	if _, err := peeker.Peek(4); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	head, _ := peeker.Peek(peeker.Buffered())
	if from == nil {
		if err := refuse(head); err != nil {
			return err
		}
	}
	if in.format == Auto {
		in.format = detect(head, len(opt.Do) > 0)
	}
	if in.format == Commands && opt.Format == Auto && from == nil {
		if err := refuseTyped(head); err != nil {
			return err
		}
	}
	return in.read(peeker, opt, start)
}

// read makes the source of commands.
func (in *input) read(r io.Reader, opt Options, start position) error {
	records := in.format == CSV || in.format == TSV || in.format == NDJSON
	switch {
	case records && len(opt.Do) == 0:
		return wrongOption("the input is %s: say with a template which commands to send for a record, as in 'HSET user:{id} name {name}'", in.format)
	case !records && (len(opt.Do) > 0 || len(opt.SkipIfMissing) > 0 || len(opt.Columns) > 0):
		return wrongOption("templates and columns are for csv, tsv and ndjson, and the format of the input is %s", in.format)
	case in.format == NDJSON && len(opt.Columns) > 0:
		return wrongOption("columns are for csv and tsv: in ndjson each record names its fields")
	}
	switch in.format {
	case RESP, Auto:
		in.source = newRESP(r, start)
	case Commands:
		in.source = newLines(r, start, opt.Format == Auto)
	case NDJSON:
		in.source = newJSON(r, opt.Do, opt.SkipIfMissing, start)
	case CSV, TSV:
		comma := ','
		if in.format == TSV {
			comma = '\t'
		}
		c, err := newCSV(r, comma, in.columns, opt.Do, opt.SkipIfMissing, start)
		if err != nil {
			return err
		}
		in.source, in.columns = c, c.Columns()
	}
	return nil
}

// byLine tells whether places in the input are told by line.
func (in *input) byLine() bool { return in.format != RESP }

// decompress undoes gzip and zstd.
func (in *input) decompress(raw *counter) (io.Reader, error) {
	peeker := bufio.NewReaderSize(raw, 4096)
	head, err := peeker.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(bufio.NewReaderSize(peeker, 64<<10))
		if err != nil {
			return nil, unpackError("gzip", raw, err)
		}
		return &unpacked{z, "gzip", raw}, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		// One block at a time: more would read ahead, and of memory it may take
		// what "zstd -19" needs.
		z, err := zstd.NewReader(peeker, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(16<<20))
		if err != nil {
			return nil, unpackError("zstd", raw, err)
		}
		in.unpack = z.IOReadCloser()
		return &unpacked{z, "zstd", raw}, nil
	}
	return peeker, nil
}

// unpacked words what goes wrong in compressed data.
type unpacked struct {
	r    io.Reader
	name string
	raw  *counter
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = unpackError(u.name, u.raw, err)
	}
	return n, err
}

// unpackError leaves the errors of what is read alone, and says of the others that
// the data is damaged.
func unpackError(name string, raw *counter, err error) error {
	switch {
	case raw.err != nil:
		return raw.err
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return &InputError{Msg: "the " + name + " data is cut short: its end is missing"}
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return &InputError{Msg: "the zstd data needs a window of more than 16 MiB (--ultra or --long): decompress it with zstd -dc"}
	}
	return &InputError{Msg: "the " + name + " data is damaged: " + err.Error()}
}

// counter counts what is read, and keeps what ended it.
type counter struct {
	r   io.Reader
	n   *atomic.Int64
	err error
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// regular tells whether reading r never waits for anybody.
func regular(r io.Reader) bool {
	file, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode().IsRegular()
}

// waiter waits for a block of an input that has nothing to give at the moment, while
// it does what else there is to be done.
type waiter func(blocks <-chan block) (block, error)

// block is a piece of the input.
type block struct {
	data []byte
	err  error
}

// interruptedError is what ended a wait for input; it is not the input's fault.
type interruptedError struct{ err error }

func (e *interruptedError) Error() string { return e.err.Error() }
func (e *interruptedError) Unwrap() error { return e.err }

// async reads in a goroutine of its own, so that nobody waits with a Read.
type async struct {
	blocks chan block
	empty  chan []byte
	stop   chan struct{}
	wait   waiter
	cur    block
	rest   []byte // of cur
}

func startAsync(r io.Reader, wait waiter) *async {
	const ahead = 2
	a := &async{blocks: make(chan block, ahead), empty: make(chan []byte, ahead), stop: make(chan struct{}), wait: wait}
	for range ahead {
		a.empty <- make([]byte, bufferSize)
	}
	go a.run(r)
	return a
}

func (a *async) run(r io.Reader) {
	for {
		var buf []byte
		select {
		case buf = <-a.empty:
		case <-a.stop:
			return
		}
		n, err := r.Read(buf)
		select {
		case a.blocks <- block{buf[:n], err}:
		case <-a.stop:
			return
		}
		if err != nil {
			return
		}
	}
}

func (a *async) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.cur.err != nil {
			return 0, a.cur.err
		}
		if a.cur.data != nil {
			a.empty <- a.cur.data[:cap(a.cur.data)] // never waits: it came from there
			a.cur.data = nil
		}
		select {
		case a.cur = <-a.blocks:
		default:
			b, err := a.wait(a.blocks)
			if err != nil {
				a.cur = block{err: &interruptedError{err}}
				return 0, a.cur.err
			}
			a.cur = b
		}
		a.rest = a.cur.data
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// plainWait waits for input and does nothing else.
func plainWait(ctx context.Context, before func() error) waiter {
	return func(blocks <-chan block) (block, error) {
		if err := before(); err != nil {
			return block{}, err
		}
		select {
		case b := <-blocks:
			return b, nil
		case <-ctx.Done():
			return block{}, ctx.Err()
		}
	}
}
