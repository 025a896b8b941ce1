// Package unpack reads files that may be compressed with gzip or zstd, detected by their first
// bytes, and recognizes kinds of files that contain neither records nor commands.
package unpack

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Error describes what is wrong with a file.
type Error struct{ Msg string }

func (e *Error) Error() string { return e.Msg }

// bufferSize is the size of a read of compressed data.
const bufferSize = 64 << 10

// Reader reads and decompresses a file. It reads nothing before the first Read, because standard
// input may be a terminal.
type Reader struct {
	packed source
	plain  io.Reader
	err    error // the first error; kept for readers that look ahead
	close  func()
}

// NewReader returns a Reader of a file.
func NewReader(packed io.Reader) *Reader {
	return &Reader{packed: source{r: packed}, close: func() {}}
}

// Read implements io.Reader. An error of the file itself is an *Error.
func (u *Reader) Read(p []byte) (int, error) {
	if u.plain == nil && u.err == nil {
		u.err = u.begin()
	}
	if u.err != nil {
		return 0, u.err
	}
	n, err := u.plain.Read(p)
	u.err = err
	return n, err
}

// begin determines how the file is compressed, and prepares the decompressor.
func (u *Reader) begin() error {
	in := bufio.NewReaderSize(&u.packed, bufferSize)
	head, _ := in.Peek(4) // the next read returns the error, if any
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		z, err := gzip.NewReader(in)
		if err != nil {
			return u.packed.explain("gzip", err)
		}
		z.Multistream(false)
		u.plain = &gzipReader{&u.packed, in, z}
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		// Decode one block at a time, because concurrent decoding would read ahead. The window is the
		// size that "zstd -19" needs.
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(16<<20))
		if err != nil {
			return u.packed.explain("zstd", err)
		}
		u.plain, u.close = &zstdReader{&u.packed, z}, z.Close
	default:
		u.plain = in
	}
	return nil
}

// Close releases the memory of a decompressor. It does not close the file.
func (u *Reader) Close() { u.close() }

const gzipMagic = "\x1f\x8b"

// gzipReader reads gzip data: one or more members, and nothing after them.
type gzipReader struct {
	packed *source
	in     *bufio.Reader
	z      *gzip.Reader
}

func (g *gzipReader) Read(p []byte) (int, error) {
	n, err := g.z.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, g.packed.explain("gzip", err)
	}
	head, err := g.in.Peek(len(gzipMagic))
	switch {
	case len(head) == 0 && errors.Is(err, io.EOF):
		return n, io.EOF
	case err != nil && !errors.Is(err, io.EOF):
		return n, err
	case string(head) != gzipMagic:
		return n, &Error{"something else follows the end of the gzip data"}
	}
	err = g.z.Reset(g.in)
	g.z.Multistream(false)
	return n, g.packed.explain("gzip", err)
}

// zstdReader reads zstd data.
type zstdReader struct {
	packed *source
	z      *zstd.Decoder
}

func (z *zstdReader) Read(p []byte) (int, error) {
	n, err := z.z.Read(p)
	if errors.Is(err, io.EOF) {
		return n, err
	}
	return n, z.packed.explain("zstd", err)
}

// source keeps the error of a file.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// explain returns the error of the file if reading it failed; otherwise an error that describes
// the damage.
func (s *source) explain(name string, err error) error {
	switch {
	case err == nil || s.err != nil:
		return s.err
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return &Error{"the " + name + " data is truncated: its end is missing"}
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return &Error{"the zstd data needs a window of more than 16 MiB (--ultra or --long): decompress it with zstd -dc"}
	}
	return &Error{"the " + name + " data is damaged: " + err.Error()}
}
