package bulk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// keptText is how much of an error or a string is kept, to be shown.
const keptText = 512

// maxDepth is how deep replies may be nested.
const maxDepth = 32

var errProtocol = errors.New("the server does not answer in Redis' protocol")

// replies reads what a server answers, and keeps no more of it than is shown.
type replies struct {
	r        io.Reader
	buf      []byte
	pos, end int
	text     []byte  // of the last error, or the beginning of the last string
	inside   []inner // the errors among several answers: EXEC
	before   func()  // called before each read, if set
}

// inner is an error that is one of several answers.
type inner struct {
	index int
	text  string
}

func newReplies(r io.Reader) *replies { return &replies{r: r, buf: make([]byte, 64<<10)} }

// oks passes over the plain successes that have come already, at most n, and
// returns how many.
func (p *replies) oks(n int) (passed int) {
	b := p.buf[p.pos:p.end]
	for passed < n && len(b) >= 5 {
		switch {
		case b[0] == '+' && b[1] == 'O' && b[2] == 'K' && b[3] == '\r' && b[4] == '\n':
			b = b[5:]
		case b[0] == ':' && b[2] == '\r' && b[3] == '\n': // a digit: 1
			b = b[4:]
		default:
			p.pos = p.end - len(b)
			return passed
		}
		passed++
	}
	p.pos = p.end - len(b)
	return passed
}

// next reads one answer, and tells whether it is an error. Its words are in p.text.
func (p *replies) next() (failed bool, err error) {
	p.text, p.inside = p.text[:0], p.inside[:0]
	return p.read(0)
}

func (p *replies) read(depth int) (failed bool, err error) {
	line, err := p.line()
	if err != nil {
		return false, err
	}
	if len(line) == 0 || depth > maxDepth {
		return false, errProtocol
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
		return false, p.several(line[0], line[1:], depth)
	}
	return false, fmt.Errorf("%w: %q", errProtocol, shorten(line, 20))
}

// several reads the answers within one, and keeps the errors among them.
func (p *replies) several(kind byte, length []byte, depth int) error {
	if len(length) > 0 && length[0] == '-' {
		return nil
	}
	n, ok := parseLength(length)
	if !ok {
		return errProtocol
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
			p.inside = append(p.inside, inner{i, string(p.text)})
		}
	}
	return nil
}

// bulk passes over a string.
func (p *replies) bulk(length []byte) error {
	if len(length) > 0 && length[0] == '-' {
		return nil
	}
	n, ok := parseLength(length)
	if !ok {
		return errProtocol
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

func (p *replies) keep(text []byte) {
	p.text = append(p.text, shorten(text, keptText-min(len(p.text), keptText))...)
}

// line reads to the end of a line, which is cut off. It is valid until the next
// call.
func (p *replies) line() ([]byte, error) {
	for from := 0; ; {
		if i := bytes.IndexByte(p.buf[p.pos+from:p.end], '\n'); i >= 0 {
			line := p.buf[p.pos : p.pos+from+i]
			p.pos += from + i + 1
			return bytes.TrimSuffix(line, []byte{'\r'}), nil
		}
		from = p.end - p.pos
		if p.pos == 0 && p.end == len(p.buf) {
			return nil, errProtocol
		}
		if err := p.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads more behind what has not been taken yet.
func (p *replies) fill() error {
	if p.pos > 0 {
		copy(p.buf, p.buf[p.pos:p.end])
		p.pos, p.end = 0, p.end-p.pos
	}
	if p.before != nil {
		p.before()
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
