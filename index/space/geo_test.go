package space

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"retwis/index"
	"retwis/index/decimal"
	"retwis/internal/redistest"
	"retwis/internal/require"
)

// Place is a place on Earth.
type Place struct {
	ID       string
	Lat, Lon float64
}

func (p Place) values() []any { return []any{p.Lat, p.Lon} }

// newGeo returns an index of places.
func newGeo(t *testing.T, places []Place, partitions int) *Index {
	t.Helper()
	g := newIndex(t, redistest.DB(t).Client(t), "places", "geo", Options{Partitions: partitions})
	n, err := g.PutMany(t.Context(), func(yield func(Entry) bool) {
		for _, p := range places {
			if !yield(Entry{ID: p.ID, Values: p.values()}) {
				return
			}
		}
	})
	if err != nil || n != len(places) {
		t.Fatalf("PutMany() = %d, %v, want %d", n, err, len(places))
	}
	return g
}

// placeOf returns the place of an entry.
func placeOf(e Entry) Place {
	return Place{e.ID, e.Values[0].(decimal.Decimal).Float64(), e.Values[1].(decimal.Decimal).Float64()}
}

// world returns places all over the Earth, many of them near the poles and the 180th meridian.
func world() []Place {
	random := rand.New(rand.NewPCG(3, 4))
	var all []Place
	for i := range 4000 {
		p := Place{ID: fmt.Sprint(i), Lat: random.Float64()*180 - 90, Lon: random.Float64()*360 - 180}
		switch i % 5 {
		case 0: // around the 180th meridian
			p.Lon = 180 - random.Float64()*3
			if i%2 == 0 {
				p.Lon = -p.Lon
			}
		case 1: // around the poles
			p.Lat = 90 - random.Float64()*3
			if i%2 == 0 {
				p.Lat = -p.Lat
			}
		}
		p.Lat, p.Lon = math.Round(p.Lat*1e6)/1e6, math.Round(p.Lon*1e6)/1e6
		all = append(all, p)
	}
	return append(all, Place{ID: "n", Lat: 90}, Place{ID: "s", Lat: -90, Lon: 180}, Place{ID: "e", Lon: 180}, Place{ID: "w", Lon: -180})
}

// chord returns the distance between two places. Its formula differs from that of the package.
func chord(a, b Place) float64 {
	xyz := func(p Place) [3]float64 {
		lat, lon := p.Lat*math.Pi/180, p.Lon*math.Pi/180
		return [3]float64{math.Cos(lat) * math.Cos(lon), math.Cos(lat) * math.Sin(lon), math.Sin(lat)}
	}
	u, v := xyz(a), xyz(b)
	sum := 0.0
	for i := range u {
		sum += (u[i] - v[i]) * (u[i] - v[i])
	}
	return 2 * earthRadius * math.Asin(math.Min(1, math.Sqrt(sum)/2))
}

func TestWithinAndNearest(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	places := world()
	g := newGeo(t, places, 2)
	for _, center := range []Place{{Lat: 38.1, Lon: 13.4}, {Lat: 0, Lon: 180}, {Lat: 10, Lon: -179.9}, {Lat: 90}, {Lat: -89.5, Lon: 77}, {Lat: -90, Lon: -180}, {Lat: 45, Lon: 0}} {
		for _, metres := range []float64{0, 1000, 200e3, 1500e3, 9e6, 30e6} {
			var want []string
			for _, p := range places {
				if chord(center, p) <= metres+0.001 {
					want = append(want, p.ID)
				}
			}
			slices.Sort(want)
			var got []string
			for p, err := range g.Within(ctx, center.values(), metres, index.Page{}) {
				require.OK(t)(err)
				if d := chord(center, placeOf(p.Entry)); math.Abs(d-p.Distance) > 1 {
					t.Fatalf("%v is %v m from %v, got %v", p, d, center, p.Distance)
				}
				got = append(got, p.ID)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("within %v m of %v: %d places, want %d", metres, center, len(got), len(want))
			}
			for _, k := range []int{1, 40, 10_000} {
				near, err := g.NearestWithin(ctx, center.values(), metres, k)
				if err != nil || len(near) != min(k, len(want)) {
					t.Fatalf("the %d nearest within %v m of %v: %d places, %v, want %d", k, metres, center, len(near), err, min(k, len(want)))
				}
				for i, p := range near {
					if d := chord(center, placeOf(p.Entry)); math.Abs(d-p.Distance) > 1 || i > 0 && p.Distance < near[i-1].Distance {
						t.Fatalf("from %v: place %d is %v, want distance %v m", center, i, p, d)
					}
				}
			}
		}
		byDistance := slices.Clone(places)
		slices.SortFunc(byDistance, func(a, b Place) int { return int(math.Copysign(1, chord(center, a)-chord(center, b))) })
		near, err := g.Nearest(ctx, center.values(), 50)
		if err != nil || len(near) != 50 {
			t.Fatalf("Nearest returned %d places, %v, want 50", len(near), err)
		}
		for i, p := range near {
			if math.Abs(p.Distance-chord(center, byDistance[i])) > 0.01 {
				t.Errorf("from %v: place %d is %v, want %v", center, i, p, byDistance[i])
			}
		}
	}
}

// The example of Sicily in the documentation of GEOADD and GEODIST.
func TestSicily(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := newGeo(t, []Place{{ID: "Palermo", Lat: 38.115556, Lon: 13.361389}, {ID: "Catania", Lat: 37.502669, Lon: 15.087269}, {ID: "Suva", Lat: -18.1416, Lon: 178.4419}, {ID: "Apia", Lat: -13.8333, Lon: -171.7667}}, 1)
	near, err := g.Nearest(ctx, []any{"38.115556", 13.3613890000001}, 2)
	if err != nil || near[1].ID != "Catania" || math.Abs(near[1].Distance-166274.1516) > 1 {
		t.Errorf("Nearest: %v, %v, want Catania at the 166274.1516 m of GEODIST", near, err)
	}
	var got []string
	for p, err := range g.Select(ctx, Box{{-30, 0}, {170, -170}}, index.Page{}) {
		require.OK(t)(err)
		got = append(got, p.ID)
	}
	if slices.Sort(got); !slices.Equal(got, []string{"Apia", "Suva"}) {
		t.Errorf("box across the 180th meridian: %v, want Apia and Suva", got)
	}
	if p, err := g.Get(ctx, "Suva"); err != nil || placeOf(p) != (Place{"Suva", -18.1416, 178.4419}) {
		t.Errorf("Get: %v, %v, want the place that was put", p, err)
	}
	if err := g.Put(ctx, "rounded", 0.12345649, -1e-9); err != nil {
		t.Error(err)
	}
	if e, err := g.Get(ctx, "rounded"); err != nil || fmt.Sprint(e.Values) != "[0.123456 0.000000]" {
		t.Errorf("Get: %v, %v, want rounded values", e, err)
	}
	for _, err := range []error{
		g.Put(ctx, "x", 91, 0), g.Put(ctx, "x", 0, math.NaN()), g.Put(ctx, "x", "0.1234567", 0), second(g.Nearest(ctx, []any{0, 181}, 1)),
		second(g.NearestWithin(ctx, []any{0, 0}, -1, 1)), second(g.Nearest(ctx, []any{0, 0}, 1, 1, 2)),
		first(g.Within(ctx, []any{0, 0}, -1, index.Page{})), first(g.Within(ctx, []any{0, 0}, math.NaN(), index.Page{})), first(g.Select(ctx, Box{{10, 5}, {}}, index.Page{})),
	} {
		if !errors.Is(err, index.ErrValue) {
			t.Errorf("invalid argument: %v, want ErrValue", err)
		}
	}
}

// first returns the error of the first iteration.
func first[T any](seq func(func(T, error) bool)) (found error) {
	seq(func(_ T, err error) bool { found = err; return false })
	return found
}

// A box can cross the 180th meridian. A box that touches the meridian contains the places at
// longitude 180 and at longitude -180.
func TestBoxAcrossTheMeridian(t *testing.T) {
	t.Parallel()
	places := world()
	g := newGeo(t, places, 2)
	for _, c := range []struct {
		west, east any
		within     func(lon float64) bool
	}{
		{"170", "-170", func(lon float64) bool { return lon >= 170 || lon <= -170 }},
		{179.5, -180, func(lon float64) bool { return lon >= 179.5 || lon == -180 }},
		{170, 180, func(lon float64) bool { return lon >= 170 || lon == -180 }},
		{-180, -170, func(lon float64) bool { return lon <= -170 || lon == 180 }},
		{170, nil, func(lon float64) bool { return lon >= 170 || lon == -180 }},
		{nil, "-170", func(lon float64) bool { return lon <= -170 || lon == 180 }},
		{180, 180, func(lon float64) bool { return math.Abs(lon) == 180 }},
		{-180, -180, func(lon float64) bool { return math.Abs(lon) == 180 }},
		{-200, "-179.9999999", func(lon float64) bool { return math.Abs(lon) == 180 }},
		{"-179.9999999", 0, func(lon float64) bool { return lon > -180 && lon <= 0 }},
		{10, "9.999999", func(lon float64) bool { return true }},
		{"10", "9", func(lon float64) bool { return lon >= 10 || lon <= 9 }},
		{"10", "20", func(lon float64) bool { return lon >= 10 && lon <= 20 }},
		{"0.0000001", "0.0000002", func(float64) bool { return false }},
	} {
		box := Box{{-50, "70.5"}, {c.west, c.east}}
		want := map[string]bool{}
		for _, p := range places {
			if p.Lat >= -50 && p.Lat <= 70.5 && c.within(p.Lon) {
				want[p.ID] = true
			}
		}
		got := map[string]bool{}
		for e, err := range g.Select(t.Context(), box, index.Page{}) {
			if err != nil {
				t.Fatalf("box from %v: %v", c.west, err)
			}
			got[e.ID] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("box from %v: %d places, want %d", c.west, len(got), len(want))
		}
		if n, err := g.Count(t.Context(), box); err != nil || int(n) != len(want) {
			t.Errorf("box from %v: Count() = %d, %v, want %d", c.west, n, err, len(want))
		}
		e, err := g.Explain(t.Context(), box)
		if err != nil || int(e.Returned) != len(want) {
			t.Fatalf("box from %v: Explain: %+v, %v, want %d returned", c.west, e, err, len(want))
		}
		if e.Read != pointsRead(e.Ranges) || e.Read < e.Returned {
			t.Errorf("box from %v: ranges read %d points, %d in total, %d returned", c.west, pointsRead(e.Ranges), e.Read, e.Returned)
		}
	}
}
