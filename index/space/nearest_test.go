package space

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"retwis/index"
	"retwis/internal/redistest"
)

// The nearest points are those that looking at every point finds.
func TestNearestAgainstBruteForce(t *testing.T) {
	t.Parallel()
	c := redistest.DB(t).Client(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		ctx := t.Context()
		n++
		dims := anyDims(rapid.SampledFrom([]int{2, 3, 16}).Draw(t, "most")).Draw(t, "dims")
		x := newIndex(t, c, fmt.Sprint("near", n), "", Options{Dims: dims, Partitions: rapid.SampledFrom([]int{1, 2}).Draw(t, "partitions")})
		model := map[string][]any{}
		for i := range rapid.IntRange(0, 200).Draw(t, "points") {
			values := make([]any, len(dims))
			for d := range values {
				values[d] = anyValue(t, &x.axes[d])
			}
			model[fmt.Sprint(i)] = values
		}
		if _, err := x.PutMany(ctx, entries(model)); err != nil {
			t.Fatal(err)
		}
		x.firstRead = rapid.SampledFrom([]int{1, 3, firstRead}).Draw(t, "first")
		here, weights := make([]any, len(dims)), []float64(nil)
		for d := range here {
			here[d] = anyValue(t, &x.axes[d])
		}
		if rapid.Bool().Draw(t, "weighted") {
			weights = make([]float64, len(dims))
			for d := range weights {
				weights[d] = rapid.SampledFrom([]float64{0, 1e-3, 1, 2.5, 1e6}).Draw(t, "weight")
			}
		}
		at, _ := x.places(here)
		var want []Near
		for id, values := range model {
			p, _ := x.places(values)
			sum := 0.0
			for d := range p {
				w := 1.0
				if weights != nil {
					w = weights[d]
				}
				if w > 0 {
					sum = math.Hypot(sum, w*x.axes[d].distance(at[d], p[d]))
				}
			}
			want = append(want, Near{Entry{ID: id}, sum})
		}
		slices.SortFunc(want, func(a, b Near) int {
			return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.ID, b.ID))
		})
		k := rapid.IntRange(1, 220).Draw(t, "k")
		want = want[:min(k, len(want))]
		got, err := x.Nearest(ctx, here, k, weights...)
		if err != nil {
			t.Fatal(err)
		}
		same := func(a, b Near) bool { return a.ID == b.ID && a.Distance == b.Distance }
		if !slices.EqualFunc(got, want, same) {
			t.Fatalf("from %v: got %v, want %v", here, got, want)
		}
		// Within a distance: that of a point, which is included, or any.
		limit := rapid.Float64Range(0, 1e9).Draw(t, "limit")
		if len(want) > 0 && rapid.Bool().Draw(t, "exactly") {
			limit = rapid.SampledFrom(want).Draw(t, "last").Distance
		}
		want = slices.DeleteFunc(want, func(n Near) bool { return n.Distance > limit })
		got, err = x.NearestWithin(ctx, here, limit, k, weights...)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(got, want, same) {
			t.Fatalf("within %v from %v: got %v, want %v", limit, here, got, want)
		}
	})
}

// In a crowd: as many as are wanted, and hardly more is read.
func TestNearestInACrowd(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), redistest.DB(t).Client(t)
	x := newIndex(t, c, "crowd", "x:decimal(3)(-1000..1000),y:decimal(3)(-1000..1000)", Options{})
	random := rand.New(rand.NewPCG(1, 2))
	points := map[string][]any{}
	for i := range 20_000 {
		spread := 1000.0
		if i%2 == 0 {
			spread = 1 // half of all crowd around the middle
		}
		points[fmt.Sprint(i)] = []any{fmt.Sprintf("%.3f", (random.Float64()*2-1)*spread), fmt.Sprintf("%.3f", (random.Float64()*2-1)*spread)}
	}
	if _, err := x.PutMany(ctx, entries(points)); err != nil {
		t.Fatal(err)
	}
	for _, here := range [][]any{{0, 0}, {-0.001, 0}, {"0.5", "0.5"}, {-1000, 1000}, {500, 0}, {3, 3}} {
		at, _ := x.places(here)
		var want []float64
		for _, values := range points {
			p, _ := x.places(values)
			want = append(want, math.Hypot(x.axes[0].distance(at[0], p[0]), x.axes[1].distance(at[1], p[1])))
		}
		slices.Sort(want)
		check := func(got []Near, err error, n int) {
			if err != nil || len(got) != n {
				t.Fatalf("from %v: %d, want %d, %v", here, len(got), n, err)
			}
			for i := range got {
				if got[i].Distance != want[i] {
					t.Errorf("from %v: the distance of number %d is %v, want %v", here, i, got[i].Distance, want[i])
				}
			}
		}
		got, err := x.Nearest(ctx, here, 25)
		check(got, err, 25)
		// More points are within a distance than are requested, or fewer.
		for _, k := range []int{1, 25, 3000} {
			for _, distance := range []float64{0, 0.5, 5, 50, 5000, math.Inf(1)} {
				within, _ := slices.BinarySearch(want, math.Nextafter(distance, math.Inf(1)))
				got, err := x.NearestWithin(ctx, here, distance, k)
				check(got, err, min(k, within))
			}
		}
	}
	for _, err := range []error{
		second(x.Nearest(ctx, []any{0, 0}, 0)), second(x.Nearest(ctx, []any{0, 0}, MaxNearest+1)),
		second(x.Nearest(ctx, []any{0}, 1)), second(x.Nearest(ctx, []any{0, 5000}, 1)),
		second(x.Nearest(ctx, []any{0, 0}, 1, 1)), second(x.Nearest(ctx, []any{0, 0}, 1, 1, -1)), second(x.Nearest(ctx, []any{0, 0}, 1, 1, math.NaN())),
		second(x.NearestWithin(ctx, []any{0, 0}, -1, 1)), second(x.NearestWithin(ctx, []any{0, 0}, math.NaN(), 1)),
	} {
		if !errors.Is(err, index.ErrValue) {
			t.Errorf("taken: %v", err)
		}
	}
}

// The corners of a box are farther than what is just outside of its sides: as many
// points as are wanted are not enough if they are in the corners.
func TestNearestIsNotInACorner(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), redistest.DB(t).Client(t)
	x := newIndex(t, c, "corner", "x:int(-10000..10000),y:int(-10000..10000)", Options{})
	points := map[string][]any{}
	for i := range 2000 {
		points[fmt.Sprint("far", i)] = []any{9000 + i/50, -9000 - i%50}
	}
	if _, err := x.PutMany(ctx, entries(points)); err != nil {
		t.Fatal(err)
	}
	at, _ := x.places([]any{0, 0})
	for side := 100.0; side < 8000; side *= 1.15 {
		ring := map[string][]any{}
		for i := range 30 {
			ring[fmt.Sprint("corner", i)] = []any{int(0.99 * side), int(0.99*side) * (1 - i%2*2)}
			ring[fmt.Sprint("side", i)] = []any{-int(1.2 * side), i}
		}
		if _, err := x.PutMany(ctx, entries(ring)); err != nil {
			t.Fatal(err)
		}
		f := nearestSearch{x: x.reader, k: 25, limit: math.Inf(1), metric: metric{
			distance: func(p []place) float64 {
				return math.Hypot(x.axes[0].distance(at[0], p[0]), x.axes[1].distance(at[1], p[1]))
			},
			blocks: func(radius float64) []block {
				low, high := make([]place, 2), make([]place, 2)
				for d := range low {
					low[d], high[d] = x.axes[d].around(at[d], radius)
				}
				return []block{x.block(low, high)}
			},
		}}
		// As if the neighbours along the curve gave no better bound.
		got, err := f.result(f.inSteps(ctx, 14_000))
		if err != nil || len(got) != 25 || got[24].Distance > 1.3*side {
			t.Errorf("side %.0f: %d, %v, the last at %v", side, len(got), err, got[len(got)-1])
		}
	}
}
