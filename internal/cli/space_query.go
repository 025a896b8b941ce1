package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/index/space"
	"retwis/internal/store"
)

func newSpaceQuery(env Env) *cobra.Command {
	var flags spaceFlags
	var page index.Page
	var cursor bool
	cmd := &cobra.Command{
		Use:   "query [flags] KEY [CONDITION...]",
		Short: "Show the points in a box",
		Long: `Shows exactly the points in a box, in the order of the index:
  x=50..100     from 50 to 100, both included; 50.. and ..100 are open
  x=75          this value
A dimension without a condition is open. In an index of places on earth (--dims geo)
lon=170..-170 goes across the 180th meridian.`,
		Example: `  retwis space query points x=50..100 y=100..300
  retwis space query flats rent=..1000 free=2027-01-01..2027-01-31
  retwis space query points --limit 100 --cursor    then again with --after CURSOR`,
		Args: named(1, -1, "retwis space query KEY [CONDITION...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkPage(page); err != nil {
				return err
			}
			return flags.open(cmd, env, args[0], func(ctx context.Context, x *space.Index, _ *store.Store) error {
				box, err := boxOf(x, args[1:])
				if err != nil {
					return err
				}
				p := newPointPrinter(cmd.OutOrStdout(), x, flags.json)
				for e, err := range x.Query(ctx, box, page) {
					if err == nil && cursor {
						err = p.print(e, pointField{"cursor", e.Cursor()})
					} else if err == nil {
						err = p.print(e)
					}
					if err != nil {
						return errors.Join(err, p.end())
					}
				}
				return p.end()
			})
		},
	}
	addPage(cmd, &page, &cursor)
	flags.add(cmd, env, "print each point as a line of JSON")
	return cmd
}

func newSpaceGet(env Env) *cobra.Command {
	var flags spaceFlags
	cmd := &cobra.Command{
		Use:   "get [flags] KEY ID...",
		Short: "Show the points of ids",
		Long: `Shows where some ids are. The exit code is 1 if one of them is not in the
index.`,
		Example: `  retwis space get points 90`,
		Args:    named(2, -1, "retwis space get KEY ID..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, env, args[0], func(ctx context.Context, x *space.Index, _ *store.Store) error {
				p := newPointPrinter(cmd.OutOrStdout(), x, flags.json)
				err := showEach(cmd, args[1:], func(id string) error {
					e, err := x.Get(ctx, id)
					if err != nil {
						return err
					}
					return p.print(e)
				})
				return cmp.Or(p.end(), err)
			})
		},
	}
	flags.add(cmd, env, "print each point as a line of JSON")
	return cmd
}

func newSpaceRemove(env Env) *cobra.Command {
	var flags spaceFlags
	cmd := &cobra.Command{
		Use:     "remove [flags] KEY ID...",
		Short:   "Take ids out of an index",
		Example: `  retwis space remove points 90 91`,
		Args:    named(2, -1, "retwis space remove KEY ID..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, env, args[0], func(ctx context.Context, x *space.Index, _ *store.Store) error {
				n, err := x.Remove(ctx, args[1:]...)
				if err != nil {
					return err
				}
				return printNumber(cmd.OutOrStdout(), flags.json, "removed", int64(n))
			})
		},
	}
	flags.add(cmd, env, "print the summary as JSON")
	return cmd
}

func newSpaceCount(env Env) *cobra.Command {
	var flags spaceFlags
	var estimate bool
	cmd := &cobra.Command{
		Use:   "count [flags] KEY [CONDITION...]",
		Short: "Count the points in a box",
		Long: `Counts the points in a box, whose sides are given as to "space query". What is
wholly inside is counted by the server. With --estimate nothing is read: the server
counts what is in the ranges that cover the box, and the box has its share of each.`,
		Example: `  retwis space count points x=50..100 y=100..300`,
		Args:    named(1, -1, "retwis space count KEY [CONDITION...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, env, args[0], func(ctx context.Context, x *space.Index, _ *store.Store) error {
				box, err := boxOf(x, args[1:])
				if err != nil {
					return err
				}
				count := x.Count
				if estimate {
					count = x.Estimate
				}
				n, err := count(ctx, box)
				if err != nil {
					return err
				}
				return printNumber(cmd.OutOrStdout(), flags.json, "count", n)
			})
		},
	}
	cmd.Flags().BoolVar(&estimate, "estimate", false, "about how many, without reading them")
	flags.add(cmd, env, "print it as JSON")
	return cmd
}

func printNumber(out io.Writer, asJSON bool, name string, n int64) (err error) {
	if asJSON {
		_, err = fmt.Fprintf(out, "{%q:%d}\n", name, n)
	} else {
		_, err = fmt.Fprintf(out, "%s: %d\n", name, n)
	}
	return err
}

func newSpaceNearest(env Env) *cobra.Command {
	var flags spaceFlags
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
		Args: named(2, -1, "retwis space nearest KEY DIMENSION=VALUE..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(within >= 0) { // nor NaN
				return &usageError{errors.New("--within cannot be negative")}
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
		return nil, "", &usageError{errors.New("--weights make no sense on earth, where distances are metres")}
	case notGeo == nil:
		found, err := geo.NearestPoints(ctx, point, n)
		return found, "metres", err
	case within != 0:
		return nil, "", &usageError{errors.New("--within is for an index of --dims geo")}
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
			return nil, "", &usageError{fmt.Errorf("--weights: %q is not a number", text)}
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

// pointField is something that is shown behind the values of a point.
type pointField struct {
	name  string
	value any
}

// pointPrinter prints points: a table for people, or a line of JSON each.
type pointPrinter struct {
	out    io.Writer
	names  []string
	json   bool
	headed bool // the names of the dimensions are printed
	table  table
}

func newPointPrinter(out io.Writer, x *space.Index, json bool) *pointPrinter {
	names := dimNames(x)
	return &pointPrinter{out: out, names: names, json: json, table: table{out: out, right: append([]bool{false}, slices.Repeat([]bool{true}, len(names)+1)...)}}
}

func (p *pointPrinter) print(e space.Entry, more ...pointField) error {
	fields := []pointField{{"id", e.ID}}
	for i, v := range e.Values {
		fields = append(fields, pointField{p.names[i], v})
	}
	fields = append(fields, more...)
	if p.json {
		return p.line(fields)
	}
	head, cells := make([]string, len(fields)), make([]string, len(fields))
	for i, f := range fields {
		head[i], cells[i] = f.name, fmt.Sprint(f.value)
		switch v := f.value.(type) {
		case float64:
			cells[i] = strconv.FormatFloat(v, 'f', -1, 64)
		case time.Time:
			cells[i] = v.Format(time.RFC3339Nano)
		}
	}
	if !p.headed {
		p.headed = true
		if err := p.table.add(head...); err != nil {
			return err
		}
	}
	return p.table.add(cells...)
}

// line prints {"id":"90","x":75,"y":200}.
func (p *pointPrinter) line(fields []pointField) error {
	var line []byte
	for i, f := range fields {
		before := byte(',')
		if i == 0 {
			before = '{'
		}
		line = append(appendJSON(append(line, before), f.name), ':')
		if d, ok := f.value.(float64); ok && math.IsInf(d, 0) {
			f.value = nil // farther than a float64 can say
		}
		line = appendJSON(line, f.value)
	}
	_, err := p.out.Write(append(line, '}', '\n'))
	return err
}

func (p *pointPrinter) end() error {
	if p.json {
		return nil
	}
	return p.table.flush()
}
