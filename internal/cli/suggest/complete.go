package suggest

import (
	"context"

	"github.com/spf13/cobra"

	"retwis/index/suggest"
	"retwis/internal/cli/shell"
)

func newComplete(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "complete [flags] KEY PREFIX",
		Short: "Show the most frequent terms that begin with a prefix",
		Long: `Shows the most frequent terms that begin with a prefix, with their counts and payloads,
the most frequent first. The empty prefix '' matches every term. With --fuzzy,
terms that match with one typo follow: an additional, missing or wrong letter, or two
swapped letters.`,
		Example: `  retwis suggest complete words ban
  retwis suggest complete words bnana --fuzzy -n 3
  retwis suggest complete words ban --json | jq -r .term`,
		Args: shell.Arguments(2, 2, ""),
	})
	var limit int
	var fuzzy bool
	c.Flags().IntVarP(&limit, "limit", "n", 10, "show at most this many terms, up to 1000")
	c.Flags().BoolVar(&fuzzy, "fuzzy", false, "allow one typo")
	return existing.Build(c, "print each term as a line of JSON", func(ctx context.Context, x *suggest.Index, args []string) error {
		complete := x.Complete
		if fuzzy {
			complete = x.CompleteFuzzy
		}
		found, err := complete(ctx, args[0], limit)
		if err != nil {
			return err
		}
		p := c.NewPrinter(false, true)
		for _, s := range found {
			if err := printTerm(p, s); err != nil {
				return err
			}
		}
		return p.End()
	})
}

// printTerm prints a term, its count and any payload.
func printTerm(p *shell.Printer, s suggest.Suggestion) error {
	cells := []string{s.Term, shell.Thousands(s.Count)}
	if s.Payload != "" {
		cells = append(cells, s.Payload)
	}
	return p.Print(objectOf(s), cells...)
}

// objectOf returns a term as JSON.
func objectOf(s suggest.Suggestion) shell.Object {
	object := shell.Object{{Name: "term", Value: s.Term}, {Name: "count", Value: s.Count}}
	if s.Payload != "" {
		object = append(object, shell.Field{Name: "payload", Value: s.Payload})
	}
	return object
}
