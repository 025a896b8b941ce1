package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"retwis/bulk/resp"
)

// lineReader reads lines of at most maxRecord bytes and counts them.
type lineReader struct {
	r    *bufio.Reader
	long []byte   // a line that is longer than the buffer
	pos  Position // after the current line
	at   int64    // start of the current line
}

func newLineReader(r io.Reader, start Position) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, bufferSize), pos: start}
}

// next returns the next line that is not blank, without its line end, valid until the
// following call.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.read()
		if err != nil {
			return nil, err
		}
		if l.pos.Line == 1 {
			line = bytes.TrimPrefix(line, []byte(byteOrderMark))
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'}), nil
		}
	}
}

func (l *lineReader) begin() Place { return Place{Line: l.pos.Line, Offset: l.at} }

func (l *lineReader) end() Position { return l.pos }

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
		return nil, &resp.InputError{Line: l.pos.Line + 1, Offset: l.at, Msg: fmt.Sprintf("the line is longer than %d MiB", maxRecord>>20)}
	case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0):
		return nil, err
	}
	l.pos.Line++
	return line, nil
}

// linesSource is an input of commands as they are typed into redis-cli.
type linesSource struct {
	lines   *lineReader
	split   splitter
	guessed bool // the format was detected, not given
	begun   bool // the first command was read
}

func newLines(r io.Reader, start Position, guessed bool) *linesSource {
	return &linesSource{lines: newLineReader(r, start), guessed: guessed, begun: start.Offset > 0}
}

func (s *linesSource) Next(f *resp.Frame) (Place, error) {
	for {
		line, err := s.lines.next()
		at := s.lines.begin()
		if err != nil {
			return at, err
		}
		if err := notTyped(line, s.guessed); err != nil {
			return at, &resp.InputError{Line: at.Line, Offset: at.Offset, Msg: err.Error()}
		}
		words, err := s.split.split(line)
		if err != nil {
			return at, &BadRecord{InputError: resp.InputError{Line: at.Line, Offset: at.Offset, Msg: err.Error()}, Text: line}
		}
		if len(words) > 0 && s.guessed && !s.begun {
			if err := notCommand(words[0]); err != nil {
				return at, &resp.InputError{Line: at.Line, Offset: at.Offset, Msg: err.Error()}
			}
		}
		if len(words) == 0 { // zero bytes, which a crash leaves at the end of a file
			continue
		}
		s.begun = true
		f.Reset(len(words))
		for _, w := range words {
			f.Add(w)
		}
		return at, nil
	}
}

func (s *linesSource) End() (Position, bool) { return s.lines.pos, true }

func (s *linesSource) Skipped() int64 { return 0 }
