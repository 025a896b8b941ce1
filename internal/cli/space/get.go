package space

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"retwis/index/space"
	"retwis/internal/cli/shell"
	"retwis/internal/store"
)

func newGet(env shell.Env) *cobra.Command {
	var flags commonFlags
	cmd := &cobra.Command{
		Use:   "get [flags] KEY ID...",
		Short: "Show the points of ids",
		Long: `Shows where some ids are. The exit code is 1 if one of them is not in the
index.`,
		Example: `  retwis space get points 90`,
		Args:    shell.Arguments(2, -1, "retwis space get KEY ID..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, env, args[0], func(ctx context.Context, x *space.Index, _ *store.Store) error {
				p := newPointPrinter(cmd.OutOrStdout(), x, flags.json)
				err := shell.ShowEach(cmd, args[1:], func(id string) error {
					e, err := x.Get(ctx, id)
					if err != nil {
						return err
					}
					return p.print(e)
				})
				return cmp.Or(p.end(), err)
			})
		},
	}
	flags.add(cmd, env, "print each point as a line of JSON")
	return cmd
}

func newRemove(env shell.Env) *cobra.Command {
	var flags commonFlags
	cmd := &cobra.Command{
		Use:     "remove [flags] KEY ID...",
		Short:   "Take ids out of an index",
		Example: `  retwis space remove points 90 91`,
		Args:    shell.Arguments(2, -1, "retwis space remove KEY ID..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, env, args[0], func(ctx context.Context, x *space.Index, _ *store.Store) error {
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

func newCount(env shell.Env) *cobra.Command {
	var flags commonFlags
	var estimate bool
	cmd := &cobra.Command{
		Use:   "count [flags] KEY [CONDITION...]",
		Short: "Count the points in a box",
		Long: `Counts the points in a box, whose sides are given as to "space query". What is
wholly inside is counted by the server. With --estimate nothing is read: the server
counts what is in the ranges that cover the box, and the box has its share of each.`,
		Example: `  retwis space count points x=50..100 y=100..300`,
		Args:    shell.Arguments(1, -1, "retwis space count KEY [CONDITION...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, env, args[0], func(ctx context.Context, x *space.Index, _ *store.Store) error {
				box, err := boxOf(x, args[1:])
				if err != nil {
					return err
				}
				count := x.Count
				if estimate {
					count = x.Estimate
				}
				n, err := count(ctx, box)
				if err != nil {
					return err
				}
				return shell.PrintNumber(cmd.OutOrStdout(), flags.json, "count", n)
			})
		},
	}
	cmd.Flags().BoolVar(&estimate, "estimate", false, "about how many, without reading them")
	flags.add(cmd, env, "print it as JSON")
	return cmd
}
