package space

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"

	"github.com/spf13/cobra"

	"retwis/index/space"
	"retwis/internal/cli/shell"
)

func newExplain(env shell.Env, noun shell.EntriesNoun) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "explain [flags] KEY [CONDITION...]",
		Short: "Show what a select reads, and draw it",
		Long: `Shows which ranges of the index "space select" reads for a box: how many squares of the
space a range covers, how many gaps the server skips, how many points are in it,
and how many of these are in the box. --svg draws the first two dimensions: the box,
the squares and the points, for light and dark pages.`,
		Example: `  retwis space explain points x=50..100 y=100..300
  retwis space explain points x=50..100 y=100..300 --svg box.svg`,
		Args: shell.Arguments(1, -1, ""),
	})
	var picture string
	c.Flags().StringVar(&picture, "svg", "", "draw it into this `FILE`; - is standard output, and nothing else is printed")
	return noun.Noun().Build(c, "print it as a line of JSON", func(ctx context.Context, x shell.Entries, conditions []string) error {
		box, err := x.(points).box(conditions)
		if err != nil {
			return err
		}
		if picture != "" && len(x.Columns()) < 2 {
			return shell.Usage(errors.New("--svg needs two dimensions"))
		}
		e, err := x.(points).index.Explain(ctx, box)
		if err != nil {
			return err
		}
		return printExplained(c, x.(points).index, e, picture)
	})
}

func printExplained(c *shell.Command, x *space.Index, e *space.Explanation, picture string) error {
	if picture == "-" {
		return drawSVG(c.Stdout, x, e)
	}
	if picture != "" {
		if err := drawTo(picture, x, e); err != nil {
			return err
		}
	}
	if c.JSON {
		return printExplanationJSON(c, e)
	}
	return printExplanation(c, e)
}

func drawTo(name string, x *space.Index, e *space.Explanation) error {
	f, err := os.Create(name)
	if err != nil {
		return shell.Usage(fmt.Errorf("--svg: %w", err))
	}
	return errors.Join(drawSVG(f, x, e), f.Close())
}

// explainedRange is a range as --json prints it.
type explainedRange struct {
	Low      string `json:"low"`
	High     string `json:"high"`
	Squares  int    `json:"squares"`
	Skips    int    `json:"skips"`
	Read     int64  `json:"read"`
	Returned int64  `json:"returned"`
}

func printExplanationJSON(c *shell.Command, e *space.Explanation) error {
	ranges := make([]explainedRange, len(e.Ranges))
	for i, r := range e.Ranges {
		ranges[i] = explainedRange(r)
	}
	return shell.NewEncoder(c.Stdout).Encode(struct {
		Ranges         []explainedRange `json:"ranges"`
		Squares        int              `json:"squares"`
		Skips          int              `json:"skips"`
		Read           int64            `json:"read"`
		Returned       int64            `json:"returned"`
		FalsePositives float64          `json:"false_positives"`
		Expected       float64          `json:"expected"`
	}{ranges, e.Squares, e.Skips, e.Read, e.Returned, e.FalsePositives(), e.Expected})
}

func printExplanation(c *shell.Command, e *space.Explanation) error {
	if len(e.Ranges) > 0 {
		p := c.NewPrinter(false, false, true, true, true, true)
		_ = p.Row("from", "to", "squares", "skips", "read", "in the box") // it is only buffered
		for _, r := range e.Ranges {
			if err := p.Row(shortBits(r.Low), shortBits(r.High), fmt.Sprint(r.Squares), fmt.Sprint(r.Skips), fmt.Sprint(r.Read), fmt.Sprint(r.Returned)); err != nil {
				return err
			}
		}
		if err := p.End(); err != nil {
			return err
		}
	}
	skips := ""
	if e.Skips > 0 {
		skips = ", " + shell.Plural(e.Skips, "skip", "skips")
	}
	_, err := fmt.Fprintf(c.Stdout, "ranges: %d, %s%s\npoints: %d read, %d in the box\noutside the box: %.1f%% of the points read; %.1f%% expected if points are spread evenly\n",
		len(e.Ranges), shell.Plural(e.Squares, "square", "squares"), skips, e.Read, e.Returned, 100*e.FalsePositives(), 100*e.Expected)
	return err
}

// shortBits returns bits as they are, or many of them in hexadecimal.
func shortBits(bits string) string {
	if len(bits) <= 40 {
		return bits
	}
	n, _ := new(big.Int).SetString(bits, 2)
	return fmt.Sprintf("%0*x", (len(bits)+3)/4, n)
}
