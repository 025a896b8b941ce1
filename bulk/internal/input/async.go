package input

import (
	"context"
	"io"
	"os"
)

// Waiter waits for the next block of an input. It may do other work while it waits.
type Waiter func(blocks <-chan Block) (Block, error)

// Block is a piece of an input.
type Block struct {
	data []byte
	err  error
}

// InterruptedError is an error from a Waiter or Options.Interrupted, not from the input.
type InterruptedError struct{ Err error }

func (e *InterruptedError) Error() string { return e.Err.Error() }
func (e *InterruptedError) Unwrap() error { return e.Err }

// async reads in a goroutine, so that a blocked Read does not block the load.
type async struct {
	blocks chan Block
	empty  chan []byte
	stop   chan struct{}
	wait   Waiter
	cur    Block
	rest   []byte // unread part of cur
}

func startAsync(r io.Reader, wait Waiter) *async {
	const ahead = 2
	a := &async{blocks: make(chan Block, ahead), empty: make(chan []byte, ahead), stop: make(chan struct{}), wait: wait}
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
		case a.blocks <- Block{buf[:n], err}:
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
			a.empty <- a.cur.data[:cap(a.cur.data)] // never blocks: the buffer came from a.empty
			a.cur.data = nil
		}
		select {
		case a.cur = <-a.blocks:
		default:
			b, err := a.wait(a.blocks)
			if err != nil {
				a.cur = Block{err: &InterruptedError{err}}
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

// Wait returns a Waiter that first calls the function before, and then waits for the next block or
// the end of ctx.
func Wait(ctx context.Context, before func() error) Waiter {
	return func(blocks <-chan Block) (Block, error) {
		if err := before(); err != nil {
			return Block{}, err
		}
		select {
		case b := <-blocks:
			return b, nil
		case <-ctx.Done():
			return Block{}, ctx.Err()
		}
	}
}

// regular reports whether r is a regular file, whose Read does not block for long.
func regular(r io.Reader) bool {
	if wrapped, ok := r.(interface{ Unwrap() io.Reader }); ok {
		r = wrapped.Unwrap()
	}
	file, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode().IsRegular()
}
