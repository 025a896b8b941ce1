package text

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/index/text"
	"retwis/internal/cli/shell"
)

func newExplain(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "explain [flags] KEY QUERY",
		Short: "Show what a search reads",
		Long: `Runs a query as "text search" does, for one page, and shows what the search reads: the
terms of the query, with the number of documents that have each, and the number of round
trips, segments and texts. A query is
` + queryHelp,
		Example: `  retwis text explain posts 'redis fast -slow from:ann'`,
		Args:    shell.Arguments(2, 2, ""),
	})
	var q queryFlags
	q.add(c, "results of the page, up to 1000")
	c.AddJSON("print the explanation as a line of JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		if q.Limit < 1 || q.Limit > maxPage {
			return shell.Usage(errors.New("--limit must be from 1 to 1000: the search is for one page"))
		}
		return q.run(ctx, c, args, func(x *text.Index) error {
			e, err := x.Explain(ctx, q.Query)
			switch {
			case err != nil:
				return err
			case c.JSON:
				return printExplanationJSON(c, e)
			}
			return printExplanation(c, e)
		})
	})
}

// explainedTerm is a term as --json prints it.
type explainedTerm struct {
	Term      string `json:"term"`
	Kind      string `json:"kind"`
	Documents int64  `json:"documents"`
}

func printExplanationJSON(c *shell.Command, e *text.Explanation) error {
	terms := make([]explainedTerm, len(e.Terms))
	for i, t := range e.Terms {
		terms[i] = explainedTerm(t)
	}
	return shell.NewEncoder(c.Stdout).Encode(struct {
		Terms      []explainedTerm `json:"terms"`
		RoundTrips int             `json:"round_trips"`
		Segments   int             `json:"segments"`
		Candidates int             `json:"candidates"`
		Texts      int             `json:"texts"`
		Results    int             `json:"results"`
		Next       int64           `json:"next,omitempty"`
	}{terms, e.RoundTrips, e.Segments, e.Candidates, e.Texts, len(e.IDs), e.Next})
}

func printExplanation(c *shell.Command, e *text.Explanation) error {
	p := c.NewPrinter(false, false, true)
	_ = p.Row("term", "kind", "documents") // buffered, so it cannot fail
	for _, t := range e.Terms {
		if err := p.Row(shell.ForTerminal(t.Term), t.Kind, shell.Thousands(t.Documents)); err != nil {
			return err
		}
	}
	if err := p.End(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.Stdout, "round trips: %d, segments: %d, texts read: %d\ncandidates: %s, results: %d\n",
		e.RoundTrips, e.Segments, e.Texts, shell.Thousands(int64(e.Candidates)), len(e.IDs))
	return err
}
