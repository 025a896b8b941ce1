package model

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/model"
)

func newDrop(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "drop [flags] NAME",
		Short: "Delete a model with all its records",
		Long: `Deletes all records of a model, with their sets and lists, its indexes and its counter,
in short steps. Writes during the drop are refused; later writes start with an
empty model. Records of other models that refer to this model stay as they are. A drop
that was interrupted can be run again. Without --yes nothing is deleted.`,
		Example: `  retwis model drop user --yes`,
		Args:    shell.Arguments(1, 1, ""),
	})
	var run shell.RunFlags
	var yes bool
	c.Flags().BoolVar(&yes, "yes", false, "confirm the deletion")
	run.AddRate(c)
	return existing.Build(c, "print the summary as a line of JSON", func(ctx context.Context, m *model.Model, _ []string) error {
		info, err := m.Describe(ctx)
		if err != nil {
			return err
		}
		if !yes {
			return shell.Hint(
				fmt.Errorf("%s has %s: nothing was deleted", info.Name, shell.Plural(info.Records, "record", "records")),
				"Add --yes to delete the model and its records.",
			)
		}
		opt, erase := run.Options(c, nil)
		report, err := m.Drop(ctx, opt)
		erase()
		if err != nil {
			return err
		}
		return c.PrintNumber("deleted", report.Checked)
	})
}
