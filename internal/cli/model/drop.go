package model

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/maintain"
	"retwis/model"
)

func newDrop(env shell.Env) *cobra.Command {
	var flags commonFlags
	var up shell.MaintainFlags
	var yes bool
	cmd := &cobra.Command{
		Use:   "drop [flags] NAME",
		Short: "Delete a model with its records and all that belongs to them",
		Long: `Deletes all records of a model, with their sets and lists, its indexes and its counter,
in short steps. Programs that write meanwhile are refused; those that write later begin
anew. Records of other models that refer to it stay as they are. One that was cut short
can be run again. Without --yes nothing is deleted.`,
		Example: `  retwis model drop user --yes`,
		Args:    shell.Arguments(1, 1, "retwis model drop NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, env, args[0], func(ctx context.Context, m *model.Model) error {
				info, err := m.Describe(ctx)
				if err != nil {
					return err
				}
				if !yes {
					return shell.Hint(
						fmt.Errorf("%s has %s: nothing was deleted", args[0], shell.Plural(int(info.Records), "record", "records")),
						"Give --yes to delete them, with all that belongs to them.",
					)
				}
				opt, wipe := up.Options(cmd)
				report, err := m.Drop(ctx, opt)
				wipe()
				if err != nil {
					return err
				}
				return printDropped(cmd, report.Report, flags.json)
			})
		},
	}
	up.AddRate(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "delete without asking")
	flags.add(cmd, env, "print the summary as a line of JSON")
	return cmd
}

func printDropped(cmd *cobra.Command, r maintain.Report, asJSON bool) error {
	if asJSON {
		return shell.NewEncoder(cmd.OutOrStdout()).Encode(struct {
			Deleted int64 `json:"deleted"`
		}{r.Checked})
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "deleted: %d\n", r.Checked)
	return err
}
