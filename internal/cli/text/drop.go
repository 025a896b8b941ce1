package text

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/index/text"
	"retwis/internal/cli/shell"
	"retwis/internal/redis/store"
)

func newDrop(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "drop [flags] KEY",
		Short: "Delete an index",
		Long: `Deletes an index with all its keys, in short steps, and prints how many keys it had.
Nothing may write to it meanwhile. A drop that was interrupted can be run again. Without
--yes nothing is deleted.`,
		Example: `  retwis text drop posts --yes`,
		Args:    shell.Arguments(1, 1, ""),
	})
	var run shell.RunFlags
	var yes bool
	c.Flags().BoolVar(&yes, "yes", false, "delete all of it")
	run.AddRate(c)
	c.AddJSON("print the number of keys as JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		return withIndex(ctx, c, args[0], func(_ *store.Store, x *text.Index) error {
			if !yes {
				return shell.Hint(fmt.Errorf("nothing was deleted of %q", args[0]), "Add --yes to delete the index.")
			}
			opt, wipe := run.Options(c)
			if opt.Progress != nil {
				opt.Progress = func(p shell.Progress) {
					fmt.Fprintf(c.Stderr, "\r%s keys deleted ", shell.Thousands(p.Checked))
				}
			}
			keys, err := x.Drop(ctx, opt)
			wipe()
			if err != nil {
				return err
			}
			return c.PrintNumber("deleted", keys)
		})
	})
}
