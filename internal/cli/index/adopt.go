package index

import (
	"context"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
	"retwis/internal/store"
	"retwis/maintain"
)

func newAdopt(env shell.Env) *cobra.Command {
	var flags commonFlags
	var declared newColumns
	var up shell.MaintainFlags
	cmd := &cobra.Command{
		Use:   "adopt [flags] KEY",
		Short: "Make an index of a sorted set that was made by hand",
		Long: `Makes an index of a sorted set that was made by hand: of text such as
0056:0028.44:90, or of ids and their numbers with --numeric. It adds KEY.meta and
KEY.content, in short steps, and can be repeated; nobody should change the sorted
set meanwhile. Entries that cannot be read stay as they are, as do those of which an
id has several; they are shown, and the exit code is 1.`,
		Example: `  retwis index adopt rooms --columns 'room:int(4),price:decimal(6,2)'
  retwis index adopt ages --columns age:int --numeric`,
		Args: shell.Arguments(1, 1, "retwis index adopt KEY --columns COLUMNS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return shell.WithStore(cmd, env, *flags.redis, func(ctx context.Context, db *store.Store) error {
				x, err := declared.make(ctx, db.Client(), args[0], cmd.Flags().Changed)
				if err != nil {
					return err
				}
				return up.Adopt(cmd, flags.json, func(opt maintain.Options) (maintain.Report, error) { return x.Adopt(ctx, opt) })
			})
		},
	}
	declared.add(cmd)
	up.Add(cmd)
	flags.add(cmd, env, "print each entry that stays as it is, and the summary, as a line of JSON")
	return cmd
}
