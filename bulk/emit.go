package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// emit checks the commands of r and writes them to w.
func emit(ctx context.Context, w io.Writer, r io.Reader, opt Options) (Report, error) {
	count := &counts{began: time.Now()}
	out := &emitter{w: w, count: count, buf: make([]byte, 0, chunkSize)}
	stop := count.watch(opt.OnProgress)
	defer stop()
	in, err := openInput(r, opt, &count.input, plainWait(ctx, out.flush), nil)
	if err != nil {
		return count.report(), err
	}
	defer in.close()
	err = out.all(ctx, in, opt.Cluster)
	var interrupted *interruptedError
	if errors.As(err, &interrupted) {
		err = interrupted.err
	}
	if flushErr := out.flush(); err == nil {
		err = flushErr
	}
	return count.report(), err
}

// emitter gathers what is written.
type emitter struct {
	w     io.Writer
	count *counts
	buf   []byte
	err   error
}

func (e *emitter) all(ctx context.Context, in *input, cluster bool) error {
	var f Frame
	check := checker{cluster: cluster}
	for no := int64(1); ; no++ {
		p, err := in.next(&f)
		e.count.records.Store(p.Record)
		e.count.skipped.Store(in.passedOver())
		if errors.Is(err, io.EOF) {
			if err := check.end(); err != nil {
				return &InputError{Offset: p.Offset, Line: p.Line, Msg: err.Error()}
			}
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := check.check(&f, no, cluster); err != nil {
			return at(p, no, err)
		}
		e.count.commands.Add(1)
		e.buf = append(e.buf, f.raw...)
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
	if e.buf = e.buf[:0]; cap(e.buf) > keepBuffer {
		e.buf = make([]byte, 0, chunkSize)
	}
	if err != nil {
		e.err = fmt.Errorf("bulk: %w", err)
	}
	return e.err
}
