package model

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/model"
)

func newMigrate(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "migrate [flags] NAME",
		Short: "Build and drop indexes to match the latest declaration",
		Long: `Applies the last declaration with which a program has opened the model, and adds all
records to its indexes, in short steps while programs read and write. From then on
programs with an older declaration can no longer write. A migration that was interrupted
can be run again. "model list" shows what a migration would do.

Records that other programs wrote are added if --adopt matches them, even if no index must
be built. The first migration of a database that is older than its model needs --adopt if
there are such records.

An index on values that a program computes can only be built by that program. The exit
code is 1 if a record could not be added.`,
		Example: `  retwis model migrate user --rate 10000`,
		Args:    shell.Arguments(1, 1, ""),
	})
	var run runFlags
	run.addAdopt(c)
	run.Add(c)
	return existing.Build(c, "print each problem and the summary as a line of JSON", func(ctx context.Context, m *model.Model, _ []string) error {
		info, err := m.Describe(ctx)
		if err != nil {
			return err
		}
		opt, erase := run.Options(c, nil)
		run.set(m)
		report, err := m.Migrate(ctx, opt)
		erase()
		switch {
		case errors.Is(err, model.ErrUnknown):
			return shell.Hint(err, `Use --adopt to say which ids are records: --adopt '*' for all, --adopt '' for none.`)
		case errors.Is(err, model.ErrSchema):
			return shell.Hint(err, fmt.Sprintf("Migrate %s in the program that declares it: %s.", info.Name, formatSteps(info.Pending)))
		case err != nil:
			return err
		}
		done := info.Pending
		if len(done) == 0 && run.adopt != nil {
			done = []string{"adopt records"}
		}
		return errors.Join(printUnknown(c, &report), printMigrated(c, done, report.Report))
	})
}

// printMigrated prints what was done. If a record could not be added, it returns an error.
func printMigrated(c *shell.Command, done []string, r shell.Report) error {
	summary := shell.Object{{Name: "done", Value: append([]string{}, done...)}, {Name: "checked", Value: r.Checked}}
	if r.Missing > 0 {
		summary = append(summary, shell.Field{Name: "missing", Value: r.Missing})
	}
	if r.Invalid > 0 {
		summary = append(summary, shell.Field{Name: "invalid", Value: r.Invalid})
	}
	if len(done) == 0 {
		done = []string{"nothing to do"}
	}
	text := fmt.Sprintf("%s\nchecked: %d, missing: %d, invalid: %d", shell.ForTerminal(formatSteps(done)), r.Checked, r.Missing, r.Invalid)
	return c.PrintProblems(r, summary, text, r.Problems())
}

// formatSteps formats the steps of a migration.
func formatSteps(pending []string) string { return strings.Join(pending, ", ") }
