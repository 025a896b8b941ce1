package index

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/store"
)

func newGet(env shell.Env) *cobra.Command {
	var flags commonFlags
	cmd := &cobra.Command{
		Use:   "get [flags] KEY ID...",
		Short: "Show the entries of ids",
		Long: `Shows the entries of some ids. The exit code is 1 if one of them is not in the
index.`,
		Example: `  retwis index get rooms 90`,
		Args:    shell.Arguments(2, -1, "retwis index get KEY ID..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, env, args[0], func(ctx context.Context, x ordered, _ *store.Store) error {
				p := newEntryPrinter(cmd.OutOrStdout(), x.Columns(), flags.json, false)
				err := shell.ShowEach(cmd, args[1:], func(id string) error {
					e, err := x.get(ctx, id)
					if err != nil {
						return err
					}
					return p.print(found{Entry: e})
				})
				return cmp.Or(p.end(), err)
			})
		},
	}
	flags.add(cmd, env, "print each entry as a line of JSON")
	return cmd
}

func newRemove(env shell.Env) *cobra.Command {
	var flags commonFlags
	cmd := &cobra.Command{
		Use:     "remove [flags] KEY ID...",
		Short:   "Take ids out of an index",
		Example: `  retwis index remove rooms 90 91`,
		Args:    shell.Arguments(2, -1, "retwis index remove KEY ID..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, env, args[0], func(ctx context.Context, x ordered, _ *store.Store) error {
				n, err := x.Remove(ctx, args[1:]...)
				if err != nil {
					return err
				}
				return shell.PrintNumber(cmd.OutOrStdout(), flags.json, "removed", int64(n))
			})
		},
	}
	flags.add(cmd, env, "print the summary as JSON")
	return cmd
}
