package suggest

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/index/suggest"
	"retwis/internal/cli/shell"
)

func newCleanup(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "cleanup [flags] KEY",
		Short: "Decrement the counts of random terms, and remove those at 0",
		Long: `Decrements the counts of random terms by one and removes those that reach 0, as the
tutorial does at each completion, and prints how many were removed. If the command runs
regularly, terms that are searched once and never again disappear, and terms that are
searched often stay. An index with a half-life needs "suggest sweep" instead.`,
		Example: `  retwis suggest cleanup words
  retwis suggest cleanup words --terms 100000 --rate 5000`,
		Args: shell.Arguments(1, 1, ""),
	})
	var number int
	c.Flags().IntVarP(&number, "terms", "n", 1000, "decrement the counts of this `NUMBER` of terms")
	return buildForget(c, func(ctx context.Context, x *suggest.Index, opt shell.Options) (int, error) {
		return x.Cleanup(ctx, number, opt)
	})
}

func newSweep(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "sweep [flags] --below COUNT KEY",
		Short: "Remove the terms with a small count",
		Long: `Removes the terms with a count below --below, in short steps while the index is in use, and
prints how many were removed. If the index has a half-life, the decayed counts are compared.
A sweep that was interrupted can be run again.`,
		Example: `  retwis suggest sweep words --below 2
  retwis suggest sweep words --below 5 --rate 10000`,
		Args: shell.Arguments(1, 1, ""),
	})
	var below int64
	c.Flags().Int64Var(&below, "below", 0, "remove the terms with a count below this `COUNT`")
	return buildForget(c, func(ctx context.Context, x *suggest.Index, opt shell.Options) (int, error) {
		if below < 1 {
			return 0, shell.Usage(errors.New("--below needs a count of 1 or more: terms with a smaller count are removed"))
		}
		return x.Prune(ctx, below, opt)
	})
}

// buildForget builds a command that removes terms in steps.
func buildForget(c *shell.Command, forget func(context.Context, *suggest.Index, shell.Options) (int, error)) *cobra.Command {
	var flags shell.RunFlags
	flags.AddRate(c)
	return existing.Build(c, "print the number of removed terms as JSON", func(ctx context.Context, x *suggest.Index, _ []string) error {
		opt, erase := flags.Options(c, func(p shell.Progress) string {
			return fmt.Sprintf("%s of %s terms", shell.Thousands(p.Checked), shell.Thousands(p.Total))
		})
		removed, err := forget(ctx, x, opt)
		erase()
		if err != nil {
			return err
		}
		return c.PrintNumber("removed", int64(removed))
	})
}
