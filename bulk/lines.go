package bulk

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// lineReader reads lines, of maxRecord at most, and counts them.
type lineReader struct {
	r    *bufio.Reader
	long []byte   // a line that is longer than the buffer
	pos  position // behind the current line
	at   int64    // where the current line begins
}

func newLineReader(r io.Reader, start position) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, bufferSize), pos: start}
}

// next returns the next line that is not blank, without its end, valid until the
// following call.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.read()
		if err != nil {
			return nil, err
		}
		if l.pos.Line == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'}), nil
		}
	}
}

func (l *lineReader) read() ([]byte, error) {
	l.at = l.pos.Offset
	line, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = l.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) && len(l.long) <= maxRecord {
			l.long = append(l.long, line...)
			line, err = l.r.ReadSlice('\n')
		}
		l.long = append(l.long, line...)
		line = l.long
	}
	l.pos.Offset += int64(len(line))
	switch {
	case len(line) > maxRecord:
		return nil, &InputError{Line: l.pos.Line + 1, Offset: l.at, Msg: fmt.Sprintf("the line is longer than %d MiB", maxRecord>>20)}
	case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0):
		return nil, err
	}
	l.pos.Line++
	return line, nil
}

// linesSource is an input of commands as they are typed.
type linesSource struct {
	lines   *lineReader
	split   splitter
	guessed bool // nobody has said that it is one
	begun   bool // the first command was read
}

func newLines(r io.Reader, start position, guessed bool) *linesSource {
	return &linesSource{lines: newLineReader(r, start), guessed: guessed, begun: start.Offset > 0}
}

func (s *linesSource) next(f *Frame) (place, error) {
	for {
		line, err := s.lines.next()
		at := place{Line: s.lines.pos.Line, Offset: s.lines.at}
		if err != nil {
			return at, err
		}
		if err := notTyped(line, s.guessed); err != nil {
			return at, &InputError{Line: at.Line, Offset: at.Offset, Msg: err.Error()}
		}
		words, err := s.split.split(line)
		if err == nil && len(words) > 0 && s.guessed && !s.begun {
			err = notCommand(words[0])
		}
		if err != nil {
			return at, &InputError{Line: at.Line, Offset: at.Offset, Msg: err.Error()}
		}
		if len(words) == 0 { // of zero bytes, as a crash leaves them at the end of a file
			continue
		}
		s.begun = true
		f.reset(len(words))
		for _, w := range words {
			f.add(w)
		}
		return at, nil
	}
}

func (s *linesSource) end() (position, bool) { return s.lines.pos, true }

func (s *linesSource) passedOver() int64 { return 0 }
