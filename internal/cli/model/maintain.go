package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/maintain"
	"retwis/model"
)

// maintainFlags are the flags of verify, repair and migrate.
type maintainFlags struct {
	shell.MaintainFlags
	adopt *pattern
}

func (u *maintainFlags) addAdopt(cmd *cobra.Command) {
	cmd.Flags().Var(&patternFlag{&u.adopt}, "adopt", "take what the model did not write for its records where the id is like this `PATTERN`, such as '*'")
}

// adopts returns what --adopt accepts, or nil.
func (u *maintainFlags) adopts() func(id string) bool {
	if u.adopt == nil {
		return nil
	}
	return u.adopt.matches
}

// pattern is a text in which * stands for any characters, and ? for one.
type pattern struct {
	text string
	is   *regexp.Regexp
}

func (p *pattern) matches(s string) bool { return p.is.MatchString(s) }

// patternFlag is a flag that is a pattern, or not given.
type patternFlag struct{ p **pattern }

func (f *patternFlag) String() string {
	if f.p == nil || *f.p == nil {
		return ""
	}
	return (*f.p).text
}

func (f *patternFlag) Type() string { return "pattern" }

func (f *patternFlag) Set(text string) error {
	quoted := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(text))
	is, err := regexp.Compile(`(?s)^` + quoted + `$`)
	*f.p = &pattern{text, is}
	return err
}

// printUnknown reports keys that the model did not write, if there are any.
func printUnknown(out io.Writer, r *model.Report, asJSON bool) error {
	if r.Unknown == 0 {
		return nil
	}
	if asJSON {
		return shell.NewEncoder(out).Encode(struct {
			Unknown int64    `json:"unknown"`
			Keys    []string `json:"keys,omitempty"`
		}{r.Unknown, r.UnknownKeys})
	}
	var such string
	if len(r.UnknownKeys) > 0 {
		such = ", such as " + shell.ForTerminal(r.UnknownKeys[0])
	}
	_, err := fmt.Fprintf(out, "unknown: %s that the model did not write%s; --adopt takes them for records\n",
		shell.Plural(int(r.Unknown), "key", "keys"), such)
	return err
}

// newVerify makes model verify, and model repair.
func newVerify(env shell.Env, repair bool) *cobra.Command {
	var flags commonFlags
	var up maintainFlags
	cmd := &cobra.Command{
		Use:   "verify [flags] NAME",
		Short: "Check that records and indexes of a model agree",
		Long: `Looks whether the records of a model and its indexes agree, in short steps while it
is in use, and changes nothing. It tells
  missing    records that are not in the indexes, or not in all of them
  stale      records of which an index says something else
  dangling   what is left of records that are not there
  invalid    records with a field that cannot be read, or that an index cannot hold
  taken      records with a unique value that another record has
What only the program of the model can compute is taken to be right. Keys that could
be records, but that the model did not write, are counted as unknown; with --adopt
they are records that are missing. The exit code is 1 if there is a problem.`,
		Example: `  retwis model verify user
  retwis model verify user --rate 10000 --json`,
		Args: shell.Arguments(1, 1, "retwis model verify NAME"),
	}
	if repair {
		cmd.Use, cmd.Short = "repair [flags] NAME", "Mend what verify finds"
		cmd.Long = `Mends what "model verify" finds, in short steps while the model is in use: what the
fields of a record say is right. Records that other programs wrote come into the
indexes where --adopt says so; those that have expired leave them. What is invalid or taken is told and
left: change the record. The exit code is 1 if a problem is left.`
		cmd.Example = `  retwis model repair user`
		cmd.Args = shell.Arguments(1, 1, "retwis model repair NAME")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return flags.open(cmd, env, args[0], func(ctx context.Context, m *model.Model) error {
			m.Adopt = up.adopts()
			run := m.Verify
			if repair {
				run = m.Repair
			}
			var report model.Report
			err := up.Run(cmd, flags.json, func(opt maintain.Options) (found maintain.Report, err error) {
				report, err = run(ctx, opt)
				return report.Report, err
			})
			return errors.Join(printUnknown(cmd.OutOrStdout(), &report, flags.json), err)
		})
	}
	up.Add(cmd)
	up.addAdopt(cmd)
	flags.add(cmd, env, "print each problem and the summary as a line of JSON")
	return cmd
}

func newMigrate(env shell.Env) *cobra.Command {
	var flags commonFlags
	var up maintainFlags
	cmd := &cobra.Command{
		Use:   "migrate [flags] NAME",
		Short: "Build and drop indexes as a program declares them by now",
		Long: `Puts into force the last declaration that a program has opened the model with and
that is not in force, and brings all records into its indexes, in short steps while
others read and write.
Programs of the declaration before that can no longer write from then on. One that
was cut short can be run again. "model list" shows what it would do.

Records that other programs wrote come in where --adopt says so. The first migration
of a database that is older than its model ends only with --adopt, if there are such.

An index on what a program computes can only be built by that program. The exit
code is 1 if a record could not be brought in.`,
		Example: `  retwis model migrate user --rate 10000`,
		Args:    shell.Arguments(1, 1, "retwis model migrate NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, env, args[0], func(ctx context.Context, m *model.Model) error {
				info, err := m.Describe(ctx)
				if err != nil {
					return err
				}
				opt, wipe := up.Options(cmd)
				m.Adopt = up.adopts()
				report, err := m.Migrate(ctx, opt)
				wipe()
				if errors.Is(err, model.ErrUnknown) {
					return shell.Hint(err, `Say which ids are those of records with --adopt, as in --adopt '*'; none: --adopt ''.`)
				}
				if errors.Is(err, model.ErrSchema) {
					return shell.Hint(err, fmt.Sprintf("Migrate %s in the program that declares it: %s.", args[0], toMigrate(info.Pending)))
				}
				if err != nil {
					return err
				}
				return errors.Join(printUnknown(cmd.OutOrStdout(), &report, flags.json), printMigrated(cmd, info.Pending, report.Report, flags.json))
			})
		},
	}
	up.Add(cmd)
	up.addAdopt(cmd)
	flags.add(cmd, env, "print each problem and the summary as a line of JSON")
	return cmd
}

// printMigrated prints what was done, and fails where a record could not be brought
// in.
func printMigrated(cmd *cobra.Command, done []string, r maintain.Report, asJSON bool) error {
	out := cmd.OutOrStdout()
	var err error
	if asJSON {
		if err := shell.PrintProblemsJSON(out, r); err != nil {
			return err
		}
		err = shell.NewEncoder(out).Encode(struct {
			Done    []string `json:"done"`
			Checked int64    `json:"checked"`
			Missing int64    `json:"missing,omitempty"`
			Invalid int64    `json:"invalid,omitempty"`
		}{append([]string{}, done...), r.Checked, r.Missing, r.Invalid})
	} else {
		shell.PrintProblems(out, r)
		if len(done) == 0 {
			done = []string{"nothing to do"}
		}
		_, err = fmt.Fprintf(out, "%s\nchecked: %d, missing: %d, invalid: %d\n", shell.ForTerminal(toMigrate(done)), r.Checked, r.Missing, r.Invalid)
	}
	if err == nil && r.Problems() > 0 {
		return shell.ErrReported
	}
	return err
}
