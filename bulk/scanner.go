package bulk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
)

const (
	bufferSize = 256 << 10
	// keepBuffer is how large a buffer may stay when the command that made it
	// grow is gone.
	keepBuffer = 1 << 20

	maxArgs = math.MaxInt32 // as Redis 7.0 and newer and Valkey have it
	oldArgs = 1 << 20       // as Redis 6.2 has it
	maxLen  = 512 << 20     // proto-max-bulk-len, as servers have it unless configured
)

// Scanner finds the commands in a stream of Redis' protocol, and checks them:
// what it gives is complete and well formed, so that a stream that is cut short or
// damaged never sends half a command.
//
// Memory: 256 KiB, or the size of the largest command if that is more. A length
// that lies is found out when the input ends, not by reserving what it says.
type Scanner struct {
	r     io.Reader
	buf   []byte
	pos   int   // where the current command begins in buf
	end   int   // behind what has been read
	base  int64 // offset of buf[0] in the stream
	done  bool  // r has ended
	frame Frame
	size  int // of the current command
	err   error
}

// NewScanner returns a Scanner of what r gives.
func NewScanner(r io.Reader) *Scanner { return &Scanner{r: r, buf: make([]byte, bufferSize)} }

// Scan goes on to the next command. It returns false at the end and at the first
// error. Blank lines, commands of no arguments ("*0"), and the annotations of an
// append-only file ("#TS:…") say nothing to a server and are passed over.
func (s *Scanner) Scan() bool { return s.scan(&s.frame) == nil }

// Frame is the current command, valid until the next Scan.
func (s *Scanner) Frame() *Frame { return &s.frame }

// Offset is where the current command begins, in bytes from the start.
func (s *Scanner) Offset() int64 { return s.base + int64(s.pos) }

// Err is what ended Scan: nil at the end of the input, an *InputError for what is no
// command, or the error of the reader.
func (s *Scanner) Err() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

// scan reads the next command into f. It returns io.EOF at the end.
func (s *Scanner) scan(f *Frame) error {
	if s.err != nil {
		return s.err
	}
	s.pos += s.size
	s.size = 0
	for {
		args, at := s.length(0, '*', maxArgs)
		if at < 0 {
			s.err = s.noCommand()
			if s.err == nil { // a blank line was passed over
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

// args reads n arguments, the first of which begins at byte at of the command.
func (s *Scanner) args(f *Frame, n, at int) error {
	f.args = f.args[:0]
	for range n {
		size, begin := s.length(at, '$', maxLen)
		if begin < 0 {
			return s.noLength(at, '$', maxLen)
		}
		at = begin + size + 2
		if s.end-s.pos < at && !s.need(at) {
			return s.cut(begin, fmt.Sprintf("an argument of %d bytes and CRLF", size))
		}
		if b := s.buf[s.pos+at-2 : s.pos+at]; b[0] != '\r' || b[1] != '\n' {
			return s.wrong(at-2, "expected CRLF behind an argument of %d bytes, found %q%s", size, b, lfHint(b[0]))
		}
		f.args = append(f.args, span{begin, begin + size})
	}
	s.size = at
	return nil
}

// length reads "*3\r\n" at byte at of the command, and returns the number and where
// it goes on, or -1 where there is no such thing.
func (s *Scanner) length(at int, kind byte, most int) (n, next int) {
	for {
		b := s.buf[s.pos:s.end]
		if at+4 <= len(b) { // the shortest there is
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
				if n = n*10 + int(digit); n > most || first == 0 {
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

// need reads on until n bytes from the beginning of the command are there.
func (s *Scanner) need(n int) bool {
	for s.end-s.pos < n {
		if s.done {
			return false
		}
		if s.pos > 0 {
			s.slide()
		}
		if s.end == len(s.buf) { // full of what was really there
			s.buf = append(make([]byte, 0, min(4*len(s.buf), max(n, 2*len(s.buf)))), s.buf...)
			s.buf = s.buf[:cap(s.buf)]
		}
		got, err := s.r.Read(s.buf[s.end:])
		s.end += got
		if err != nil {
			s.done = true
			if !errors.Is(err, io.EOF) {
				s.err = err
			}
		}
	}
	return true
}

// slide moves the command that has begun to the front of the buffer.
func (s *Scanner) slide() {
	rest := s.buf[s.pos:s.end]
	if len(s.buf) > keepBuffer && len(rest) < bufferSize {
		s.buf = make([]byte, bufferSize)
	}
	copy(s.buf, rest)
	s.base += int64(s.pos)
	s.pos, s.end = 0, len(rest)
}

// noCommand says why no command begins here: nil if it was a blank line, which is
// passed over then.
func (s *Scanner) noCommand() error {
	if s.err != nil {
		return s.err
	}
	if !s.need(1) {
		if s.err != nil {
			return s.err
		}
		return io.EOF
	}
	s.need(6)
	switch b := s.buf[s.pos:s.end]; {
	case s.err != nil:
		return s.err
	case b[0] == '\n':
		s.pos++
		return nil
	case bytes.HasPrefix(b, []byte("\r\n")):
		s.pos += 2
		return nil
	case b[0] == '#':
		return s.annotation()
	case s.Offset() == 0 && bytes.HasPrefix(b, []byte(byteOrderMark)):
		return s.wrong(0, "the input begins with a byte order mark, which is no part of the protocol: save it without one")
	case s.Offset() == 0 && bytes.HasPrefix(b, []byte("REDIS")):
		return s.wrong(0, "this is %s", snapshot)
	case b[0] != '*':
		return s.wrong(0, "expected a command, which begins with *, found %q%s", shorten(b, 16), wordHint(b[0]))
	}
	return s.noLength(0, '*', maxArgs)
}

// maxAnnotation is the longest line that a server passes over.
const maxAnnotation = 128

// annotation passes over a line such as "#TS:1795308651", which a server writes into its
// append-only file with aof-timestamp-enabled, and passes over when it loads the file.
func (s *Scanner) annotation() error {
	for n := 1; s.need(n) && n <= maxAnnotation; n++ {
		if s.buf[s.pos+n-1] == '\n' {
			s.pos += n
			return nil
		}
	}
	if s.end-s.pos < maxAnnotation {
		return s.cut(0, "the end of an annotation, which begins with #,")
	}
	return s.wrong(0, "the annotation, a line that begins with #, is longer than %d bytes", maxAnnotation)
}

// noLength says why there is no length at byte at of the command.
func (s *Scanner) noLength(at int, kind byte, most int) error {
	what, limit := "the number of arguments", ""
	if kind == '$' {
		what, limit = "the length of an argument", " by default"
	}
	s.need(at + 24)
	if s.err != nil {
		return s.err
	}
	b := s.buf[s.pos:s.end]
	if len(b) <= at {
		return s.cut(at, fmt.Sprintf("%c and %s", kind, what))
	}
	b = b[at:]
	if b[0] != kind {
		return s.wrong(at, "expected %c and %s, found %q", kind, what, shorten(b, 16))
	}
	digits := 1
	for digits < len(b) && b[digits] >= '0' && b[digits] <= '9' {
		digits++
	}
	switch {
	case len(b) == 1:
		return s.cut(at+1, what)
	case b[1] == '-':
		return s.wrong(at+1, "%s is negative", what)
	case digits == 1:
		return s.wrong(at+1, "expected %s, found %q", what, shorten(b[1:], 16))
	case digits > 2 && b[1] == '0':
		return s.wrong(at+1, "%s begins with 0: a server takes no such number", what)
	case digits > 10 || number(b[1:digits]) > most:
		return s.wrong(at+1, "%s is more than %d, the most that a server takes%s", what, most, limit)
	case digits == len(b), len(b) == digits+1 && b[digits] == '\r':
		return s.cut(at+digits, "CRLF")
	}
	return s.wrong(at+digits, "expected CRLF behind %s, found %q%s", what, shorten(b[digits:], 16), lfHint(b[digits]))
}

func number(digits []byte) (n int) {
	for _, d := range digits {
		n = n*10 + int(d-'0')
	}
	return n
}

// lfHint explains the commonest mistake.
func lfHint(b byte) string {
	if b != '\n' {
		return ""
	}
	return "; lines of the protocol end in CR LF, these end in LF alone: unix2dos can mend text, and the format " +
		`"commands" takes lines as they are typed`
}

// wordHint is for those who have commands as they are typed.
func wordHint(b byte) string {
	if b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' {
		return `; for commands as they are typed there is the format "commands"`
	}
	return ""
}

func (s *Scanner) wrong(at int, format string, args ...any) error {
	return &InputError{Offset: s.Offset() + int64(at), Msg: fmt.Sprintf(format, args...)}
}

// cut is the error of an input that ends within a command.
func (s *Scanner) cut(at int, expected string) error {
	if s.err != nil {
		return s.err
	}
	return &InputError{
		Offset: s.base + int64(s.end),
		Msg: fmt.Sprintf("the input ends within the command that begins at byte %d: expected %s at byte %d",
			s.Offset(), expected, s.Offset()+int64(at)),
	}
}

// shorten returns the beginning of what was found.
func shorten(b []byte, most int) []byte { return b[:min(len(b), most)] }

// respSource is an input in the protocol itself.
type respSource struct{ s *Scanner }

func newRESP(r io.Reader, start position) *respSource {
	s := NewScanner(r)
	s.base = start.Offset
	return &respSource{s: s}
}

func (r *respSource) next(f *Frame) (place, error) {
	err := r.s.scan(f)
	return place{Offset: r.s.Offset()}, err
}

func (r *respSource) end() (position, bool) {
	return position{Offset: r.s.Offset() + int64(r.s.size)}, true
}

func (r *respSource) passedOver() int64 { return 0 }
