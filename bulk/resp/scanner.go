package resp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
)

const (
	bufferSize = 256 << 10
	maxArgs    = math.MaxInt32 // the limit of Redis 7.0 and newer and of Valkey
	maxLen     = 512 << 20     // the default of proto-max-bulk-len
)

// Scanner reads commands from a stream in the Redis protocol. Each command it returns is complete
// and well formed, even if the stream is truncated or damaged.
//
// A Scanner needs 256 KiB of memory, or a small multiple of the size of the largest command. A
// wrong length does not reserve memory: the buffer grows only as bytes are read.
type Scanner struct {
	r      io.Reader
	buf    []byte
	pos    int   // start of the current command in buf
	end    int   // end of the valid bytes in buf
	base   int64 // offset of buf[0] in the stream
	done   bool  // r is exhausted
	failed error // error of r, returned after the bytes that were read with it
	frame  Frame
	size   int // size of the current command
	err    error
}

// NewScanner returns a Scanner that reads from r.
func NewScanner(r io.Reader) *Scanner { return NewScannerAt(r, 0) }

// NewScannerAt returns a Scanner that reads from r and adds offset to every offset that it reports.
// It is for reading the remainder of a stream that was read up to offset.
func NewScannerAt(r io.Reader, offset int64) *Scanner {
	return &Scanner{r: r, buf: make([]byte, bufferSize), base: offset}
}

// Scan advances to the next command. It returns false at the end of the input and at the first
// error. Like a server, it skips blank lines, commands without arguments ("*0"), and the
// annotations of an append-only file ("#TS:…").
func (s *Scanner) Scan() bool { return s.Next(&s.frame) == nil }

// Frame returns the current command, valid until the next Scan.
func (s *Scanner) Frame() *Frame { return &s.frame }

// Offset returns the offset of the current command in bytes.
func (s *Scanner) Offset() int64 { return s.base + int64(s.pos) }

// End returns the offset after the current command.
func (s *Scanner) End() int64 { return s.Offset() + int64(s.size) }

// Err returns the error that ended Scan: nil at the end of the input, an *InputError
// for a damaged command, or the error of the reader.
func (s *Scanner) Err() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

// Next reads the next command into f and returns io.EOF at the end. It is like Scan with a frame
// owned by the caller.
func (s *Scanner) Next(f *Frame) error {
	if s.err != nil {
		return s.err
	}
	s.pos += s.size
	s.size = 0
	for {
		args, at := s.length(0, '*', maxArgs)
		if at < 0 {
			s.err = s.skipOrError()
			if s.err == nil { // skipped
				continue
			}
			return s.err
		}
		if args == 0 {
			s.pos += at
			continue
		}
		if s.err = s.args(f, args, at); s.err != nil {
			f.args = f.args[:0]
			return s.err
		}
		f.raw = s.buf[s.pos : s.pos+s.size : s.pos+s.size]
		return nil
	}
}

// args reads n arguments, starting at byte at of the command.
func (s *Scanner) args(f *Frame, n, at int) error {
	f.args = f.args[:0]
	for range n {
		size, begin := s.length(at, '$', maxLen)
		if begin < 0 {
			return s.lengthError(at, '$', maxLen)
		}
		at = begin + size + 2
		if s.end-s.pos < at && !s.need(at) {
			return s.truncated(begin, fmt.Sprintf("an argument of %d bytes and CRLF", size))
		}
		if b := s.buf[s.pos+at-2 : s.pos+at]; b[0] != '\r' || b[1] != '\n' {
			return s.wrong(at-2, "expected CRLF after an argument of %d bytes, found %q%s", size, b, lfHint(b[0]))
		}
		f.args = append(f.args, span{begin, begin + size})
	}
	s.size = at
	return nil
}

// length parses a header such as "*3\r\n" at byte at of the command. It returns the number, which
// is at most maximum, and the offset after the header, or -1 if there is no valid header.
func (s *Scanner) length(at int, kind byte, maximum int) (n, next int) {
	for {
		b := s.buf[s.pos:s.end]
		if at+4 <= len(b) { // the shortest header
			if b[at] != kind {
				return 0, -1
			}
			first := b[at+1] - '0'
			if first > 9 {
				return 0, -1
			}
			n = int(first)
			i := at + 2
			for ; i < len(b); i++ {
				digit := b[i] - '0'
				if digit > 9 {
					break
				}
				if n = n*10 + int(digit); n > maximum || first == 0 {
					return 0, -1
				}
			}
			if i+1 < len(b) {
				if b[i] != '\r' || b[i+1] != '\n' {
					return 0, -1
				}
				return n, i + 2
			}
		}
		if !s.need(len(b) + 1) {
			return 0, -1
		}
	}
}

// need reads until the buffer has n bytes of the current command.
func (s *Scanner) need(n int) bool {
	for s.end-s.pos < n {
		if s.done {
			return false
		}
		if s.pos > 0 {
			s.slide()
		}
		if s.end == len(s.buf) { // the buffer is full of bytes that were read
			s.buf = append(make([]byte, 0, min(4*len(s.buf), max(n, 2*len(s.buf)))), s.buf...)
			s.buf = s.buf[:cap(s.buf)]
		}
		got, err := s.r.Read(s.buf[s.end:])
		s.end += got
		if err != nil {
			s.done = true
			if !errors.Is(err, io.EOF) {
				s.failed = err
			}
		}
	}
	return true
}

// slide moves the current command to the start of the buffer.
func (s *Scanner) slide() {
	rest := s.buf[s.pos:s.end]
	if len(s.buf) > keepBuffer && len(rest) < bufferSize {
		s.buf = make([]byte, bufferSize)
	}
	copy(s.buf, rest)
	s.base += int64(s.pos)
	s.pos, s.end = 0, len(rest)
}

// skipOrError skips a blank line or an annotation, or returns why no command begins at s.pos.
func (s *Scanner) skipOrError() error {
	if !s.need(1) {
		if s.failed != nil {
			return s.failed
		}
		return io.EOF
	}
	enough := s.need(6)
	switch b := s.buf[s.pos:s.end]; {
	case b[0] == '\n':
		s.pos++
		return nil
	case bytes.HasPrefix(b, []byte("\r\n")):
		s.pos += 2
		return nil
	case b[0] == '#':
		return s.annotation()
	case !enough && s.failed != nil:
		return s.failed
	case s.Offset() == 0 && bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		return s.wrong(0, "the input begins with a byte order mark, which is not part of the protocol: save it without one")
	case s.Offset() == 0 && bytes.HasPrefix(b, []byte("REDIS")):
		return s.wrong(0, `this is a snapshot (RDB), which "retwis load" and the package bulk read (format rdb)`)
	case b[0] != '*':
		return s.wrong(0, "expected a command, which begins with *, found %q%s", Shorten(b, 16), typedHint(b[0]))
	}
	return s.lengthError(0, '*', maxArgs)
}

// maxAnnotation is the maximum length of an annotation that a server accepts.
const maxAnnotation = 128

// annotation skips a line such as "#TS:1795308651", which a server writes into its append-only
// file with aof-timestamp-enabled.
func (s *Scanner) annotation() error {
	for n := 1; s.need(n) && n <= maxAnnotation; n++ {
		if s.buf[s.pos+n-1] == '\n' {
			s.pos += n
			return nil
		}
	}
	if s.end-s.pos < maxAnnotation {
		return s.truncated(0, "the end of an annotation, which begins with #,")
	}
	return s.wrong(0, "the annotation, a line that begins with #, is longer than %d bytes", maxAnnotation)
}

// lengthError describes why there is no valid header at byte at of the command.
func (s *Scanner) lengthError(at int, kind byte, maximum int) error {
	what, limit := "the number of arguments", ""
	if kind == '$' {
		what, limit = "the length of an argument", " by default"
	}
	if !s.need(at+24) && s.failed != nil {
		return s.failed
	}
	b := s.buf[s.pos:s.end]
	if len(b) <= at {
		return s.truncated(at, fmt.Sprintf("%c and %s", kind, what))
	}
	b = b[at:]
	if b[0] != kind {
		return s.wrong(at, "expected %c and %s, found %q", kind, what, Shorten(b, 16))
	}
	digits := 1
	for digits < len(b) && b[digits] >= '0' && b[digits] <= '9' {
		digits++
	}
	switch {
	case len(b) == 1:
		return s.truncated(at+1, what)
	case b[1] == '-':
		return s.wrong(at+1, "%s is negative", what)
	case digits == 1:
		return s.wrong(at+1, "expected %s, found %q", what, Shorten(b[1:], 16))
	case digits > 2 && b[1] == '0':
		return s.wrong(at+1, "%s begins with 0, which a server refuses", what)
	case digits > 10 || number(b[1:digits]) > maximum:
		return s.wrong(at+1, "%s is more than %d, the most that a server accepts%s", what, maximum, limit)
	case digits == len(b), len(b) == digits+1 && b[digits] == '\r':
		return s.truncated(at+digits, "CRLF")
	}
	return s.wrong(at+digits, "expected CRLF after %s, found %q%s", what, Shorten(b[digits:], 16), lfHint(b[digits]))
}

func number(digits []byte) (n int) {
	for _, d := range digits {
		n = n*10 + int(d-'0')
	}
	return n
}

// lfHint explains LF instead of CR LF, the most common mistake.
func lfHint(b byte) string {
	if b != '\n' {
		return ""
	}
	return "; lines of the protocol end in CR LF, these end in LF alone: unix2dos converts text, and the format " +
		`"commands" reads typed commands`
}

// typedHint points to the format for typed commands.
func typedHint(b byte) string {
	if b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' {
		return `; for typed commands, use the format "commands"`
	}
	return ""
}

func (s *Scanner) wrong(at int, format string, args ...any) error {
	return &InputError{Offset: s.Offset() + int64(at), Msg: fmt.Sprintf(format, args...)}
}

// truncated returns the error of an input that ends within a command.
func (s *Scanner) truncated(at int, expected string) error {
	if s.failed != nil {
		return s.failed
	}
	return &InputError{
		Offset: s.base + int64(s.end),
		Msg: fmt.Sprintf("the input ends within the command that begins at byte %d: expected %s at byte %d",
			s.Offset(), expected, s.Offset()+int64(at)),
		Truncated: true,
	}
}

// Parse parses one complete command from raw into f.
func Parse(raw []byte, f *Frame) error {
	s := Scanner{buf: raw, end: len(raw), done: true}
	return s.Next(f)
}
