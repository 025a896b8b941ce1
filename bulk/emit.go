package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"retwis/bulk/internal/command"
	"retwis/bulk/internal/input"
	"retwis/bulk/resp"
)

// emit checks the commands of the files and writes them to w.
func emit(ctx context.Context, w io.Writer, files []File, opt Options) (Report, error) {
	count := &counts{began: time.Now()}
	out := &emitter{w: w, count: count, bad: newBadRecords(opt, count), buf: make([]byte, 0, chunkSize)}
	stop := count.watch(opt.OnProgress)
	defer stop()
	options := opt.input()
	options.SkipBad = out.bad.skipper()
	in, err := input.Open(inputFiles(files), options, &count.input, input.Wait(ctx, out.flush))
	if err != nil {
		return count.report(), err
	}
	defer in.Close()
	err = out.emitAll(ctx, in, opt.Cluster)
	var interrupted *input.InterruptedError
	if errors.As(err, &interrupted) {
		err = interrupted.Err
	}
	if flushErr := out.flush(); err == nil {
		err = flushErr
	}
	return count.report(), err
}

// maxBuffer limits the size of the buffer that is kept after a large command.
const maxBuffer = 1 << 20

// emitter buffers the commands to be written.
type emitter struct {
	w     io.Writer
	count *counts
	bad   *badRecords
	db    int // selected database
	buf   []byte
	err   error
}

// emitAll writes the commands of all files.
func (e *emitter) emitAll(ctx context.Context, in *input.Input, cluster bool) error {
	var f resp.Frame
	check := command.Checker{Cluster: cluster}
	for no := int64(1); ; no++ {
		p, err := in.Next(&f)
		e.count.records.Store(p.Record)
		e.count.skipped.Store(in.Skipped())
		if errors.Is(err, io.EOF) {
			if err := e.endFile(in, p, &check); err != nil {
				return input.NotEOF(err)
			}
			no--
			continue
		}
		if err != nil {
			return err
		}
		got, err := check.Check(&f, no, cluster)
		if err != nil && e.bad.canSkip(got, &check) {
			if err := e.bad.command(in, p, &f, err); err != nil {
				return err
			}
			no--
			continue
		}
		if err != nil {
			return inputError(in, p, no, err)
		}
		if got.Kind == command.Select {
			e.db, _ = command.Atoi(f.Arg(1))
		}
		e.count.commands.Add(1)
		e.buf = append(e.buf, f.Raw()...)
		if len(e.buf) >= chunkSize {
			if err := errors.Join(e.flush(), ctx.Err()); err != nil {
				return err
			}
		}
	}
}

// endFile ends a file and opens the next one, or returns io.EOF. Each file starts in database 0.
func (e *emitter) endFile(in *input.Input, p input.Place, check *command.Checker) error {
	cut := in.Truncation(check.Open)
	e.count.end(cut)
	if cut != "" && check.Open != 0 {
		check.Open = 0
		e.buf = append(e.buf, "*1\r\n$7\r\nDISCARD\r\n"...)
	}
	if err := check.End(); err != nil {
		return endError(in, p, err)
	}
	if err := in.NextFile(); err != nil {
		return err
	}
	if e.db != 0 {
		e.db = 0
		e.buf = append(e.buf, "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n"...)
	}
	return nil
}

func (e *emitter) flush() error {
	if e.err != nil || len(e.buf) == 0 {
		return e.err
	}
	n, err := e.w.Write(e.buf)
	e.count.bytes.Add(int64(n))
	if e.buf = e.buf[:0]; cap(e.buf) > maxBuffer {
		e.buf = make([]byte, 0, chunkSize)
	}
	if err != nil {
		e.err = fmt.Errorf("bulk: %w", err)
	}
	return e.err
}
