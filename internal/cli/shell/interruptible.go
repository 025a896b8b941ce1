package shell

import (
	"context"
	"io"
	"sync"
)

// interruptible reads from a reader that may block for a long time, such as a pipe. Once its
// context is done, Read fails with the error of the context, so that a command that is interrupted
// while it waits for input can clean up.
type interruptible struct {
	ctx     context.Context // the command's context
	from    io.ReadCloser
	begin   sync.Once
	chunks  chan chunk
	free    chan []byte
	closed  chan struct{}
	pending chunk // what Read has not returned yet
	buffer  []byte
}

// chunk is data that was read and the error that followed it.
type chunk struct {
	data []byte
	err  error
}

func newInterruptible(ctx context.Context, from io.ReadCloser) *interruptible {
	return &interruptible{ctx: ctx, from: from, chunks: make(chan chunk), free: make(chan []byte, 2), closed: make(chan struct{})}
}

func (r *interruptible) Read(p []byte) (int, error) {
	r.begin.Do(func() {
		r.free <- make([]byte, 64<<10)
		r.free <- make([]byte, 64<<10)
		go r.read()
	})
	if len(r.pending.data) == 0 && r.pending.err == nil {
		if r.buffer != nil {
			r.free <- r.buffer
			r.buffer = nil
		}
		select {
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		case r.pending = <-r.chunks:
			r.buffer = r.pending.data[:cap(r.pending.data)]
		}
	}
	n := copy(p, r.pending.data)
	if r.pending.data = r.pending.data[n:]; len(r.pending.data) > 0 {
		return n, nil
	}
	return n, r.pending.err
}

// read reads one chunk ahead, until the input ends or Close is called. A blocked system call lasts
// until the program exits.
func (r *interruptible) read() {
	for {
		var buffer []byte
		select {
		case buffer = <-r.free:
		case <-r.closed:
			return
		}
		n, err := r.from.Read(buffer)
		select {
		case r.chunks <- chunk{buffer[:n], err}:
		case <-r.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

func (r *interruptible) Close() error {
	close(r.closed)
	return r.from.Close()
}
