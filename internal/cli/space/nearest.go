package space

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"retwis/index/space"
	"retwis/internal/cli/shell"
)

// nearestFlags are the flags of retwis space nearest.
type nearestFlags struct {
	limit   int
	within  float64
	weights []string
	changed func(flag string) bool
}

func newNearest(env shell.Env, noun shell.EntriesNoun) *cobra.Command {
	var flags nearestFlags
	c := shell.New(env, &cobra.Command{
		Use:   "nearest [flags] KEY DIMENSION=VALUE...",
		Short: "Show the points nearest to a place",
		Long: `Shows the points nearest to a place, the nearest first, with their distances in the unit
of the values; the unit of times is a second. If the dimensions have different units,
--weights sets the weight of a unit of each. --within shows only points up to a distance.

In an index of --dims geo distances are metres along a great circle.`,
		Example: `  retwis space nearest points x=75 y=200 -n 5
  retwis space nearest flats rent=900 size=60 --weights rent=1,size=20
  retwis space nearest cities lat=38.1 lon=13.4 --within 200000`,
		Args: shell.Arguments(2, -1, ""),
	})
	f := c.Flags()
	flags.changed = f.Changed
	f.IntVarP(&flags.limit, "limit", "n", 10, "show at most this many points")
	f.Float64Var(&flags.within, "within", 0, "show only points within this `DISTANCE`: metres with --dims geo, otherwise in the unit of the shown distances")
	f.StringSliceVar(&flags.weights, "weights", nil, "the weight of a unit of each dimension, as in x=1,y=0.5 (default 1)")
	check := func([]string) error {
		if !(flags.within >= 0) { // also rejects NaN
			return shell.Usage(errors.New("--within cannot be negative"))
		}
		return nil
	}
	return noun.Noun().BuildChecked(c, "print each point as a line of JSON", check, func(ctx context.Context, x shell.Entries, args []string) error {
		point, err := x.(points).point(args)
		if err != nil {
			return err
		}
		return flags.print(ctx, c, x.(points), point)
	})
}

func (flags *nearestFlags) print(ctx context.Context, c *shell.Command, x points, point []any) error {
	found, unit, err := flags.find(ctx, x, point)
	if err != nil {
		return err
	}
	p := c.NewEntryPrinter(x, true)
	for _, e := range found {
		err := p.Print(shell.Entry{ID: e.ID, Values: e.Values}, shell.Field{Name: unit, Value: distance(e.Distance)})
		if err != nil {
			return err
		}
	}
	return p.End()
}

// find returns the nearest points and the column name of their distances.
func (flags *nearestFlags) find(ctx context.Context, x points, point []any) ([]space.Near, string, error) {
	within := math.Inf(1)
	if flags.changed("within") {
		within = flags.within
	}
	unit := "distance"
	if x.isGeo() {
		unit = "metres"
	}
	if len(flags.weights) == 0 {
		found, err := x.index.NearestWithin(ctx, point, within, flags.limit)
		return found, unit, err
	}
	if x.isGeo() {
		return nil, "", shell.Usage(errors.New("--weights does not apply to --dims geo, where distances are metres"))
	}
	weights := slices.Repeat([]float64{1}, len(point))
	texts, err := x.conditions(flags.weights)
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
	found, err := x.index.NearestWithin(ctx, point, within, flags.limit, weights...)
	return found, unit, err
}

// distance is a distance, printed with three decimals, or with three digits if it is below 1.
type distance float64

func (d distance) String() string {
	digits, format := 3, byte('f')
	if d < 1 {
		format = 'g'
	}
	text := strconv.FormatFloat(float64(d), format, digits, 64)
	if rounded, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(rounded, 'f', -1, 64)
	}
	return text
}

// MarshalJSON implements json.Marshaler. A distance that a float64 cannot represent is null.
func (d distance) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(d), 0) {
		return []byte("null"), nil
	}
	return []byte(d.String()), nil
}
