package shell

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/internal/redis/store"
)

// Verb names a maintenance command.
type Verb string

// The maintenance commands.
const (
	Verify  Verb = "verify"
	Repair  Verb = "repair"
	Rebuild Verb = "rebuild"
	Adopt   Verb = "adopt"
)

// Target is what a maintenance command works on. Each command has its own target.
type Target interface {
	// AddFlags adds the flags of the target to those that all nouns have.
	AddFlags(c *Command)
	// Run runs the command.
	Run(ctx context.Context, db *store.Store, key string, src Source, opt Options) (Report, error)
}

// Noter is a Target that prints notes before the report of a run.
type Noter interface {
	PrintNotes(c *Command) error
}

// Source is what an index is compared with or rebuilt from.
type Source struct {
	Pattern string  // of the hashes' keys; empty for none
	Inputs  *Inputs // the files; nil for none
	Empty   bool    // the source may be empty
}

// errEmpty is the error for a source that yields nothing, for example because a pattern is
// mistyped: continuing would remove everything.
var errEmpty = errors.New("the input is empty: nothing was changed")

// NotEmpty yields the values of all, and errEmpty if there are none, unless the source may be
// empty.
func NotEmpty[E any](src Source, all iter.Seq2[E, error]) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		empty := !src.Empty
		for e, err := range all {
			empty = false
			if !yield(e, err) {
				return
			}
		}
		if empty {
			var zero E
			yield(zero, errEmpty)
		}
	}
}

// CheckObjects returns an error if there are no objects, unless the source may be empty.
func CheckObjects[V any](ctx context.Context, src Source, objects index.Source[V]) error {
	if src.Empty {
		return nil
	}
	for _, err := range NotEmpty(src, objects.All(ctx)) {
		return err
	}
	return nil
}

// Maintenance describes the maintenance commands of a noun.
type Maintenance struct {
	Key  string // name of the argument: KEY or NAME
	Unit string // what an index holds, such as "entries"
	// From is an example pattern for --from. If From is empty, the noun has no --from.
	From string
	// Files reports whether verify and repair can compare with files.
	Files bool
	// Drop reports whether the noun has a drop command. A noun without drop has --empty.
	Drop bool
	// Help holds the help of the commands. A verb without help has no command.
	Help map[Verb]Help
	// New returns the target of a command.
	New func(verb Verb) Target
}

// Help is the help of a command.
type Help struct{ Short, Long, Example string }

// RebuildHelp is the last paragraph of the help of rebuild commands that read files.
const RebuildHelp = `A rebuild that fails or is stopped changes nothing. A bad line ends the rebuild, and the
error names its file and number. With --skip-bad bad lines are reported and left out, and
their contents are missing afterwards; the exit code is then 1. An empty input is an error,
too.`

// Commands returns the maintenance commands of a noun.
func (m Maintenance) Commands(env Env) []*cobra.Command {
	var all []*cobra.Command
	for _, verb := range []Verb{Verify, Repair, Rebuild, Adopt} {
		if help, ok := m.Help[verb]; ok {
			all = append(all, m.command(env, verb, help))
		}
	}
	return all
}

func (m Maintenance) command(env Env, verb Verb, help Help) *cobra.Command {
	files := verb == Rebuild || m.Files && verb != Adopt
	use, maxArgs := fmt.Sprintf("%s [flags] %s", verb, m.Key), 1
	if files {
		use, maxArgs = use+" [FILE...]", -1
	}
	c := New(env, &cobra.Command{Use: use, Short: help.Short, Long: help.Long, Example: help.Example, Args: Arguments(1, maxArgs, "")})
	run := maintenanceRun{Maintenance: m, Command: c, verb: verb, target: m.New(verb)}
	run.target.AddFlags(c)
	if m.From != "" && verb != Adopt {
		c.Flags().StringVar(&run.from, "from", "", "the objects: the hashes whose keys match this `PATTERN`, as in '"+m.From+"'; * is the id")
	}
	if !m.Drop && (verb == Rebuild || verb == Repair && m.From != "") {
		c.Flags().BoolVar(&run.empty, "empty", false, "let an empty input remove everything")
	}
	if verb == Rebuild {
		c.Flags().BoolVar(&run.skipBad, "skip-bad", false, "leave out bad lines of the files; otherwise a bad line ends the rebuild")
		run.AddRate(c)
		c.AddJSON("print the summary as JSON")
	} else {
		run.Add(c)
		c.AddJSON("print each problem and the summary as a line of JSON")
	}
	c.AddRedis()
	c.Creates = verb == Rebuild
	return c.Build(run.run)
}

// maintenanceRun is one run of a maintenance command.
type maintenanceRun struct {
	Maintenance
	*Command
	RunFlags
	verb    Verb
	target  Target
	from    string
	skipBad bool
	empty   bool
}

func (r *maintenanceRun) run(ctx context.Context, args []string) (err error) {
	src := Source{Pattern: r.from, Empty: r.empty || r.verb == Verify}
	if src.Pattern != "" && len(args) > 1 {
		return Usage(errors.New("--from and files are two sources: use one"))
	}
	if len(args) > 1 || r.verb == Rebuild && src.Pattern == "" {
		if src.Inputs, err = r.OpenInputs(args[1:], r.Unit); err != nil {
			return err
		}
		defer src.Inputs.Close()
		src.Inputs.Strict = r.verb == Rebuild && !r.skipBad
	}
	return r.WithStore(ctx, func(db *store.Store) error {
		opt, erase := r.Options(r.Command, nil)
		if src.Inputs != nil {
			opt.Progress = nil // the inputs report progress
		}
		report, err := r.target.Run(ctx, db, args[0], src, opt)
		erase()
		if errors.Is(err, errEmpty) {
			return Hint(errEmpty, emptyHint(r, args[0]))
		}
		return r.finish(src, report, err)
	})
}

// emptyHint explains how to remove everything on purpose.
func emptyHint(r *maintenanceRun, key string) string {
	if r.Drop {
		return fmt.Sprintf("Check the input. %q deletes the index.", r.Parent().CommandPath()+" drop "+key+" --yes")
	}
	return "Check the input. With --empty an empty input removes everything."
}

// finish prints the result and returns the error that sets the exit code.
func (r *maintenanceRun) finish(src Source, report Report, err error) error {
	switch {
	case err != nil:
		if r.verb == Adopt && errors.Is(err, index.ErrValue) {
			printExamples(r.Stderr, report)
		}
		return err
	case r.verb == Adopt:
		return r.PrintAdopted(report)
	case r.verb == Rebuild && src.Inputs != nil:
		return src.Inputs.Report()
	case r.verb == Rebuild:
		return r.printInput(r.Unit, report.Checked, 0)
	}
	if noter, ok := r.target.(Noter); ok {
		if err := noter.PrintNotes(r.Command); err != nil {
			return err
		}
	}
	err = r.PrintReport(report)
	if err == nil && src.Inputs != nil && src.Inputs.Rejected > 0 {
		return ErrReported
	}
	return err
}

// RunFlags are the flags of commands that scan all entries.
type RunFlags struct{ rate, examples uint32 }

// Add adds all flags.
func (f *RunFlags) Add(c *Command) {
	f.AddRate(c)
	c.Flags().Uint32Var(&f.examples, "examples", 10, "show at most this `NUMBER` of problems")
}

// AddRate adds --rate.
func (f *RunFlags) AddRate(c *Command) {
	c.Flags().Uint32Var(&f.rate, "rate", 0, "check or write at most this `NUMBER` of entries a second; 0 for no limit")
}

// Options returns the options of a run. On a terminal the run shows its progress, formatted by
// text, or as the number of checked entries if text is nil, until erase is called.
func (f *RunFlags) Options(c *Command, text func(p Progress) string) (opt Options, erase func()) {
	if text == nil {
		text = func(p Progress) string {
			return Thousands(p.Checked) + " checked, " + Plural(p.Problems(), "problem", "problems")
		}
	}
	opt = Options{Rate: int(f.rate), Examples: int(f.examples)}
	if f.examples == 0 {
		opt.Examples = -1
	}
	if !IsTerminal(c.Stderr) {
		return opt, func() {}
	}
	opt.Progress = func(p Progress) { fmt.Fprintf(c.Stderr, "\r%s ", text(p)) }
	return opt, func() { clearLine(c.Stderr) }
}
