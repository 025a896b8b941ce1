package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// inputs are files of lines or records. A bad one is told by its file and number,
// and the rest goes in.
type inputs struct {
	cmd      *cobra.Command
	names    []string
	files    []io.ReadCloser
	terminal bool
	begin    time.Time
	shown    time.Time
	what     string // they are of, as in "entries"

	good, bad int64
}

// shownBad is how many bad lines are shown.
const shownBad = 20

// openInputs opens all files before anything of them is read; none is standard
// input. They may be compressed.
func openInputs(cmd *cobra.Command, env Env, names []string, what string) (*inputs, error) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	in := &inputs{cmd: cmd, begin: time.Now(), what: what, terminal: isTerminal(cmd.ErrOrStderr())}
	for _, name := range names {
		f, _, err := openFile(env.Stdin, name)
		if err != nil {
			in.close()
			return nil, err
		}
		if name == "-" {
			name = "stdin"
		}
		in.names, in.files = append(in.names, name), append(in.files, unpack(newInterruptible(cmd.Context(), f)))
	}
	return in, nil
}

func (in *inputs) close() {
	in.wipe()
	for _, f := range in.files {
		_ = f.Close() // it was only read
	}
}

// wrong tells of a bad line.
func (in *inputs) wrong(name string, line int, err error) {
	if in.bad++; in.bad <= shownBad {
		in.wipe()
		fmt.Fprintf(in.cmd.ErrOrStderr(), "%s:%d: %s\n", name, line, oneLine(err))
	}
}

// right counts a good one, and shows on a terminal how far it has come.
func (in *inputs) right() {
	in.good++
	if !in.terminal || in.good%1000 != 0 || time.Since(in.shown) < 100*time.Millisecond {
		return
	}
	in.shown = time.Now()
	fmt.Fprintf(in.cmd.ErrOrStderr(), "\r%s %s, %s/s ", thousands(in.good), in.what, thousands(int64(float64(in.good)/time.Since(in.begin).Seconds())))
}

func (in *inputs) wipe() {
	if in.terminal {
		fmt.Fprint(in.cmd.ErrOrStderr(), "\r\x1b[K")
	}
}

// tell prints the summary, and fails if something was bad.
func (in *inputs) tell(asJSON bool) error {
	in.wipe()
	if in.bad > shownBad {
		fmt.Fprintf(in.cmd.ErrOrStderr(), "… and %d more\n", in.bad-shownBad)
	}
	var err error
	if asJSON {
		_, err = fmt.Fprintf(in.cmd.OutOrStdout(), "{%q:%d,\"bad\":%d}\n", in.what, in.good, in.bad)
	} else {
		_, err = fmt.Fprintf(in.cmd.OutOrStdout(), "%s: %d, bad: %d\n", in.what, in.good, in.bad)
	}
	if err == nil && in.bad > 0 {
		return errTold
	}
	return err
}
