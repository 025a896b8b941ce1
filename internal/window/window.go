// Package window reads a stream through a buffer that holds one element at a time, such as a line or
// a record. The buffer grows with the element up to a limit.
package window

import (
	"bytes"
	"errors"
	"io"
)

// size is the size of a read, and of the buffer while elements are smaller.
const size = 256 << 10

// ErrTooLong is returned for an element that exceeds the limit.
var ErrTooLong = errors.New("an element is too long")

// Window is the part of a stream that was read but not yet taken.
type Window struct {
	r     io.Reader
	buf   []byte
	pos   int   // index of the first byte not taken
	end   int   // number of bytes in buf
	base  int64 // offset of buf[0] in the stream
	limit int   // maximum size of an element
	err   error // error of r, returned once the bytes before it are used
}

// New returns a window on r, which starts at an offset of its stream, for elements of at most limit
// bytes.
func New(r io.Reader, offset int64, limit int) *Window {
	return &Window{r: r, buf: make([]byte, size), base: offset, limit: limit}
}

// Bytes returns the bytes that were read but not taken, valid until the next call of More or
// Line.
func (w *Window) Bytes() []byte { return w.buf[w.pos:w.end] }

// Offset returns the offset of the first byte of Bytes in the stream.
func (w *Window) Offset() int64 { return w.base + int64(w.pos) }

// Take removes n bytes and returns them, valid as long as Bytes.
func (w *Window) Take(n int) []byte {
	w.pos += n
	return w.buf[w.pos-n : w.pos : w.pos]
}

// More reads more bytes. It returns io.EOF at the end of the stream, ErrTooLong if Bytes has
// reached the limit, or the error of the reader.
func (w *Window) More() error {
	held := w.end - w.pos
	switch {
	case w.err != nil:
		return w.err
	case held > w.limit:
		return ErrTooLong
	case w.pos > 0:
		w.slide(held)
	case held == len(w.buf):
		w.buf = append(w.buf, make([]byte, len(w.buf))...)
	}
	n, err := w.r.Read(w.buf[w.end:])
	w.end += n
	if w.err = err; n > 0 {
		return nil
	}
	return err
}

// slide moves the held bytes to the start of the buffer. It does not keep a buffer that grew for
// one large element.
func (w *Window) slide(held int) {
	to := w.buf
	if len(to) > 4*size && held < size {
		to = make([]byte, size)
	}
	copy(to, w.buf[w.pos:w.end])
	w.base += int64(w.pos)
	w.buf, w.pos, w.end = to, 0, held
}

// Line returns the number of bytes up to and including the end of the line that begins after the
// first from bytes. It returns io.EOF if no bytes are left.
func (w *Window) Line(from int) (int, error) {
	for at := from; ; {
		if i := bytes.IndexByte(w.Bytes()[at:], '\n'); i >= 0 {
			return at + i + 1, nil
		}
		at = len(w.Bytes())
		if err := w.More(); err != nil {
			if errors.Is(err, io.EOF) && at > from {
				err = nil
			}
			return at, err
		}
	}
}

// TrimEnd removes LF or CR LF, or a CR at the end of a stream, from the end of a line.
func TrimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// byteOrderMark is written by some programs before UTF-8 text.
const byteOrderMark = "\xef\xbb\xbf"

// SkipByteOrderMark skips a byte order mark at the beginning of the stream. It waits for more bytes
// only if the bytes read so far may begin a byte order mark.
func (w *Window) SkipByteOrderMark() error {
	for w.Offset() == 0 {
		switch text := w.Bytes(); {
		case bytes.HasPrefix(text, []byte(byteOrderMark)):
			w.Take(len(byteOrderMark))
			return nil
		case !bytes.HasPrefix([]byte(byteOrderMark), text):
			return nil
		}
		if err := w.More(); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
	}
	return nil
}
