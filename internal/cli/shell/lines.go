package shell

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxLine is the maximum length of a line in bytes.
const maxLine = 64 << 10

// Lines yields the result of parse for each line of all files. Lines rejects lines that parse
// refuses or that are too long, and skips empty lines. It yields an error only if a file cannot be
// read, or if a line is rejected and in.Strict is set.
func Lines[T any](in *Inputs, parse func(line string) (T, error)) iter.Seq2[T, error] {
	return LongLines(in, maxLine, parse)
}

// LongLines is like Lines with a maximum line length of maxLength bytes.
func LongLines[T any](in *Inputs, maxLength int, parse func(line string) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, f := range in.Files {
			if !readLines(in, f, maxLength, parse, yield) {
				return
			}
		}
	}
}

// readLines yields the lines of one file and reports whether to continue.
func readLines[T any](in *Inputs, f File, maxLength int, parse func(string) (T, error), yield func(T, error) bool) bool {
	var zero T
	for l, err := range f.lines(maxLength) {
		if err != nil {
			return yield(zero, err)
		}
		if l.text == "" && l.wrong == nil {
			continue
		}
		value, wrong := zero, l.wrong
		if wrong == nil {
			value, wrong = parse(l.text)
		}
		if wrong != nil {
			if err := in.Reject(f.Name, l.number, wrong); err != nil {
				yield(zero, err)
				return false
			}
			continue
		}
		in.Accept()
		if !yield(value, nil) {
			return false
		}
	}
	return true
}

// line is a line of a file.
type line struct {
	number int
	text   string
	wrong  error // set if the line is too long
}

// lines yields the lines of a file, without line endings and byte order mark. An error comes last.
func (f File) lines(maxLength int) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		r := bufio.NewReaderSize(f, maxLength+len("\r\n"))
		for number := 1; ; number++ {
			read, err := r.ReadSlice('\n')
			long := errors.Is(err, bufio.ErrBufferFull)
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = r.ReadSlice('\n')
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(line{}, fmt.Errorf("%s:%d: %w", f.Name, number, err))
				return
			}
			text := bytes.TrimSuffix(bytes.TrimSuffix(read, []byte("\n")), []byte("\r"))
			if number == 1 {
				text = bytes.TrimPrefix(text, []byte("\ufeff"))
			}
			l := line{number: number}
			if long || len(text) > maxLength {
				l.wrong = fmt.Errorf("the line is longer than %d bytes", maxLength)
			} else {
				l.text = string(text)
			}
			if !yield(l, nil) || err != nil {
				return
			}
		}
	}
}
