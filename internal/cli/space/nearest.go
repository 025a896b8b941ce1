package space

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"retwis/index/space"
	"retwis/internal/cli/shell"
	"retwis/internal/store"
)

func newNearest(env shell.Env) *cobra.Command {
	var flags commonFlags
	var n int
	var within float64
	var weights []string
	cmd := &cobra.Command{
		Use:   "nearest [flags] KEY DIMENSION=VALUE...",
		Short: "Show the points that are nearest to a place",
		Long: `Shows the points that are nearest to a place, the nearest first, and how far they
are: in units of the values, times in seconds. Where the units of two dimensions
mean different things, --weights says how much 1 is worth in each.

In an index of --dims geo distances are metres along a great circle, and --within
shows only what is no farther than so many.`,
		Example: `  retwis space nearest points x=75 y=200 -n 5
  retwis space nearest flats rent=900 size=60 --weights rent=1,size=20
  retwis space nearest cities lat=38.1 lon=13.4 --within 200000`,
		Args: shell.Arguments(2, -1, "retwis space nearest KEY DIMENSION=VALUE..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(within >= 0) { // nor NaN
				return shell.Usage(errors.New("--within cannot be negative"))
			}
			return flags.open(cmd, env, args[0], func(ctx context.Context, x *space.Index, _ *store.Store) error {
				point, err := pointOf(x, args[1:])
				if err != nil {
					return err
				}
				found, unit, err := nearest(ctx, x, point, n, within, weights)
				if err != nil {
					return err
				}
				p := newPointPrinter(cmd.OutOrStdout(), x, flags.json)
				for _, e := range found {
					if within != 0 && e.Distance > within {
						break
					}
					if err := p.print(e.Entry, pointField{unit, roundedDistance(e.Distance)}); err != nil {
						return err
					}
				}
				return p.end()
			})
		},
	}
	cmd.Flags().IntVarP(&n, "limit", "n", 10, "how many points to show at most")
	cmd.Flags().Float64Var(&within, "within", 0, "no farther than so many `METRES`")
	cmd.Flags().StringSliceVar(&weights, "weights", nil, "what 1 is worth in each dimension, as in x=1,y=0.5 (default 1)")
	flags.add(cmd, env, "print each point as a line of JSON")
	return cmd
}

// nearest finds the points, and says what their distances are called.
func nearest(ctx context.Context, x *space.Index, point []any, n int, within float64, words []string) ([]space.Near, string, error) {
	geo, notGeo := x.Geo()
	switch {
	case notGeo == nil && len(words) > 0:
		return nil, "", shell.Usage(errors.New("--weights make no sense on earth, where distances are metres"))
	case notGeo == nil:
		found, err := geo.NearestPoints(ctx, point, n)
		return found, "metres", err
	case within != 0:
		return nil, "", shell.Usage(errors.New("--within is for an index of --dims geo"))
	}
	weights := slices.Repeat([]float64{1}, len(point))
	texts, err := dimWords(x, words)
	if err != nil {
		return nil, "", err
	}
	for i, text := range texts {
		if text == "" {
			continue
		}
		if weights[i], err = strconv.ParseFloat(text, 64); err != nil {
			return nil, "", shell.Usage(fmt.Errorf("--weights: %q is not a number", text))
		}
	}
	found, err := x.Nearest(ctx, point, n, weights...)
	return found, "distance", err
}

// roundedDistance is a distance to a thousandth, or to three digits if it is small.
func roundedDistance(d float64) float64 {
	digits, format := 3, byte('f')
	if d < 1 {
		format = 'g'
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(d, format, digits, 64), 64)
	if err != nil {
		return d
	}
	return rounded
}
