package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"retwis/bulk/resp"
	"retwis/internal/window"
)

// arrayReader reads the elements of one JSON array. It only determines where each element ends; the
// elements are parsed later.
type arrayReader struct {
	w        *window.Window
	lines    int64 // number of line ends before the unread input
	begun    bool  // the opening bracket was read
	notFirst bool  // an element was read
	done     bool  // the closing bracket was read
	at       Place
}

func newArrayReader(r io.Reader, start Position) *arrayReader {
	return &arrayReader{
		w: window.New(r, start.Offset, maxRecord), lines: start.Line, begun: start.Offset > 0, notFirst: start.Offset > 0,
	}
}

func (a *arrayReader) begin() Place { return a.at }

func (a *arrayReader) end() Position {
	return Position{Offset: a.w.Offset(), Line: a.lines}
}

// peek skips blanks and returns the next byte, or 0 at the end.
func (a *arrayReader) peek() (byte, error) {
	for {
		for i, c := range a.w.Bytes() {
			switch c {
			case '\n':
				a.lines++
			case ' ', '\t', '\r':
			default:
				a.w.Take(i)
				return c, nil
			}
		}
		a.w.Take(len(a.w.Bytes()))
		if err := a.w.More(); err != nil {
			return 0, NotEOF(err)
		}
	}
}

// next returns the next element.
func (a *arrayReader) next() ([]byte, error) {
	c, err := a.separator()
	a.at = Place{Line: a.lines + 1, Offset: a.w.Offset()}
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
	a.notFirst = true
	text := a.w.Take(n)
	a.lines += int64(bytes.Count(text, []byte{'\n'}))
	return text, nil
}

// separator skips to the next element and returns its first byte. After the last element it returns
// io.EOF.
func (a *arrayReader) separator() (byte, error) {
	if err := a.w.SkipByteOrderMark(); err != nil {
		return 0, err
	}
	c, err := a.peek()
	if err == nil && !a.begun {
		switch c {
		case 0:
			return 0, a.wrong("the input is empty: expected a JSON array", true)
		case '[':
			a.w.Take(1)
			a.begun = true
			c, err = a.peek()
		default:
			return 0, a.wrong(fmt.Sprintf("expected a JSON array, which begins with [, found %q; for one object per line, use the format ndjson", c), false)
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
		a.w.Take(1)
		a.done = true
		return a.separator()
	case a.notFirst && c == ',':
		a.w.Take(1)
		if c, err = a.peek(); c == ']' || c == ',' {
			return 0, a.wrong(fmt.Sprintf("expected a record after the comma, found %q", c), false)
		}
		return c, err
	case a.notFirst && c != 0:
		return 0, a.wrong(fmt.Sprintf("expected a comma or ] after a record, found %q", c), false)
	case c == ',':
		return 0, a.wrong("expected a record, found a comma", false)
	}
	return c, nil
}

// element returns the length of the element at the start of the unread input.
func (a *arrayReader) element() (int, error) {
	depth, quoted, escaped := 0, false, false
	for i := 0; ; {
		for text := a.w.Bytes(); i < len(text); i++ {
			c := text[i]
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
		switch err := a.w.More(); {
		case errors.Is(err, window.ErrTooLong):
			return 0, a.wrong(fmt.Sprintf("the record is longer than %d MiB: is a quote or a bracket left open?", maxRecord>>20), false)
		case errors.Is(err, io.EOF):
			return 0, a.wrong("the input ends within the record that begins here", true)
		case err != nil:
			return 0, err
		}
	}
}

func (a *arrayReader) wrong(msg string, truncated bool) error {
	return &resp.InputError{Line: a.lines + 1, Offset: a.w.Offset(), Msg: msg, Truncated: truncated}
}
