package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"retwis/bulk/resp"
)

// arrayReader reads the elements of one JSON array. It finds where each of them ends; what
// is in it is checked later.
type arrayReader struct {
	r     io.Reader
	buf   []byte
	pos   int   // of the next byte in buf
	until int   // end of the bytes in buf
	base  int64 // offset of buf[0] in the file
	eof   bool
	lines int64 // line ends before pos
	begun bool  // the bracket that opens the array was read
	some  bool  // an element was read
	done  bool  // the bracket that closes the array was read
	at    Place
}

func newArrayReader(r io.Reader, start Position) *arrayReader {
	return &arrayReader{
		r: r, buf: make([]byte, bufferSize), base: start.Offset, lines: start.Line,
		begun: start.Offset > 0, some: start.Offset > 0,
	}
}

func (a *arrayReader) begin() Place { return a.at }

func (a *arrayReader) end() Position {
	return Position{Offset: a.base + int64(a.pos), Line: a.lines}
}

// fill reads more and reports whether there is any.
func (a *arrayReader) fill() (bool, error) {
	if a.eof {
		return false, nil
	}
	if a.pos > 0 {
		a.base += int64(a.pos)
		a.until = copy(a.buf, a.buf[a.pos:a.until])
		a.pos = 0
	}
	if a.until == len(a.buf) {
		a.buf = append(a.buf, make([]byte, len(a.buf))...)
	}
	n, err := a.r.Read(a.buf[a.until:])
	a.until += n
	if errors.Is(err, io.EOF) {
		a.eof, err = true, nil
	}
	return n > 0 || !a.eof, err
}

// peek skips blanks and returns the next byte, or 0 at the end.
func (a *arrayReader) peek() (byte, error) {
	for {
		for ; a.pos < a.until; a.pos++ {
			switch c := a.buf[a.pos]; c {
			case '\n':
				a.lines++
			case ' ', '\t', '\r':
			default:
				return c, nil
			}
		}
		if more, err := a.fill(); err != nil || !more {
			return 0, err
		}
	}
}

// next returns the next element.
func (a *arrayReader) next() ([]byte, error) {
	c, err := a.separator()
	a.at = Place{Line: a.lines + 1, Offset: a.base + int64(a.pos)}
	if err != nil {
		return nil, err
	}
	if c == 0 {
		return nil, a.wrong("the input ends within the array: ] is missing", true)
	}
	n, err := a.element()
	if err != nil {
		return nil, err
	}
	a.some = true
	text := a.buf[a.pos : a.pos+n : a.pos+n]
	a.pos += n
	a.lines += int64(bytes.Count(text, []byte{'\n'}))
	return text, nil
}

// separator goes to the next element and returns its first byte, io.EOF after the last one.
func (a *arrayReader) separator() (byte, error) {
	c, err := a.peek()
	if err == nil && !a.begun {
		for more := c == byteOrderMark[0]; more && err == nil && a.until-a.pos < len(byteOrderMark); {
			more, err = a.fill()
		}
		if err == nil && a.base == 0 && a.until-a.pos >= 3 && string(a.buf[a.pos:a.pos+3]) == byteOrderMark {
			a.pos += 3
			c, err = a.peek()
		}
		if err == nil && c == 0 {
			err = a.wrong("the input is empty: expected a JSON array", true)
		}
		if err == nil && c != '[' {
			err = a.wrong(fmt.Sprintf("expected a JSON array, which begins with [, found %q; for one object a line use the format ndjson", c), false)
		}
		if err == nil {
			a.pos++
			a.begun = true
			c, err = a.peek()
		}
	}
	if err != nil {
		return 0, err
	}
	switch {
	case a.done && c == 0:
		return 0, io.EOF
	case a.done:
		return 0, a.wrong(fmt.Sprintf("expected the end of the input after the array, found %q", c), false)
	case c == ']':
		a.pos++
		a.done = true
		return a.separator()
	case a.some && c == ',':
		a.pos++
		if c, err = a.peek(); c == ']' || c == ',' {
			return 0, a.wrong(fmt.Sprintf("expected a record after the comma, found %q", c), false)
		}
		return c, err
	case a.some && c != 0:
		return 0, a.wrong(fmt.Sprintf("expected a comma or ] after a record, found %q", c), false)
	case c == ',':
		return 0, a.wrong("expected a record, found a comma", false)
	}
	return c, nil
}

// element returns the length of the element that begins here.
func (a *arrayReader) element() (int, error) {
	depth, quoted, escaped := 0, false, false
	for i := 0; ; {
		for ; a.pos+i < a.until; i++ {
			c := a.buf[a.pos+i]
			switch {
			case escaped:
				escaped = false
			case quoted && c == '\\':
				escaped = true
			case c == '"':
				quoted = !quoted
			case quoted:
			case c == '{' || c == '[':
				depth++
			case (c == '}' || c == ']') && depth > 0:
				if depth--; depth == 0 {
					return i + 1, nil
				}
			case depth == 0 && (c == ',' || c == ']'):
				return i, nil
			}
		}
		if i > maxRecord {
			return 0, a.wrong(fmt.Sprintf("the record is longer than %d MiB: is a quote or a bracket left open?", maxRecord>>20), false)
		}
		more, err := a.fill()
		if err != nil {
			return 0, err
		}
		if !more {
			return 0, a.wrong("the input ends within the record that begins here", true)
		}
	}
}

func (a *arrayReader) wrong(msg string, truncated bool) error {
	return &resp.InputError{Line: a.lines + 1, Offset: a.base + int64(a.pos), Msg: msg, Truncated: truncated}
}
