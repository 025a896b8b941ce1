package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"retwis/bulk/resp"
)

// keptText limits the number of bytes kept of an error or a string, for reports.
const keptText = 512

// maxDepth limits the nesting of replies.
const maxDepth = 32

// ErrProtocol is returned for a reply that does not follow the Redis protocol.
var ErrProtocol = errors.New("the server does not answer in Redis' protocol")

// Replies reads the replies of a server and keeps only the text needed for reports.
type Replies struct {
	// BeforeRead, if set, is called before each read from the connection.
	BeforeRead func()
	// Inner holds the errors inside the last reply, if it is an array, such as the reply to EXEC.
	Inner []InnerError

	r        io.Reader
	buf      []byte
	pos, end int
	text     []byte // the last error, or the start of the last string
}

// InnerError is an error inside an array reply.
type InnerError struct {
	Index int
	Text  string
}

func newReplies(r io.Reader) *Replies { return &Replies{r: r, buf: make([]byte, 64<<10)} }

// Text returns the last error or the start of the last string, valid until the next reply is
// read.
func (p *Replies) Text() []byte { return p.text }

// Rest returns a reader of the data after the replies that were read.
func (p *Replies) Rest() io.Reader {
	return io.MultiReader(bytes.NewReader(p.buf[p.pos:p.end]), p.r)
}

// SkipOK skips at most n buffered replies that report success (+OK or a one-digit integer), and
// returns their number.
func (p *Replies) SkipOK(n int) (skipped int) {
	b := p.buf[p.pos:p.end]
	for skipped < n && len(b) >= 5 {
		switch {
		case b[0] == '+' && b[1] == 'O' && b[2] == 'K' && b[3] == '\r' && b[4] == '\n':
			b = b[5:]
		case b[0] == ':' && b[2] == '\r' && b[3] == '\n': // single digit
			b = b[4:]
		default:
			p.pos = p.end - len(b)
			return skipped
		}
		skipped++
	}
	p.pos = p.end - len(b)
	return skipped
}

// Next reads one reply and reports whether it is an error. See Text and Inner.
func (p *Replies) Next() (failed bool, err error) {
	p.text, p.Inner = p.text[:0], p.Inner[:0]
	return p.read(0)
}

func (p *Replies) read(depth int) (failed bool, err error) {
	line, err := p.line()
	if err != nil {
		return false, err
	}
	if len(line) == 0 || depth > maxDepth {
		return false, ErrProtocol
	}
	switch line[0] {
	case '+', ':', '_', ',', '#', '(':
		p.keep(line[1:])
		return false, nil
	case '-':
		p.keep(line[1:])
		return true, nil
	case '$', '=':
		return false, p.bulk(line[1:])
	case '*', '~', '%', '>':
		return false, p.array(line[0], line[1:], depth)
	}
	return false, fmt.Errorf("%w: %q", ErrProtocol, resp.Shorten(line, 20))
}

// array reads an array, map, set or push message, and keeps the errors among its elements.
func (p *Replies) array(kind byte, length []byte, depth int) error {
	if len(length) > 0 && length[0] == '-' {
		return nil
	}
	n, ok := parseLength(length)
	if !ok {
		return ErrProtocol
	}
	if kind == '%' {
		n *= 2
	}
	for i := range n {
		p.text = p.text[:0]
		failed, err := p.read(depth + 1)
		if err != nil {
			return err
		}
		if failed && depth == 0 {
			p.Inner = append(p.Inner, InnerError{i, string(p.text)})
		}
	}
	return nil
}

// bulk skips a bulk string and keeps its start.
func (p *Replies) bulk(length []byte) error {
	if len(length) > 0 && length[0] == '-' {
		return nil
	}
	n, ok := parseLength(length)
	if !ok {
		return ErrProtocol
	}
	for n += 2; n > 0; {
		if p.pos == p.end {
			if err := p.fill(); err != nil {
				return err
			}
		}
		got := min(n, p.end-p.pos)
		p.keep(p.buf[p.pos : p.pos+min(got, max(n-2, 0))])
		p.pos += got
		n -= got
	}
	return nil
}

// keep appends text to p.text, up to keptText bytes.
func (p *Replies) keep(text []byte) {
	p.text = append(p.text, resp.Shorten(text, keptText-min(len(p.text), keptText))...)
}

// line reads a line and returns it without its line end, valid until the next call.
func (p *Replies) line() ([]byte, error) {
	for from := 0; ; {
		if i := bytes.IndexByte(p.buf[p.pos+from:p.end], '\n'); i >= 0 {
			line := p.buf[p.pos : p.pos+from+i]
			p.pos += from + i + 1
			return bytes.TrimSuffix(line, []byte{'\r'}), nil
		}
		from = p.end - p.pos
		if p.pos == 0 && p.end == len(p.buf) {
			return nil, ErrProtocol
		}
		if err := p.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads more bytes into buf, after the unread bytes.
func (p *Replies) fill() error {
	if p.pos > 0 {
		copy(p.buf, p.buf[p.pos:p.end])
		p.pos, p.end = 0, p.end-p.pos
	}
	if p.BeforeRead != nil {
		p.BeforeRead()
	}
	n, err := p.r.Read(p.buf[p.end:])
	p.end += n
	if n > 0 {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the server closed the connection")
	}
	return err
}

func parseLength(digits []byte) (n int, ok bool) {
	if len(digits) == 0 || len(digits) > 10 {
		return 0, false
	}
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		n = n*10 + int(d-'0')
	}
	return n, true
}
