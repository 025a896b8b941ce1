package space

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"retwis/index"
	"retwis/index/decimal"
	"retwis/internal/redistest"
	"retwis/internal/require"
)

// Nearest agrees with a search through all points.
func TestNearestAgainstBruteForce(t *testing.T) {
	t.Parallel()
	c := redistest.DB(t).Client(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		ctx := t.Context()
		n++
		dims := anyDims(rapid.SampledFrom([]int{2, 3, 16}).Draw(t, "max")).Draw(t, "dims")
		x := newIndex(t, c, fmt.Sprint("near", n), "", Options{Dims: dims, Partitions: rapid.SampledFrom([]int{1, 2}).Draw(t, "partitions")})
		model := map[string][]any{}
		for i := range rapid.IntRange(0, 200).Draw(t, "points") {
			values := make([]any, len(dims))
			for d := range values {
				values[d] = anyValue(t, &x.reader.points.axes[d])
			}
			model[fmt.Sprint(i)] = values
		}
		require.OK(t)(x.PutMany(ctx, pointsOf(model)))
		x.reader.firstRead = rapid.SampledFrom([]int{1, 3, firstRead}).Draw(t, "first")
		center, weights := make([]any, len(dims)), []float64(nil)
		for d := range center {
			center[d] = anyValue(t, &x.reader.points.axes[d])
		}
		if rapid.Bool().Draw(t, "weighted") {
			weights = make([]float64, len(dims))
			for d := range weights {
				weights[d] = rapid.SampledFrom([]float64{0, 1e-3, 1, 2.5, 1e6}).Draw(t, "weight")
			}
		}
		codes, _ := x.reader.points.codes(center)
		exact := map[string]*big.Float{}
		for id, values := range model {
			p, _ := x.reader.points.codes(values)
			exact[id] = exactDistance(x, codes, p, weights)
		}
		k := rapid.IntRange(1, 220).Draw(t, "k")
		got, err := x.Nearest(ctx, center, k, weights...)
		require.OK(t)(err)
		wantNearest(t, exact, got, k, math.Inf(1))
		// Limit the distance to any value, or to the exact distance of a point, which is included.
		limit := rapid.Float64Range(0, 1e9).Draw(t, "limit")
		last := ""
		if len(got) > 0 && rapid.Bool().Draw(t, "exactly") {
			n := rapid.SampledFrom(got).Draw(t, "last")
			last, limit = n.ID, n.Distance
		}
		all := got
		if got, err = x.NearestWithin(ctx, center, limit, k, weights...); err != nil {
			t.Fatal(err)
		}
		wantNearest(t, exact, got, k, limit)
		count := 0
		for n, err := range x.Within(ctx, center, limit, index.Page{}, weights...) {
			if err != nil || n.Distance > limit || math.Abs(n.Distance-float(exact[n.ID])) > 1e-15*n.Distance {
				t.Fatalf("Within %v returned %v, %v", limit, n, err)
			}
			count++
		}
		if k >= len(model) && count != len(got) {
			t.Fatalf("Within %v returned %d points, NearestWithin %d", limit, count, len(got))
		}
		if within := slices.DeleteFunc(all, func(n Near) bool { return n.Distance > limit }); len(within) != len(got) {
			t.Fatalf("NearestWithin %v, the distance of %q: got %v, want %v", limit, last, got, within)
		}
	})
}

func float(f *big.Float) float64 {
	n, _ := f.Float64()
	return n
}

// exactDistance returns the distance between two points in high precision.
func exactDistance(x *Index, p, q []uint64, weights []float64) *big.Float {
	number := func(f float64) *big.Float { return new(big.Float).SetPrec(5000).SetFloat64(f) }
	sum := number(0)
	for d := range x.reader.points.axes {
		a := &x.reader.points.axes[d]
		side := number(0)
		side.Sub(new(big.Float).SetPrec(5000).SetUint64(p[d]), new(big.Float).SetUint64(q[d]))
		side.Quo(side, number(a.unit()))
		if weights != nil {
			side.Mul(side, number(weights[d]))
		}
		sum.Add(sum, side.Mul(side, side))
	}
	return sum.Sqrt(sum)
}

// wantNearest fails the test unless got has the k nearest points within limit, in order, with
// distances that are exact except for the last digits. Points whose distances differ only in
// these digits may be in either order.
func wantNearest(t *rapid.T, exact map[string]*big.Float, got []Near, k int, limit float64) {
	t.Helper()
	remaining := map[string]float64{}
	within := 0
	for id, distance := range exact {
		remaining[id], _ = distance.Float64()
		if remaining[id] <= limit*(1-1e-15) {
			within++
		}
	}
	if len(got) > k || len(got) < min(k, within) {
		t.Fatalf("got %d points, want %d of the %d within %v", len(got), k, within, limit)
	}
	for i, n := range got {
		if math.Abs(n.Distance-remaining[n.ID]) > 1e-15*remaining[n.ID] || n.Distance > limit {
			t.Fatalf("%q has distance %v, want %v", n.ID, n.Distance, remaining[n.ID])
		}
		delete(remaining, n.ID)
		if i > 0 && cmp.Or(cmp.Compare(got[i-1].Distance, n.Distance), cmp.Compare(got[i-1].ID, n.ID)) >= 0 {
			t.Fatalf("out of order: %v, %v", got[i-1], n)
		}
	}
	for id, distance := range remaining {
		if len(got) == k && distance < got[k-1].Distance*(1-1e-15) {
			t.Fatalf("%q at %v is nearer than %v", id, distance, got[k-1])
		}
	}
}

// NearestWithin includes integer and decimal points at exactly the distance. Nearest breaks ties by
// ID.
func TestNearestExactly(t *testing.T) {
	t.Parallel()
	c := redistest.DB(t).Client(t)
	for name, dims := range map[string]struct {
		text   string
		digits []int // after the point, per dimension
	}{
		"integers":   {"a:int(-400..400),b:int(-400..400),c:int(-400..400),d:int(-400..400)", []int{0, 0, 0, 0}},
		"two":        {"a:int(-400..400),b:int(-400..400)", []int{0, 0}},
		"decimals":   {"a:decimal(1)(-40..40),b:decimal(1)(-40..40),c:decimal(1)(-40..40)", []int{1, 1, 1}},
		"mixed":      {"a:int(-40..40),b:decimal(3)(-40..40),c:decimal(1)(-40..40)", []int{0, 3, 1}},
		"large ones": {"a:int(-9000000000..9000000000),b:int(-9000000000..9000000000),c:int(-9000000000..9000000000)", []int{0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			x := newIndex(t, c, name, dims.text, Options{})
			random := rand.New(rand.NewPCG(5, 6))
			squares := map[string]int64{} // squared distances from the center, in units of the last digit
			factor := int64(1)
			if name == "large ones" {
				factor = 1_000_000_000
			}
			digits := int64(math.Pow10(slices.Max(dims.digits)))
			points := map[string][]any{}
			for i := range 3000 {
				values := make([]any, len(dims.digits))
				sum := int64(0)
				for d, n := range dims.digits {
					side := random.Int64N(9) - random.Int64N(9)
					if name == "two" {
						side = random.Int64N(400) - random.Int64N(400)
					}
					values[d] = decimal.New(side*factor, n)
					side *= digits / int64(math.Pow10(n))
					sum += side * side
				}
				id := fmt.Sprint("p", i)
				points[id], squares[id] = values, sum
			}
			require.OK(t)(x.PutMany(ctx, pointsOf(points)))
			ids := slices.SortedFunc(maps.Keys(points), func(a, b string) int {
				return cmp.Or(cmp.Compare(squares[a], squares[b]), cmp.Compare(a, b))
			})
			center := slices.Repeat([]any{0}, len(dims.digits))
			got, err := x.Nearest(ctx, center, len(ids))
			require.OK(t)(err)
			for i, n := range got {
				if n.ID != ids[i] {
					t.Fatalf("point %d is %q at distance %v, want %q", i, n.ID, n.Distance, ids[i])
				}
			}
			within := 0
			for root := int64(1); within < len(ids) && root < 600; root += 1 + root/20 {
				within, _ = slices.BinarySearchFunc(ids, root*root+1, func(id string, square int64) int { return cmp.Compare(squares[id], square) })
				got, err := x.NearestWithin(ctx, center, float64(root)*float64(factor)/float64(digits), len(ids))
				if err != nil || len(got) != within {
					t.Fatalf("within %d: %d points, want %d, %v", root, len(got), within, err)
				}
			}
		})
	}
}

// Nearest and NearestWithin return exactly the nearest points, also where points are dense.
func TestNearestInDenseAreas(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), redistest.DB(t).Client(t)
	x := newIndex(t, c, "crowd", "x:decimal(3)(-1000..1000),y:decimal(3)(-1000..1000)", Options{})
	random := rand.New(rand.NewPCG(1, 2))
	points := map[string][]any{}
	for i := range 20_000 {
		spread := 1000.0
		if i%2 == 0 {
			spread = 1 // half of the points are close to the center
		}
		points[fmt.Sprint(i)] = []any{fmt.Sprintf("%.3f", (random.Float64()*2-1)*spread), fmt.Sprintf("%.3f", (random.Float64()*2-1)*spread)}
	}
	require.OK(t)(x.PutMany(ctx, pointsOf(points)))
	for _, center := range [][]any{{0, 0}, {-0.001, 0}, {"0.5", "0.5"}, {-1000, 1000}, {500, 0}, {3, 3}} {
		at, _ := x.reader.points.codes(center)
		var want []float64
		for _, values := range points {
			p, _ := x.reader.points.codes(values)
			dx, dy := int64(p[0]-at[0]), int64(p[1]-at[1]) // in units of 0.001
			want = append(want, math.Sqrt(float64(dx*dx+dy*dy))/1000)
		}
		slices.Sort(want)
		check := func(got []Near, err error, n int) {
			if err != nil || len(got) != n {
				t.Fatalf("from %v: %d points, want %d, %v", center, len(got), n, err)
			}
			for i := range got {
				if got[i].Distance != want[i] {
					t.Errorf("from %v: the distance of point %d is %v, want %v", center, i, got[i].Distance, want[i])
				}
			}
		}
		got, err := x.Nearest(ctx, center, 25)
		check(got, err, 25)
		// The distance includes more points than k, or fewer.
		for _, k := range []int{1, 25, 3000} {
			for _, distance := range []float64{0, 0.5, 5, 50, 5000, math.Inf(1)} {
				within, _ := slices.BinarySearch(want, math.Nextafter(distance, math.Inf(1)))
				got, err := x.NearestWithin(ctx, center, distance, k)
				check(got, err, min(k, within))
			}
		}
	}
	for _, err := range []error{
		second(x.Nearest(ctx, []any{0, 0}, 0)), second(x.Nearest(ctx, []any{0, 0}, maxNearest+1)),
		second(x.Nearest(ctx, []any{0}, 1)), second(x.Nearest(ctx, []any{0, 5000}, 1)),
		second(x.Nearest(ctx, []any{0, 0}, 1, 1)), second(x.Nearest(ctx, []any{0, 0}, 1, 1, -1)), second(x.Nearest(ctx, []any{0, 0}, 1, 1, math.NaN())),
		second(x.NearestWithin(ctx, []any{0, 0}, -1, 1)), second(x.NearestWithin(ctx, []any{0, 0}, math.NaN(), 1)),
	} {
		if !errors.Is(err, index.ErrValue) {
			t.Errorf("invalid argument: %v, want ErrValue", err)
		}
	}
}

// The corners of a box are farther away than points just outside its sides: k points in the
// corners are not enough.
func TestNearestWithFullCorners(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), redistest.DB(t).Client(t)
	x := newIndex(t, c, "corner", "x:int(-10000..10000),y:int(-10000..10000)", Options{})
	points := map[string][]any{}
	for i := range 2000 {
		points[fmt.Sprint("far", i)] = []any{9000 + i/50, -9000 - i%50}
	}
	require.OK(t)(x.PutMany(ctx, pointsOf(points)))
	at, _ := x.reader.points.codes([]any{0, 0})
	for side := 100.0; side < 8000; side *= 1.15 {
		ring := map[string][]any{}
		for i := range 30 {
			ring[fmt.Sprint("corner", i)] = []any{int(0.99 * side), int(0.99*side) * (1 - i%2*2)}
			ring[fmt.Sprint("side", i)] = []any{-int(1.2 * side), i}
		}
		require.OK(t)(x.PutMany(ctx, pointsOf(ring)))
		f := nearestSearch{x: x.reader, k: 25, limit: math.Inf(1), metric: metric{
			distance: func(p []uint64) float64 {
				return math.Hypot(x.reader.points.axes[0].distance(at[0], p[0], 1, 1), x.reader.points.axes[1].distance(at[1], p[1], 1, 1))
			},
			blocks: func(radius float64) []block {
				low, high := make([]uint64, 2), make([]uint64, 2)
				for d := range low {
					low[d], high[d] = x.reader.points.axes[d].around(at[d], radius)
				}
				return []block{x.reader.points.block(low, high)}
			},
		}}
		// Search as if the neighbours along the curve gave no better bound.
		got, err := f.result(f.inSteps(ctx, 14_000))
		if err != nil || len(got) != 25 || got[24].Distance > 1.3*side {
			t.Errorf("side %.0f: %d points, %v, the last at distance %v", side, len(got), err, got[len(got)-1])
		}
	}
}
