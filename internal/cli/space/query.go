package space

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/index/space"
	"retwis/internal/cli/shell"
	"retwis/internal/store"
)

func newQuery(env shell.Env) *cobra.Command {
	var flags commonFlags
	var page index.Page
	var cursor bool
	cmd := &cobra.Command{
		Use:   "query [flags] KEY [CONDITION...]",
		Short: "Show the points in a box",
		Long: `Shows exactly the points in a box, in the order of the index:
  x=50..100     from 50 to 100, both included; 50.. and ..100 are open
  x=75          this value
A dimension without a condition is open. In an index of places on earth (--dims geo)
lon=170..-170 goes across the 180th meridian.`,
		Example: `  retwis space query points x=50..100 y=100..300
  retwis space query flats rent=..1000 free=2027-01-01..2027-01-31
  retwis space query points --limit 100 --cursor    then again with --after CURSOR`,
		Args: shell.Arguments(1, -1, "retwis space query KEY [CONDITION...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := shell.CheckPage(page); err != nil {
				return err
			}
			return flags.open(cmd, env, args[0], func(ctx context.Context, x *space.Index, _ *store.Store) error {
				box, err := boxOf(x, args[1:])
				if err != nil {
					return err
				}
				p := newPointPrinter(cmd.OutOrStdout(), x, flags.json)
				for e, err := range x.Select(ctx, box, page) {
					if err == nil && cursor {
						err = p.print(e, pointField{"cursor", e.Cursor()})
					} else if err == nil {
						err = p.print(e)
					}
					if err != nil {
						return errors.Join(err, p.end())
					}
				}
				return p.end()
			})
		},
	}
	shell.AddPage(cmd, &page, &cursor)
	flags.add(cmd, env, "print each point as a line of JSON")
	return cmd
}
