package space

import (
	"context"

	"github.com/spf13/cobra"

	"retwis/index/space"
	"retwis/internal/cli/shell"
	"retwis/internal/store"
	"retwis/maintain"
)

func newAdopt(env shell.Env) *cobra.Command {
	var flags commonFlags
	var declared newDims
	var up shell.MaintainFlags
	cmd := &cobra.Command{
		Use:   "adopt [flags] KEY",
		Short: "Make an index of a sorted set that has the entries of one",
		Long: `Makes an index of a sorted set that has the entries of one, but lost the keys beside
it. It adds KEY.meta and KEY.content, in short steps, and can be repeated; nobody
should change the sorted set meanwhile. Entries that cannot be read stay as they
are; they are shown, and the exit code is 1.`,
		Example: `  retwis space adopt points --dims 'x:int(0..400),y:int(0..400)'`,
		Args:    shell.Arguments(1, 1, "retwis space adopt KEY --dims DIMENSIONS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return shell.WithStore(cmd, env, *flags.redis, func(ctx context.Context, db *store.Store) error {
				var x *space.Index
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
