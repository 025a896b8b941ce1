package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/model"
)

func newModelDrop(env Env) *cobra.Command {
	var flags modelFlags
	var up upkeepFlags
	var yes bool
	cmd := &cobra.Command{
		Use:   "drop [flags] NAME",
		Short: "Delete a model with its records and all that belongs to them",
		Long: `Deletes all records of a model, with their sets and lists, its indexes and its counter,
in short steps. Programs that write meanwhile are refused; those that write later begin
anew. Records of other models that refer to it stay as they are. One that was cut short
can be run again. Without --yes nothing is deleted.`,
		Example: `  retwis model drop user --yes`,
		Args:    named(1, 1, "retwis model drop NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, env, args[0], func(ctx context.Context, m *model.Model) error {
				info, err := m.Describe(ctx)
				if err != nil {
					return err
				}
				if !yes {
					return &hintedError{
						fmt.Errorf("%s has %s: nothing was deleted", args[0], plural(int(info.Records), "record", "records")),
						"Give --yes to delete them, with all that belongs to them.",
					}
				}
				opt, wipe := up.options(cmd)
				report, err := m.Drop(ctx, (&modelUpkeep{}).of(opt))
				wipe()
				if err != nil {
					return err
				}
				return printDropped(cmd, report.Report, flags.json)
			})
		},
	}
	up.addRate(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "delete without asking")
	flags.add(cmd, env, "print the summary as a line of JSON")
	return cmd
}

func printDropped(cmd *cobra.Command, r index.Report, asJSON bool) error {
	if asJSON {
		return newEncoder(cmd.OutOrStdout()).Encode(struct {
			Deleted int64 `json:"deleted"`
		}{r.Checked})
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "deleted: %d\n", r.Checked)
	return err
}
