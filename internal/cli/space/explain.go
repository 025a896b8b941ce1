package space

import (
	"context"
	"fmt"
	"math/big"

	"github.com/spf13/cobra"

	"retwis/index/space"
	"retwis/internal/cli/shell"
)

func newExplain(env shell.Env, noun shell.EntriesNoun) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "explain [flags] KEY [CONDITION...]",
		Short: "Show what a select reads",
		Long: `Shows which ranges of the index "space select" reads for a box: how many points it
reads in each, and how many of these are in the box.`,
		Example: `  retwis space explain points x=50..100 y=100..300`,
		Args:    shell.Arguments(1, -1, ""),
	})
	return noun.Noun().Build(c, "print the ranges as a line of JSON", func(ctx context.Context, x shell.Entries, conditions []string) error {
		box, err := x.(points).box(conditions)
		if err != nil {
			return err
		}
		e, err := x.(points).index.Explain(ctx, box)
		if err != nil {
			return err
		}
		if c.JSON {
			return printExplanationJSON(c, e)
		}
		return printExplanation(c, e)
	})
}

// explainedRange is a range as --json prints it.
type explainedRange struct {
	Low      string `json:"low"`
	High     string `json:"high"`
	Read     int64  `json:"read"`
	Returned int64  `json:"returned"`
}

func printExplanationJSON(c *shell.Command, e *space.Explanation) error {
	ranges := make([]explainedRange, len(e.Ranges))
	for i, r := range e.Ranges {
		ranges[i] = explainedRange(r)
	}
	return shell.NewEncoder(c.Stdout).Encode(struct {
		Ranges   []explainedRange `json:"ranges"`
		Read     int64            `json:"read"`
		Returned int64            `json:"returned"`
	}{ranges, e.Read, e.Returned})
}

func printExplanation(c *shell.Command, e *space.Explanation) error {
	if len(e.Ranges) > 0 {
		p := c.NewPrinter(false, false, true, true)
		_ = p.Row("from", "to", "read", "in the box") // buffered, so it cannot fail
		for _, r := range e.Ranges {
			if err := p.Row(shortBits(r.Low), shortBits(r.High), fmt.Sprint(r.Read), fmt.Sprint(r.Returned)); err != nil {
				return err
			}
		}
		if err := p.End(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(c.Stdout, "ranges: %d, points read: %d, in the box: %d\n", len(e.Ranges), e.Read, e.Returned)
	return err
}

// shortBits returns bits unchanged, or in hexadecimal if there are more than 40.
func shortBits(bits string) string {
	if len(bits) <= 40 {
		return bits
	}
	n, _ := new(big.Int).SetString(bits, 2)
	return fmt.Sprintf("%0*x", (len(bits)+3)/4, n)
}
