package shell

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"golang.org/x/term"
)

// Inputs are files of lines or records. A bad line is reported with its file and line number, and
// reading continues. If Strict is set, a bad line is an error.
type Inputs struct {
	Files              []File
	Accepted, Rejected int64
	Strict             bool // for a rebuild, where a skipped line would be lost data

	command  *Command
	unit     string // what is read, in the plural, such as "entries"
	terminal bool
	begin    time.Time
	shown    time.Time
}

// File is an open file and its name.
type File struct {
	Name string
	io.ReadCloser
}

// maxRejectedShown limits the number of rejected lines shown.
const maxRejectedShown = 20

// OpenInputs opens all files before reading any; without names it reads standard input. Files may
// be compressed.
func (c *Command) OpenInputs(names []string, unit string) (*Inputs, error) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	in := &Inputs{command: c, begin: time.Now(), unit: unit, terminal: IsTerminal(c.Stderr)}
	for _, name := range names {
		f, _, err := OpenFile(c.Stdin, name)
		if err != nil {
			in.Close()
			return nil, err
		}
		if name == "-" {
			name = "stdin"
		}
		in.Files = append(in.Files, File{name, newUnpacking(newInterruptible(c.Context(), f))})
	}
	return in, nil
}

// Close closes the files.
func (in *Inputs) Close() {
	in.clear()
	for _, f := range in.Files {
		_ = f.Close() // read-only, so an error does not matter
	}
}

// Reject reports a bad line. If Strict is set, Reject returns an error, which the caller must yield
// last.
func (in *Inputs) Reject(file string, line int, err error) error {
	lineErr := fmt.Errorf("%s:%d: %s", file, line, OneLine(err))
	if in.Strict {
		return Hint(lineErr, "Nothing was changed. Correct the line, or leave out bad lines with --skip-bad.")
	}
	if in.Rejected++; in.Rejected <= maxRejectedShown {
		in.clear()
		fmt.Fprintln(in.command.Stderr, lineErr)
	}
	return nil
}

// Accept counts a line or record and shows progress on a terminal.
func (in *Inputs) Accept() {
	in.Accepted++
	if !in.terminal || in.Accepted%1000 != 0 || time.Since(in.shown) < 100*time.Millisecond {
		return
	}
	in.shown = time.Now()
	fmt.Fprintf(in.command.Stderr, "\r%s %s, %s/s ", Thousands(in.Accepted), in.unit, Thousands(int64(float64(in.Accepted)/time.Since(in.begin).Seconds())))
}

func (in *Inputs) clear() {
	if in.terminal {
		clearLine(in.command.Stderr)
	}
}

// Report prints the summary. If a line was rejected, Report returns an error.
func (in *Inputs) Report() error {
	in.clear()
	if in.Rejected > maxRejectedShown {
		fmt.Fprintf(in.command.Stderr, "… and %d more\n", in.Rejected-maxRejectedShown)
	}
	if err := in.command.printInput(in.unit, in.Accepted, in.Rejected); err != nil {
		return err
	}
	if in.Rejected > 0 {
		return ErrReported
	}
	return nil
}

func (c *Command) printInput(unit string, accepted, rejected int64) (err error) {
	if c.JSON {
		_, err = fmt.Fprintf(c.Stdout, "{%q:%d,\"bad\":%d}\n", unit, accepted, rejected)
	} else {
		_, err = fmt.Fprintf(c.Stdout, "%s: %d, bad: %d\n", unit, accepted, rejected)
	}
	return err
}

// UntilError returns the values of seq up to its first error. failed returns that error once values
// is exhausted.
func UntilError[E any](seq iter.Seq2[E, error]) (values iter.Seq[E], failed func() error) {
	var first error
	values = func(yield func(E) bool) {
		for e, err := range seq {
			if first = err; err != nil || !yield(e) {
				return
			}
		}
	}
	return values, func() error { return first }
}

// OpenFile opens a file, or standard input for "-", and returns its size, or -1 if unknown.
func OpenFile(stdin io.Reader, name string) (io.ReadCloser, int64, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, 0, Usage(err)
		}
		info, err := f.Stat()
		if err == nil && info.IsDir() {
			err = fmt.Errorf("%s is a directory: name a file", name)
		}
		if err != nil {
			return nil, 0, Usage(errors.Join(err, f.Close()))
		}
		if !info.Mode().IsRegular() {
			return f, -1, nil
		}
		return f, info.Size(), nil
	}
	f, ok := stdin.(*os.File)
	if !ok {
		return io.NopCloser(stdin), -1, nil
	}
	if term.IsTerminal(int(f.Fd())) {
		return nil, 0, Usage(errors.New("no input: name a file, or pipe data in"))
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		return f, info.Size(), nil
	}
	return f, -1, nil
}
