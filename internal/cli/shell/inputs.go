package shell

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Inputs are files of lines or records. A bad one is told by its file and number,
// and the rest goes in.
type Inputs struct {
	Cmd      *cobra.Command
	Names    []string
	Files    []io.ReadCloser
	terminal bool
	begin    time.Time
	shown    time.Time
	What     string // they are of, as in "entries"

	Accepted, Rejected int64
}

// shownBad is how many bad lines are shown.
const shownBad = 20

// OpenInputs opens all files before anything of them is read; none is standard
// input. They may be compressed.
func OpenInputs(cmd *cobra.Command, env Env, names []string, what string) (*Inputs, error) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	in := &Inputs{Cmd: cmd, begin: time.Now(), What: what, terminal: IsTerminal(cmd.ErrOrStderr())}
	for _, name := range names {
		f, _, err := OpenFile(env.Stdin, name)
		if err != nil {
			in.Close()
			return nil, err
		}
		if name == "-" {
			name = "stdin"
		}
		in.Names, in.Files = append(in.Names, name), append(in.Files, unpack(newInterruptible(cmd.Context(), f)))
	}
	return in, nil
}

func (in *Inputs) Close() {
	in.Clear()
	for _, f := range in.Files {
		_ = f.Close() // it was only read
	}
}

// Reject tells of a bad line.
func (in *Inputs) Reject(name string, line int, err error) {
	if in.Rejected++; in.Rejected <= shownBad {
		in.Clear()
		fmt.Fprintf(in.Cmd.ErrOrStderr(), "%s:%d: %s\n", name, line, OneLine(err))
	}
}

// Accept counts a good one, and shows on a terminal how far it has come.
func (in *Inputs) Accept() {
	in.Accepted++
	if !in.terminal || in.Accepted%1000 != 0 || time.Since(in.shown) < 100*time.Millisecond {
		return
	}
	in.shown = time.Now()
	fmt.Fprintf(in.Cmd.ErrOrStderr(), "\r%s %s, %s/s ", Thousands(in.Accepted), in.What, Thousands(int64(float64(in.Accepted)/time.Since(in.begin).Seconds())))
}

func (in *Inputs) Clear() {
	if in.terminal {
		fmt.Fprint(in.Cmd.ErrOrStderr(), "\r\x1b[K")
	}
}

// Report prints the summary, and fails if something was bad.
func (in *Inputs) Report(asJSON bool) error {
	in.Clear()
	if in.Rejected > shownBad {
		fmt.Fprintf(in.Cmd.ErrOrStderr(), "… and %d more\n", in.Rejected-shownBad)
	}
	var err error
	if asJSON {
		_, err = fmt.Fprintf(in.Cmd.OutOrStdout(), "{%q:%d,\"bad\":%d}\n", in.What, in.Accepted, in.Rejected)
	} else {
		_, err = fmt.Fprintf(in.Cmd.OutOrStdout(), "%s: %d, bad: %d\n", in.What, in.Accepted, in.Rejected)
	}
	if err == nil && in.Rejected > 0 {
		return ErrReported
	}
	return err
}

// OpenFile opens a file, or standard input, and tells its size if it has one.
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
		return nil, 0, Usage(errors.New("name a file, or pipe something in"))
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		return f, info.Size(), nil
	}
	return f, -1, nil
}
