package space

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"retwis/index"
	"retwis/index/internal/ranged"
)

// Near is a point and its distance.
type Near struct {
	Entry
	Distance float64
}

// maxNearest is the maximum number of points that Nearest returns.
const maxNearest = 100_000

// Nearest returns the k points nearest to a place, nearest first; ties are broken by id. It
// returns fewer points if the index has fewer.
//
// The distance is Euclidean, in units of the values, or seconds for times. If the units of the
// dimensions differ, weights scale them: with weights 1, 0.5 a difference of 2 in the second
// dimension counts as much as a difference of 1 in the first; a dimension with weight 0 does
// not count. Default: 1 each. In an index with GeoDims the distance is in metres along a great
// circle, and weights are not supported.
//
// The neighbours along the curve give an upper bound on the distance, and a box of that size is
// read. If the box is likely to contain many more points than k, smaller boxes are tried first,
// doubling in size. This takes 3 to 5 round trips, and reads a few points for each one
// returned. Memory holds at most four times as many points as are returned.
func (x *Index) Nearest(ctx context.Context, point []any, k int, weights ...float64) ([]Near, error) {
	return x.NearestWithin(ctx, point, math.Inf(1), k, weights...)
}

// NearestWithin is like Nearest, but only returns points within a distance, inclusive. If there
// are few such points, it takes one round trip.
func (x *Index) NearestWithin(ctx context.Context, point []any, distance float64, k int, weights ...float64) ([]Near, error) {
	origin, m, err := x.reader.points.metricAt(point, weights)
	if err != nil {
		return nil, x.reader.wrap(err)
	}
	return x.reader.nearest(ctx, origin, distance, k, m)
}

// Within yields the points within a distance of a place, inclusive, in curve order.
// NearestWithin returns the nearest points first.
func (x *Index) Within(ctx context.Context, point []any, distance float64, page index.Page, weights ...float64) iter.Seq2[Near, error] {
	return func(yield func(Near, error) bool) {
		_, m, err := x.reader.points.metricAt(point, weights)
		if err == nil && !(distance >= 0) {
			err = distanceError(distance)
		}
		if err != nil {
			yield(Near{}, x.reader.wrap(err))
			return
		}
		r := x.reader.points.regionOf(m.blocks(distance))
		if len(r.blocks) == 0 {
			return
		}
		codes := make([]uint64, len(x.reader.points.axes))
		last := 0.0 // distance of the last member that passed
		r.filter = func(member string) bool {
			if x.reader.points.readCodes(codes, member) != nil {
				return false
			}
			last = m.distance(codes)
			return last <= distance
		}
		x.reader.yieldRegion(ctx, &r, page, func(e Entry, err error) bool { return yield(Near{e, last}, err) })
	}
}

// distanceError returns the error for a distance that is negative or NaN.
func distanceError(distance float64) error {
	return fmt.Errorf("%w: the distance %v must be at least 0", index.ErrValue, distance)
}

// metric measures distances from a place.
type metric struct {
	distance func(codes []uint64) float64
	// blocks returns blocks that contain all points within a distance, and possibly more.
	blocks func(distance float64) []block
}

// metricAt returns the codes of a place and the metric of distances from the place.
func (x *points) metricAt(point []any, weights []float64) ([]uint64, metric, error) {
	origin, err := x.codes(point)
	switch {
	case err != nil:
		return nil, metric{}, err
	case x.geo && len(weights) > 0:
		return nil, metric{}, fmt.Errorf("%w: distances on earth are in metres: weights are not supported", index.ErrValue)
	case x.geo:
		return origin, x.onEarth(origin), nil
	case len(weights) == 0:
		weights = slices.Repeat([]float64{1}, len(x.axes))
	case len(weights) != len(x.axes):
		return nil, metric{}, fmt.Errorf("%w: got %d weights for %d dimensions", index.ErrValue, len(weights), len(x.axes))
	}
	unit := 1.0
	for d, w := range weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return nil, metric{}, fmt.Errorf("%w: the weight %v of %s must be a number of at least 0", index.ErrValue, w, x.axes[d].Name)
		}
		if w > 0 {
			unit = max(unit, x.axes[d].unit())
		}
	}
	return origin, metric{
		// Distances are measured in units of the last digit, so that equal distances compare
		// equal, and the distances in a right triangle are exact.
		distance: func(codes []uint64) float64 {
			var sides [maxDims]float64
			for d, w := range weights {
				if w > 0 {
					sides[d] = x.axes[d].distance(origin[d], codes[d], w, unit)
				}
			}
			return norm(sides[:len(weights)]) / unit
		},
		blocks: func(radius float64) []block {
			low, high := make([]uint64, len(origin)), make([]uint64, len(origin))
			for d, w := range weights {
				low[d], high[d] = x.axes[d].around(origin[d], radius/w)
			}
			return []block{x.block(low, high)}
		},
	}, nil
}

// norm returns the square root of the sum of squares. Repeated math.Hypot would round at each
// step; this sum has twice the precision of a float64.
func norm(sides []float64) float64 {
	largest := slices.Max(sides)
	if largest == 0 || math.IsInf(largest, 1) {
		return largest
	}
	_, exponent := math.Frexp(largest)
	sum, correction := 0.0, 0.0
	for _, s := range sides {
		s = math.Ldexp(s, -exponent) // so that the square cannot overflow
		square := s * s
		low := math.FMA(s, s, -square)
		total := sum + square
		part := total - sum
		low += (sum - (total - part)) + (square - part)
		sum, correction = total, correction+low
	}
	root := math.Sqrt(sum)
	root += (math.FMA(-root, root, sum) + correction) / (2 * root)
	return math.Ldexp(root, exponent)
}

// minNeighbours is the minimum number of neighbours read along the curve in each direction.
const minNeighbours = 32

// nearest implements NearestWithin for a place in codes.
func (x *reader) nearest(ctx context.Context, origin []uint64, limit float64, k int, m metric) ([]Near, error) {
	if k < 1 || k > maxNearest {
		return nil, x.wrap(fmt.Errorf("%w: %d points requested: use from 1 to %d", index.ErrValue, k, maxNearest))
	}
	if !(limit >= 0) {
		return nil, x.wrap(distanceError(limit))
	}
	found := nearestSearch{x: x, k: k, limit: limit, metric: m}
	if math.IsInf(limit, 1) {
		return found.result(found.bounded(ctx, origin, limit))
	}
	few, err := found.within(ctx, limit)
	if few || err != nil {
		return found.result(err)
	}
	return found.result(found.bounded(ctx, origin, limit))
}

// nearestSearch collects candidates. The k nearest candidates within the limit are the result.
type nearestSearch struct {
	x     *reader
	k     int
	limit float64
	metric
	all       []candidate
	estimated float64 // estimated number of points within the distance, set by within
}

// candidate is a member and its distance.
type candidate struct {
	member   string
	distance float64
}

// bounded collects the k nearest points within a distance that may include many more.
func (f *nearestSearch) bounded(ctx context.Context, origin []uint64, limit float64) error {
	bound, all, err := f.neighbours(ctx, origin)
	if all || err != nil {
		return err
	}
	return f.inSteps(ctx, min(limit, bound))
}

// inSteps collects the k nearest points within a distance. If there are likely many more
// points, it starts with a smaller distance: where points are dense, neighbours along the curve
// can be far away.
func (f *nearestSearch) inSteps(ctx context.Context, limit float64) error {
	few, err := f.within(ctx, limit)
	if few || err != nil {
		return err
	}
	radius := limit * math.Pow(float64(2*f.k+16)/f.estimated, 1/float64(len(f.x.points.axes)))
	if radius = max(radius, limit/1024); radius == 0 {
		radius = limit
	}
	for ; ; radius *= 2 {
		radius = min(radius, limit)
		if err := f.read(ctx, radius); err != nil {
			return err
		}
		if radius == limit || len(f.all) == f.k && f.all[f.k-1].distance <= radius {
			return nil
		}
	}
}

// neighbours adds the neighbours of a place along the curve. It returns a distance that
// includes k points, or reports that all points of the index have been read.
func (f *nearestSearch) neighbours(ctx context.Context, origin []uint64) (bound float64, all bool, err error) {
	z := string(f.x.points.layout.append(nil, f.x.points.layout.interleave(origin)))
	q := ranged.Query{Limit: max(f.k, minNeighbours)}
	read := 0
	f.all = f.all[:0]
	for _, r := range []ranged.Range{{Min: "[" + z, Max: "+"}, {Min: "-", Max: "(" + z}} {
		q.Ranges = []ranged.Range{r}
		for m, err := range f.x.entries.Select(ctx, q) {
			if err != nil {
				return 0, false, err
			}
			f.add(m.Member)
			read++
		}
		q.Reverse = true
	}
	f.sort()
	switch {
	case read < f.k:
		return 0, true, nil // both directions together have fewer points than requested
	case len(f.all) < f.k:
		return f.limit, false, nil
	}
	return f.all[f.k-1].distance, false, nil
}

// within collects the nearest points within a distance. If there are likely many more points
// than requested, it returns false instead.
func (f *nearestSearch) within(ctx context.Context, limit float64) (few bool, err error) {
	r := f.x.points.regionOf(f.blocks(limit))
	if few, err = f.small(ctx, &r); few || err != nil {
		return few, err
	}
	if f.estimated, err = f.x.estimate(ctx, r.coarse); err != nil || f.estimated > float64(8*f.k+200) {
		return false, err
	}
	return true, f.read(ctx, limit)
}

// read collects the nearest points within a distance.
func (f *nearestSearch) read(ctx context.Context, radius float64) error {
	r := f.x.points.regionOf(f.blocks(radius))
	keep := f.x.points.keep(&r)
	f.all = f.all[:0]
	for m, err := range f.x.read(ctx, &r, index.Page{}, nil) {
		if err != nil {
			return err
		}
		if keep(m) {
			f.add(m)
		}
	}
	f.sort()
	return nil
}

// small collects the points of a region if its coarse ranges contain few points: one round
// trip.
func (f *nearestSearch) small(ctx context.Context, r *region) (bool, error) {
	f.all = f.all[:0]
	if len(r.coarse) == 0 {
		return true, nil
	}
	if err := f.x.set.Check(ctx); err != nil {
		return false, f.x.wrap(err)
	}
	chunks, err := f.x.begin(ctx, f.x.points.ranges(r.coarse), false)
	if err != nil || slices.ContainsFunc(chunks, func(c chunk) bool { return c.rest != nil }) {
		return false, err
	}
	keep := f.x.points.keep(r)
	for _, c := range chunks {
		for _, m := range c.members {
			if keep(m) {
				f.add(m)
			}
		}
	}
	f.sort()
	return true, nil
}

// add adds a member if it is within the limit.
func (f *nearestSearch) add(member string) {
	var buffer [maxDims]uint64
	codes := buffer[:len(f.x.points.axes)]
	if f.x.points.readCodes(codes, member) != nil {
		return // not written by this index; Verify reports it
	}
	distance := f.distance(codes)
	if distance > f.limit {
		return
	}
	f.all = append(f.all, candidate{member, distance})
	if len(f.all) >= 4*(f.k+minNeighbours) {
		f.sort()
	}
}

// sort sorts the candidates and keeps the k nearest.
func (f *nearestSearch) sort() {
	head := f.x.points.head
	slices.SortFunc(f.all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.member[head:], b.member[head:]))
	})
	f.all = f.all[:min(f.k, len(f.all))]
}

// result returns the collected points, unless there was an error.
func (f *nearestSearch) result(err error) ([]Near, error) {
	if err != nil {
		return nil, err
	}
	near := make([]Near, len(f.all))
	for i, c := range f.all {
		codes, _ := f.x.points.codesOf(c.member) // decoded successfully before
		near[i] = Near{f.x.points.entryAt(c.member, codes), c.distance}
	}
	return near, nil
}
