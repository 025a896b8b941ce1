package text

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/index/text"
	"retwis/internal/cli/shell"
)

func newDrop(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "drop [flags] KEY",
		Short: "Delete an index",
		Long: `Deletes an index with all its keys, in short steps, and prints how many keys were deleted.
Nothing may write to the index meanwhile. A drop that was interrupted can be run again.
Without --yes nothing is deleted.`,
		Example: `  retwis text drop posts --yes`,
		Args:    shell.Arguments(1, 1, ""),
	})
	var run shell.RunFlags
	var yes bool
	c.Flags().BoolVar(&yes, "yes", false, "confirm the deletion")
	run.AddRate(c)
	return existing.Build(c, "print the number of keys as JSON", func(ctx context.Context, x *text.Index, _ []string) error {
		if !yes {
			return shell.Hint(fmt.Errorf("nothing was deleted from %q", x.Key()), "Add --yes to delete the index.")
		}
		opt, erase := run.Options(c, func(p shell.Progress) string { return shell.Thousands(p.Checked) + " keys deleted" })
		keys, err := x.Drop(ctx, opt)
		erase()
		if err != nil {
			return err
		}
		return c.PrintNumber("deleted", keys)
	})
}
