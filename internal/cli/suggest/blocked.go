package suggest

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/index/suggest"
	"retwis/internal/cli/shell"
)

func newBlocked(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "blocked [flags] KEY",
		Short: "List the blocked terms",
		Long: `Lists the terms that were blocked with "suggest remove --block", in their normalized
forms, one per line.`,
		Example: `  retwis suggest blocked words
  retwis suggest blocked words | xargs -d '\n' retwis suggest remove words --unblock`,
		Args: shell.Arguments(1, 1, ""),
	})
	return existing.Build(c, "print each form as a line of JSON", func(ctx context.Context, x *suggest.Index, _ []string) error {
		forms, err := x.Blocked(ctx)
		if err != nil {
			return err
		}
		e := shell.NewEncoder(c.Stdout)
		for _, form := range forms {
			if c.JSON {
				err = e.Encode(shell.Object{{Name: "form", Value: form}})
			} else {
				_, err = fmt.Fprintln(c.Stdout, form)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
