package shell

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxLine bounds a line of text, in bytes.
const maxLine = 64 << 10

// Lines yields what parse makes of each line of all files, and rejects the lines that it
// refuses or that are too long. Empty lines are skipped. The error is that of a file that
// cannot be read.
func Lines[T any](in *Inputs, parse func(line string) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, f := range in.Files {
			if !readLines(in, f, parse, yield) {
				return
			}
		}
	}
}

// readLines yields the lines of one file, and reports whether to continue.
func readLines[T any](in *Inputs, f File, parse func(string) (T, error), yield func(T, error) bool) bool {
	r := bufio.NewReaderSize(f, maxLine+len("\r\n"))
	for number := 1; ; number++ {
		line, err := r.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			var none T
			return yield(none, fmt.Errorf("%s:%d: %w", f.Name, number, err))
		}
		text := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if number == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff")) // a byte order mark
		}
		var value, none T
		wrong := fmt.Errorf("the line is longer than %d bytes", maxLine)
		if !long && len(text) <= maxLine {
			value, wrong = parse(string(text))
		}
		switch {
		case len(text) == 0:
		case wrong != nil:
			if err := in.Reject(f.Name, number, wrong); err != nil {
				yield(none, err)
				return false
			}
		default:
			in.Accept()
			if !yield(value, nil) {
				return false
			}
		}
		if err != nil {
			return true
		}
	}
}
