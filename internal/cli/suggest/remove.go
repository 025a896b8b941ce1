package suggest

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"retwis/index/suggest"
	"retwis/internal/cli/shell"
)

func newRemove(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "remove [flags] KEY TERM...",
		Short: "Remove terms, and block them with --block",
		Long: `Removes terms, in any spelling. With --block the terms are neither counted nor shown until
they are unblocked with --unblock; "suggest blocked" lists them.`,
		Example: `  retwis suggest remove words banaooo
  retwis suggest remove words --block damn`,
		Args: shell.Arguments(2, -1, ""),
	})
	var block, unblock bool
	c.Flags().BoolVar(&block, "block", false, "block the terms, too")
	c.Flags().BoolVar(&unblock, "unblock", false, "unblock the terms instead; their counts start at 0")
	check := func([]string) error {
		if block && unblock {
			return shell.Usage(errors.New("--block and --unblock contradict each other: use one"))
		}
		return nil
	}
	return existing.BuildChecked(c, "print the summary as JSON", check, func(ctx context.Context, x *suggest.Index, terms []string) (err error) {
		action, n := "removed", len(terms)
		switch {
		case block:
			action, err = "blocked", x.Block(ctx, terms...)
		case unblock:
			action, err = "unblocked", x.Unblock(ctx, terms...)
		default:
			n, err = x.Remove(ctx, terms...)
		}
		if err != nil {
			return err
		}
		return c.PrintNumber(action, int64(n))
	})
}
