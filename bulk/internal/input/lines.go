package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"retwis/bulk/resp"
	"retwis/internal/window"
)

// lineReader reads lines of at most maxRecord bytes and counts them.
type lineReader struct {
	w   *window.Window
	pos Position // position after the current line
	at  int64    // start of the current line
}

func newLineReader(r io.Reader, start Position) *lineReader {
	return &lineReader{w: window.New(r, start.Offset, maxRecord), pos: start}
}

// next returns the next non-blank line, without its line end, valid until the following call.
func (l *lineReader) next() ([]byte, error) {
	if err := l.w.SkipByteOrderMark(); err != nil {
		return nil, err
	}
	for {
		l.at = l.w.Offset()
		n, err := l.w.Line(0)
		if errors.Is(err, window.ErrTooLong) {
			return nil, &resp.InputError{Line: l.pos.Line + 1, Offset: l.at, Msg: fmt.Sprintf("the line is longer than %d MiB", maxRecord>>20)}
		}
		if err != nil {
			return nil, err
		}
		line := l.w.Take(n)
		l.pos.Offset = l.w.Offset()
		l.pos.Line++
		if len(bytes.TrimSpace(line)) > 0 {
			return window.TrimEnd(line), nil
		}
	}
}

func (l *lineReader) begin() Place { return Place{Line: l.pos.Line, Offset: l.at} }

func (l *lineReader) end() Position { return l.pos }

// linesSource is an input of commands as typed into redis-cli.
type linesSource struct {
	lines   *lineReader
	split   splitter
	guessed bool // the format was detected, not given
	begun   bool // the first command has been read
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
		if len(words) == 0 { // only NUL bytes, which a crash may leave at the end of a file
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
