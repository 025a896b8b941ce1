package input

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"retwis/bulk/resp"
)

// decompress returns a reader of the uncompressed input, which may be gzip or zstd, and what
// to close after reading, or nil.
func decompress(raw *counter) (io.Reader, io.Closer, error) {
	peeker := bufio.NewReaderSize(raw, 4096)
	head, err := peeker.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(bufio.NewReaderSize(peeker, 64<<10))
		if err != nil {
			return nil, nil, unpackError("gzip", raw, err)
		}
		return &unpacked{z, "gzip", raw}, nil, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		// One block at a time, because more would read ahead. The window is the one
		// that "zstd -19" needs.
		z, err := zstd.NewReader(peeker, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(16<<20))
		if err != nil {
			return nil, nil, unpackError("zstd", raw, err)
		}
		return &unpacked{z, "zstd", raw}, z.IOReadCloser(), nil
	}
	return peeker, nil, nil
}

// unpacked describes damage in compressed data.
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

// unpackError returns the error of the reader, if it failed, otherwise one that says how
// the data is damaged.
func unpackError(name string, raw *counter, err error) error {
	switch {
	case raw.err != nil:
		return raw.err
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return &resp.InputError{Msg: "the " + name + " data is truncated: its end is missing"}
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return &resp.InputError{Msg: "the zstd data needs a window of more than 16 MiB (--ultra or --long): decompress it with zstd -dc"}
	}
	return &resp.InputError{Msg: "the " + name + " data is damaged: " + err.Error()}
}

// counter counts the bytes that are read and keeps the error.
type counter struct {
	r           io.Reader
	n           *atomic.Int64
	interrupted func() error // or nil
	err         error
}

func (c *counter) Read(p []byte) (int, error) {
	if c.interrupted != nil {
		if err := c.interrupted(); err != nil {
			c.err = &InterruptedError{err}
			return 0, c.err
		}
	}
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}
