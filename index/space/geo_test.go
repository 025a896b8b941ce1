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
	"retwis/internal/redistest"
)

func newGeo(t *testing.T, places []Place, partitions int) *Geo {
	t.Helper()
	g, err := NewGeo(redistest.DB(t).Client(t), "places", Options{Partitions: partitions})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := g.PutMany(t.Context(), slices.Values(places)); err != nil || n != len(places) {
		t.Fatal(n, err)
	}
	return g
}

// world are places all over the earth, many of them where it is awkward.
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

// chord is how far two places are from each other, by another formula.
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
	return 2 * earth * math.Asin(math.Min(1, math.Sqrt(sum)/2))
}

func TestWithinAndNearest(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	places := world()
	g := newGeo(t, places, 2)
	for _, here := range []Place{{Lat: 38.1, Lon: 13.4}, {Lat: 0, Lon: 180}, {Lat: 10, Lon: -179.9}, {Lat: 90}, {Lat: -89.5, Lon: 77}, {Lat: -90, Lon: -180}, {Lat: 45, Lon: 0}} {
		for _, metres := range []float64{0, 1000, 200e3, 1500e3, 9e6, 30e6} {
			var want []string
			for _, p := range places {
				if chord(here, p) <= metres+0.001 {
					want = append(want, p.ID)
				}
			}
			slices.Sort(want)
			var got []string
			for p, err := range g.Within(ctx, here.Lat, here.Lon, metres, index.Page{}) {
				if err != nil {
					t.Fatal(err)
				}
				if d := chord(here, p); math.Abs(d-p.Metres) > 1 {
					t.Fatalf("%v is %v m from %v, not %v", p, d, here, p.Metres)
				}
				got = append(got, p.ID)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("within %v m of %v: %d, want %d", metres, here, len(got), len(want))
			}
			for _, k := range []int{1, 40, 10_000} {
				near, err := g.NearestWithin(ctx, here.Lat, here.Lon, metres, k)
				if err != nil || len(near) != min(k, len(want)) {
					t.Fatalf("the %d nearest within %v m of %v: %d, %v, want %d", k, metres, here, len(near), err, min(k, len(want)))
				}
				for i, p := range near {
					if d := chord(here, p); math.Abs(d-p.Metres) > 1 || i > 0 && p.Metres < near[i-1].Metres {
						t.Fatalf("from %v: number %d is %v, at %v m", here, i, p, d)
					}
				}
			}
		}
		byDistance := slices.Clone(places)
		slices.SortFunc(byDistance, func(a, b Place) int { return int(math.Copysign(1, chord(here, a)-chord(here, b))) })
		near, err := g.Nearest(ctx, here.Lat, here.Lon, 50)
		if err != nil || len(near) != 50 {
			t.Fatal(len(near), err)
		}
		for i, p := range near {
			if math.Abs(p.Metres-chord(here, byDistance[i])) > 0.01 {
				t.Errorf("from %v: number %d is %v, want %v", here, i, p, byDistance[i])
			}
		}
	}
}

// Sicily, as in the documentation of GEOADD and GEODIST.
func TestSicily(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := newGeo(t, []Place{{ID: "Palermo", Lat: 38.115556, Lon: 13.361389}, {ID: "Catania", Lat: 37.502669, Lon: 15.087269}, {ID: "Suva", Lat: -18.1416, Lon: 178.4419}, {ID: "Apia", Lat: -13.8333, Lon: -171.7667}}, 1)
	near, err := g.Nearest(ctx, 38.115556, 13.361389, 2)
	if err != nil || near[1].ID != "Catania" || math.Abs(near[1].Metres-166274.1516) > 1 {
		t.Errorf("%v, %v: GEODIST says 166274.1516", near, err)
	}
	var got []string
	for p, err := range g.Select(ctx, Area{South: -30, West: 170, North: 0, East: -170}, index.Page{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p.ID)
	}
	if slices.Sort(got); !slices.Equal(got, []string{"Apia", "Suva"}) {
		t.Errorf("across the meridian: %v", got)
	}
	if p, err := g.Get(ctx, "Suva"); err != nil || p.Lat != -18.1416 || p.Lon != 178.4419 {
		t.Errorf("%v, %v", p, err)
	}
	for _, err := range []error{
		g.Put(ctx, "x", 91, 0), g.Put(ctx, "x", 0, math.NaN()), second(g.Nearest(ctx, 0, 181, 1)), second(g.NearestWithin(ctx, 0, 0, -1, 1)),
		first(g.Within(ctx, 0, 0, -1, index.Page{})), first(g.Within(ctx, 0, 0, math.NaN(), index.Page{})), first(g.Select(ctx, Area{South: 10, North: 5}, index.Page{})),
	} {
		if !errors.Is(err, index.ErrValue) {
			t.Errorf("taken: %v", err)
		}
	}
	if _, err := offline(t, "x:int(0..1),y:int(0..1)").Geo(); !errors.Is(err, index.ErrDeclared) {
		t.Errorf("it is not on earth: %v", err)
	}
}

func first[T any](all func(func(T, error) bool)) (found error) {
	all(func(_ T, err error) bool { found = err; return false })
	return found
}

// A box of an index of places crosses the 180th meridian as one of Geo does.
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
		for e, err := range g.Index().Select(t.Context(), box, index.Page{}) {
			if err != nil {
				t.Fatal(c.west, err)
			}
			got[e.ID] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("%v: %d places, want %d", c.west, len(got), len(want))
		}
		if n, err := g.Index().Count(t.Context(), box); err != nil || int(n) != len(want) {
			t.Errorf("%v: counted %d, want %d, %v", c.west, n, len(want), err)
		}
		e, err := g.Index().Explain(t.Context(), box)
		if err != nil || int(e.Returned) != len(want) {
			t.Fatalf("%v: explained %+v, %v, want %d", c.west, e, err, len(want))
		}
		sum := int64(0)
		for _, r := range e.Ranges {
			sum += r.Read
		}
		if sum != e.Read || e.Read < e.Returned {
			t.Errorf("%v: the ranges have %d of %d read, %d returned", c.west, sum, e.Read, e.Returned)
		}
		p, err := e.Plane(1, 0)
		if err != nil || c.west == "170" && len(p.Boxes) != 2 {
			t.Errorf("%v: %d boxes, %v", c.west, len(p.Boxes), err)
		}
	}
}
