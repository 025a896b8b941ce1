package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/internal/store"
)

// What the commands of indexes have in common: retwis index, suggest, graph and
// space.

// parent makes a command of others.
func parent(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.Args = unknownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(children...)
	return cmd
}

// named is what is wrong with the arguments of a command that takes a key and
// more. most may be -1: any number.
func named(least, most int, usage string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("something is missing: %s", usage)
		case most >= 0 && len(args) > most:
			return fmt.Errorf("%q is one argument too many: %s", args[most], usage)
		}
		return nil
	}
}

// withStore opens the database for as long as do runs. What a user can do
// otherwise is wrong usage.
func withStore(cmd *cobra.Command, env Env, url string, do func(context.Context, *store.Store) error) (err error) {
	ctx := cmd.Context()
	if err := ctx.Err(); err != nil {
		return err
	}
	db, err := store.Open(ctx, url, store.Options{Logger: quiet(cmd), Getenv: env.Getenv})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = do(ctx, db)
	if errors.Is(err, index.ErrValue) || errors.Is(err, index.ErrDeclared) {
		return &usageError{errors.New(oneLine(err))}
	}
	return err
}

// asDeclared returns an index that flags have declared, unless it is there and
// was declared otherwise: told before anything is read.
func asDeclared[X interface {
	Len(ctx context.Context) (int64, error)
}](ctx context.Context, x X, err error) (X, error) {
	if err == nil {
		_, err = x.Len(ctx)
	} else {
		err = &usageError{errors.New(oneLine(err))}
	}
	return x, err
}

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
		in.names, in.files = append(in.names, name), append(in.files, unpack(f))
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

// upkeepFlags are those of verify and repair, and of rebuild, which shows no
// problems and has only the rate.
type upkeepFlags struct{ rate, examples uint32 }

func (u *upkeepFlags) add(cmd *cobra.Command) {
	u.addRate(cmd)
	cmd.Flags().Uint32Var(&u.examples, "examples", 10, "how many problems to show")
}

func (u *upkeepFlags) addRate(cmd *cobra.Command) {
	cmd.Flags().Uint32Var(&u.rate, "rate", 0, "how many `ENTRIES` a second to look at, at most; 0: as fast as it goes")
}

// options are those of the run, which shows its progress on a terminal.
func (u *upkeepFlags) options(cmd *cobra.Command) (up index.Upkeep, wipe func()) {
	up = index.Upkeep{Rate: int(u.rate), Examples: int(u.examples)}
	if u.examples == 0 {
		up.Examples = -1
	}
	if !isTerminal(cmd.ErrOrStderr()) {
		return up, func() {}
	}
	up.Progress = func(p index.Progress) {
		fmt.Fprintf(cmd.ErrOrStderr(), "\r%s checked, %s ", thousands(p.Checked), plural(int(p.Problems()), "problem", "problems"))
	}
	return up, func() { fmt.Fprint(cmd.ErrOrStderr(), "\r\x1b[K") }
}

// run runs verify or repair, with its progress on a terminal, and prints the report.
func (u *upkeepFlags) run(cmd *cobra.Command, asJSON bool, do func(index.Upkeep) (index.Report, error)) error {
	opt, wipe := u.options(cmd)
	report, err := do(opt)
	wipe()
	if err != nil {
		return err
	}
	return tellUpkeep(cmd, report, asJSON)
}

// addFrom adds the flag that names the objects of an index.
func addFrom(cmd *cobra.Command, from *string, example string) {
	cmd.Flags().StringVar(from, "from", "", "the objects: the hashes whose keys are like this `PATTERN`, as in '"+example+"'; * is the id")
}

// addPage adds the flags of a query that say which part of the answer is wanted.
func addPage(cmd *cobra.Command, page *index.Page, cursor *bool) {
	f := cmd.Flags()
	f.IntVarP(&page.Limit, "limit", "n", 0, "how many to show; 0: all")
	f.IntVar(&page.Offset, "offset", 0, "how many to pass over first")
	f.BoolVarP(&page.Reverse, "reverse", "r", false, "show the last first")
	f.BoolVar(cursor, "cursor", false, "show the place of each in the order of the index")
	f.StringVar(&page.After, "after", "", "go on behind the one with this `CURSOR`")
}

// checkPage refuses what is no part of an answer.
func checkPage(page index.Page) error {
	if page.Limit < 0 || page.Offset < 0 {
		return &usageError{errors.New("--limit and --offset cannot be negative")}
	}
	return nil
}

// showEach shows what ids have, and tells of those that are not there.
func showEach(cmd *cobra.Command, ids []string, show func(id string) error) error {
	var missing error
	for _, id := range ids {
		err := show(id)
		if errors.Is(err, index.ErrNotFound) {
			missing = errTold
			fmt.Fprintf(cmd.ErrOrStderr(), "retwis: %s\n", oneLine(err))
			continue
		}
		if err != nil {
			return err
		}
	}
	return missing
}

// tellUpkeep prints a report, and fails if a problem is left.
func tellUpkeep(cmd *cobra.Command, r index.Report, asJSON bool) error {
	if err := printUpkeep(cmd.OutOrStdout(), r, asJSON); err != nil {
		return err
	}
	if r.Problems() > r.Repaired {
		return errTold
	}
	return nil
}

func printUpkeep(out io.Writer, r index.Report, asJSON bool) error {
	if asJSON {
		return printUpkeepJSON(out, r)
	}
	for _, p := range r.Examples {
		fmt.Fprintf(out, "%s: %s", p.Kind, forTerminal(p.ID))
		if p.Found != "" {
			fmt.Fprintf(out, ", found %s", forTerminal(p.Found))
		}
		if p.Want != "" {
			fmt.Fprintf(out, ", expected %s", forTerminal(p.Want))
		}
		fmt.Fprintln(out)
	}
	if more := r.Problems() - int64(len(r.Examples)); more > 0 && len(r.Examples) > 0 {
		fmt.Fprintf(out, "… and %d more\n", more)
	}
	invalid := ""
	if r.Invalid > 0 {
		invalid = fmt.Sprintf("invalid: %d, ", r.Invalid)
	}
	_, err := fmt.Fprintf(out, "checked: %d, missing: %d, stale: %d, dangling: %d, %srepaired: %d\n",
		r.Checked, r.Missing, r.Stale, r.Dangling, invalid, r.Repaired)
	return err
}

func printUpkeepJSON(out io.Writer, r index.Report) error {
	e := newEncoder(out)
	for _, p := range r.Examples {
		err := e.Encode(struct {
			Kind  string `json:"problem"`
			ID    string `json:"id"`
			Found string `json:"found,omitempty"`
			Want  string `json:"expected,omitempty"`
		}(p))
		if err != nil {
			return err
		}
	}
	return e.Encode(struct {
		Checked  int64 `json:"checked"`
		Missing  int64 `json:"missing"`
		Stale    int64 `json:"stale"`
		Dangling int64 `json:"dangling"`
		Invalid  int64 `json:"invalid,omitempty"`
		Repaired int64 `json:"repaired"`
	}{r.Checked, r.Missing, r.Stale, r.Dangling, r.Invalid, r.Repaired})
}

// newEncoder writes JSON a line at a time, as it is.
func newEncoder(out io.Writer) *json.Encoder {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e
}

// forTerminal quotes a text that could do something else to a terminal than be
// read.
func forTerminal(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// table prints rows with aligned columns, some hundred at a time.
type table struct {
	out   io.Writer
	right []bool // these columns are numbers
	rows  [][]string
}

// tableRows is how many rows are aligned with each other.
const tableRows = 500

func (t *table) add(cells ...string) error {
	for i := range cells {
		cells[i] = forTerminal(cells[i])
	}
	t.rows = append(t.rows, cells)
	if len(t.rows) < tableRows {
		return nil
	}
	return t.flush()
}

func (t *table) flush() error {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	var text strings.Builder
	for _, row := range t.rows {
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-uniseg.StringWidth(cell))
			right := i < len(t.right) && t.right[i]
			if i > 0 {
				text.WriteString("  ")
			}
			if right {
				text.WriteString(space)
			}
			text.WriteString(cell)
			if !right && i < len(row)-1 {
				text.WriteString(space)
			}
		}
		text.WriteByte('\n')
	}
	t.rows = t.rows[:0]
	_, err := io.WriteString(t.out, text.String())
	return err
}
