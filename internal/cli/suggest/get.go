package suggest

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"retwis/index/suggest"
	"retwis/internal/cli/shell"
)

func newGet(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "get [flags] KEY TERM...",
		Short: "Show the counts and payloads of terms",
		Long: `Shows terms, in any spelling, with their counts and payloads. A term that does not exist
is reported, and the exit code is then 1.`,
		Example: `  retwis suggest get words Banana
  retwis suggest get words Banana Apple --json | jq .count`,
		Args: shell.Arguments(2, -1, ""),
	})
	return existing.Build(c, "print each term as a line of JSON", func(ctx context.Context, x *suggest.Index, terms []string) error {
		p := c.NewPrinter(false, true)
		missing := c.ShowEach(terms, func(term string) error {
			s, err := x.Get(ctx, term)
			if err != nil {
				return err
			}
			return printTerm(p, s)
		})
		return errors.Join(p.End(), missing)
	})
}
