package rdf

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxLine is the maximum length of a line, in bytes: three names with every
// character escaped.
const maxLine = 4 << 20

// Read yields the triples of a file while it reads it. An invalid line is yielded as
// a *SyntaxError, and the iteration continues with the next line. Any other error is
// an error of the reader and ends the iteration.
func Read(r io.Reader, format Format) iter.Seq2[Triple, error] {
	return func(yield func(Triple, error) bool) {
		lines := newLineReader(r)
		parse, err := parserOf(format, lines.r)
		if err != nil {
			yield(Triple{}, err)
			return
		}
		for {
			line, err := lines.next()
			if err == io.EOF {
				return
			}
			var t Triple
			ok := true
			if err == nil {
				t, ok, err = parse(line)
			}
			if syntax := (*SyntaxError)(nil); errors.As(err, &syntax) {
				syntax.Line = lines.number
				err = syntax
			} else if err != nil {
				yield(Triple{}, fmt.Errorf("rdf: line %d: %w", lines.number, err))
				return
			}
			if (ok || err != nil) && !yield(t, err) {
				return
			}
		}
	}
}

// byteOrderMark begins the files of some editors; it is not part of a name.
const byteOrderMark = "\ufeff"

// lineReader reads lines of bounded length.
type lineReader struct {
	r      *bufio.Reader
	number int
}

func newLineReader(r io.Reader) *lineReader {
	lines := &lineReader{r: bufio.NewReaderSize(r, 64<<10)}
	if head, _ := lines.r.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
		_, _ = lines.r.Discard(len(head)) // cannot fail: these bytes are buffered
	}
	return lines
}

// next returns the next line without its end. A line that is too long is skipped and
// reported as a *SyntaxError.
func (l *lineReader) next() (string, error) {
	l.number++
	var line []byte
	tooLong := false
	for {
		part, err := l.r.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > maxLine; !tooLong {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(line) == 0 && !tooLong:
			return "", io.EOF
		case err != nil && err != io.EOF:
			return "", err
		case tooLong:
			return "", &SyntaxError{Text: fmt.Sprintf("the line has more than %d bytes", maxLine)}
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		return string(line), nil
	}
}
