package space

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"retwis/index"
)

// Near is a point and its distance.
type Near struct {
	Entry
	Distance float64
}

// MaxNearest is the maximum number of points that Nearest returns.
const MaxNearest = 100_000

// Nearest returns the k points nearest to a place, the nearest first; equally far points
// are in the order of their ids. It returns fewer if the index has fewer.
//
// The distance is Euclidean, in units of the values, and of seconds for times. If the
// units of the dimensions differ, weights scale them: with weights 1, 0.5 a difference
// of 2 in the second dimension counts as much as one of 1 in the first; with 0 it does
// not count. Default: 1 each.
//
// The neighbours along the curve bound the distance of the result, and the box of that
// size is read. If it is likely to hold many more points, a smaller box is tried first,
// then one of twice its size. That is 3 to 5 round trips, and a few points read for each
// that is returned.
func (x *Index) Nearest(ctx context.Context, point []any, k int, weights ...float64) ([]Near, error) {
	at, err := x.places(point)
	if err != nil {
		return nil, x.named(err)
	}
	if len(weights) == 0 {
		weights = slices.Repeat([]float64{1}, len(x.axes))
	}
	if len(weights) != len(x.axes) {
		return nil, x.named(fmt.Errorf("%w: there are %d weights for %d dimensions", index.ErrValue, len(weights), len(x.axes)))
	}
	for d, w := range weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return nil, x.named(fmt.Errorf("%w: the weight %v of %s: it must be a number, at least 0", index.ErrValue, w, x.axes[d].Name))
		}
	}
	return x.nearest(ctx, at, k, metric{
		distance: func(p []place) float64 {
			sum := 0.0
			for d, w := range weights {
				if w > 0 {
					sum = math.Hypot(sum, w*x.axes[d].distance(at[d], p[d]))
				}
			}
			return sum
		},
		blocks: func(radius float64) []block {
			low, high := make([]place, len(at)), make([]place, len(at))
			for d, w := range weights {
				low[d], high[d] = x.axes[d].around(at[d], radius/w)
			}
			return []block{x.block(low, high)}
		},
	})
}

// metric measures distances from a place.
type metric struct {
	distance func([]place) float64
	// blocks returns blocks with all points within a distance, and maybe more.
	blocks func(distance float64) []block
}

// probe is the minimum number of neighbours along the curve that are read.
const probe = 32

func (x *reader) nearest(ctx context.Context, at []place, k int, m metric) ([]Near, error) {
	if k < 1 || k > MaxNearest {
		return nil, x.named(fmt.Errorf("%w: %d points requested: use from 1 to %d", index.ErrValue, k, MaxNearest))
	}
	z := string(x.layout.append(nil, x.interleave(codesOf(at))))
	found := nearestSearch{x: x, k: k, metric: m}
	page := index.Page{Limit: max(k, probe)}
	err := found.add(x.lex.Select(ctx, page, index.Range{Min: "[" + z, Max: "+"}))
	if page.Reverse = true; err == nil {
		err = found.add(x.lex.Select(ctx, page, index.Range{Min: "-", Max: "(" + z}))
	}
	if err != nil || len(found.all) < k {
		// Neither side had as many as were requested: these are all points.
		return found.best(), err
	}
	return found.within(ctx, found.best()[k-1].Distance)
}

// nearestSearch collects points, of which the k nearest are the result.
type nearestSearch struct {
	x *reader
	k int
	metric
	all []Near
}

// within returns the k nearest of all points, given a distance within which there are
// at least k.
func (f *nearestSearch) within(ctx context.Context, limit float64) ([]Near, error) {
	r := f.x.regionOf(f.blocks(limit))
	likely, err := f.x.estimate(ctx, &r)
	if err != nil {
		return nil, err
	}
	radius := limit
	if likely > float64(8*f.k+200) {
		radius *= math.Pow(float64(2*f.k+16)/likely, 1/float64(len(f.x.axes)))
		if radius = max(radius, limit/1024); radius == 0 {
			radius = limit
		}
	}
	for {
		if radius < limit {
			r = f.x.regionOf(f.blocks(radius))
		} else {
			r, radius = f.x.regionOf(f.blocks(limit)), limit
		}
		f.all = f.all[:0]
		if err := f.add(f.x.scan(ctx, index.Page{}, f.x.ranges(r.spans), f.x.keep(&r))); err != nil {
			return nil, err
		}
		best := f.best()
		if radius == limit || len(best) == f.k && best[f.k-1].Distance <= radius {
			return best, nil
		}
		radius *= 2
	}
}

// add reads members.
func (f *nearestSearch) add(members iter.Seq2[index.Member, error]) error {
	for m, err := range members {
		if err != nil {
			return err
		}
		places, err := f.x.placesOf(m.Member)
		if err != nil {
			return f.x.named(errors.Join(index.ErrCorrupt, err))
		}
		f.all = append(f.all, Near{f.x.entryAt(m, places), f.distance(places)})
		if len(f.all) >= 4*(f.k+probe) {
			f.all = f.best()
		}
	}
	return nil
}

// best returns the k nearest of the points collected, in order.
func (f *nearestSearch) best() []Near {
	slices.SortFunc(f.all, func(a, b Near) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.ID, b.ID))
	})
	return f.all[:min(f.k, len(f.all))]
}
