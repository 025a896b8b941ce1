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

// emit checks the commands of r and writes them to w.
func emit(ctx context.Context, w io.Writer, r io.Reader, opt Options) (Report, error) {
	count := &counts{began: time.Now()}
	out := &emitter{w: w, count: count, buf: make([]byte, 0, chunkSize)}
	stop := count.watch(opt.OnProgress)
	defer stop()
	in, err := input.Open(r, opt.input(), &count.input, input.Wait(ctx, out.flush))
	if err != nil {
		return count.report(), err
	}
	defer in.Close()
	err = out.all(ctx, in, opt.Cluster)
	var interrupted *input.InterruptedError
	if errors.As(err, &interrupted) {
		err = interrupted.Err
	}
	if flushErr := out.flush(); err == nil {
		err = flushErr
	}
	return count.report(), err
}

// maxBuffer bounds the buffer that is kept after a large command.
const maxBuffer = 1 << 20

// emitter buffers the commands to write.
type emitter struct {
	w     io.Writer
	count *counts
	buf   []byte
	err   error
}

func (e *emitter) all(ctx context.Context, in *input.Input, cluster bool) error {
	var f resp.Frame
	check := command.Checker{Cluster: cluster}
	for no := int64(1); ; no++ {
		p, err := in.Next(&f)
		e.count.records.Store(p.Record)
		e.count.skipped.Store(in.Skipped())
		if errors.Is(err, io.EOF) {
			if err := check.End(); err != nil {
				return &InputError{Offset: p.Offset, Line: p.Line, Msg: err.Error()}
			}
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := check.Check(&f, no, cluster); err != nil {
			return inputError(p, no, err)
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
