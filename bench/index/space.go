package index

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/index"
	"retwis/index/space"
)

// spacePlaces is the number of places, about one on each square kilometre.
const spacePlaces = 1_000_000

// metresPerDegree is that of a great circle, as the server has it.
const metresPerDegree = math.Pi / 180 * 6372797.560856

// places compares index/space with GEOSEARCH on the same places.
type places struct {
	opt    measure.Options
	client rueidis.Client
	geo    *space.Geo
}

// Space measures places on earth.
func Space(ctx context.Context, opt measure.Options) (string, error) {
	var text strings.Builder
	err := measure.OnServer(ctx, opt.Dir, func(client rueidis.Client, _ string) error {
		geo, err := space.NewGeo(client, "places", space.Options{})
		if err != nil {
			return err
		}
		b := &places{opt: opt, client: client, geo: geo}
		if err := b.fill(ctx); err != nil {
			return err
		}
		fmt.Fprintf(&text, `## Points of many dimensions

%s places, about one on each square kilometre, in `+"`space.Geo` and by `GEOADD`"+`. The
figures are the time that the server computes, from `+"`INFO`"+`, reading and writing the socket
included: medians of %d rounds. For points of other dimensions, the server has nothing to
compare with.

`, measure.Thousands(spacePlaces), opt.Rounds)
		for _, part := range []func(context.Context, io.Writer) error{b.boxes, b.radii} {
			if err := part(ctx, &text); err != nil {
				return err
			}
		}
		return nil
	})
	return text.String(), err
}

// fill puts the places into both, evenly spread. GEOADD gets them in the order of the index,
// so that neighbours lie next to each other in memory, which its queries profit from.
func (b *places) fill(ctx context.Context) error {
	random := rand.New(rand.NewPCG(1, 2))
	_, err := b.geo.PutMany(ctx, func(yield func(space.Place) bool) {
		for i := range spacePlaces {
			if !yield(space.Place{ID: strconv.Itoa(i), Lat: 37 + 9*random.Float64(), Lon: 7 + 12*random.Float64()}) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	var failed error
	err = measure.Send(ctx, b.client, func(yield func(rueidis.Completed) bool) {
		for p, err := range b.geo.Select(ctx, space.Area{South: -90, West: -180, North: 90, East: 180}, index.Page{}) {
			if err != nil {
				failed = err
				return
			}
			if !yield(b.client.B().Geoadd().Key("geo").LongitudeLatitudeMember().LongitudeLatitudeMember(p.Lon, p.Lat, p.ID).Build()) {
				return
			}
		}
	})
	return cmp.Or(failed, err)
}

// way is one way to query around a place. It returns how many places it found.
type way func(lat, lon, metres float64) (int, error)

// beside is a way beside GEOSEARCH, by medians.
type beside struct {
	found        int
	ours, theirs float64 // µs of the server for a query
}

// compare queries in both ways around random places in turn.
func (b *places) compare(ctx context.Context, metres float64, ours, theirs way) (c beside, err error) {
	queries := min(500, max(3, int(2e10/(metres*metres))))
	var found [2]int
	took, err := measure.InTurn(b.opt.Rounds, []int{0, 1}, func(side, round int) (float64, error) {
		random := rand.New(rand.NewPCG(3, uint64(round)))
		return measure.ServerTime(ctx, b.client, queries)(measure.Times(queries, func() error {
			n, err := []way{ours, theirs}[side](39+5*random.Float64(), 10+6*random.Float64(), metres)
			found[side] += n
			return err
		}))
	})
	if err != nil {
		return c, err
	}
	// GEOADD rounds places to less than a metre.
	if math.Abs(float64(found[0]-found[1])) > 1+0.01*float64(found[1]) {
		return c, fmt.Errorf("%g metres: %d places found, and %d by GEOSEARCH", metres, found[0], found[1])
	}
	return beside{found[0] / (b.opt.Rounds * queries), measure.Median(took[0]), measure.Median(took[1])}, nil
}

// row is the columns of a comparison.
func (c beside) row() string {
	micros := func(n float64) string { return measure.Thousands(int(n+0.5)) + " µs" }
	return fmt.Sprintf("%s | %s | **%.2f**", micros(c.ours), micros(c.theirs), c.ours/c.theirs)
}

// boxes compares squares.
func (b *places) boxes(ctx context.Context, out io.Writer) error {
	fmt.Fprint(out, "Squares, `Geo.Select` beside `GEOSEARCH … BYBOX … WITHCOORD`:\n\n")
	measure.Head(out, "side", "places", "`Select`", "`GEOSEARCH`", "ratio")
	for _, metres := range []float64{3_000, 10_000, 30_000, 100_000} {
		c, err := b.compare(ctx, metres, func(lat, lon, metres float64) (int, error) {
			half := metres / metresPerDegree / 2
			wide := half / math.Cos(lat*math.Pi/180)
			return count(b.geo.Select(ctx, space.Area{South: lat - half, West: lon - wide, North: lat + half, East: lon + wide}, index.Page{}))
		}, func(lat, lon, metres float64) (int, error) {
			found, err := b.client.Do(ctx, b.client.B().Geosearch().Key("geo").Fromlonlat(lon, lat).Bybox(metres).Height(metres).M().Withcoord().Build()).AsGeosearch()
			return len(found), err
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %g km | %s | %s |\n", metres/1000, measure.Thousands(c.found), c.row())
	}
	fmt.Fprintln(out)
	return nil
}

// radii compares circles.
func (b *places) radii(ctx context.Context, out io.Writer) error {
	fmt.Fprint(out, `All places within a radius, `+"`Geo.Within` beside `GEOSEARCH … BYRADIUS`"+`, and the nearest 10 of
them, `+"`Geo.NearestWithin` beside `GEOSEARCH … ASC COUNT 10`. This `GEOSEARCH`"+` returns names only;
`+"`index/space`"+` returns coordinates and distances, too.

`)
	measure.Head(out, "radius", "places", "`Within`", "`GEOSEARCH`", "ratio", "nearest 10", "`GEOSEARCH`", "ratio")
	search := func(sorted bool) way {
		return func(lat, lon, metres float64) (int, error) {
			within := b.client.B().Geosearch().Key("geo").Fromlonlat(lon, lat).Byradius(metres).M()
			command := within.Build
			if sorted {
				command = within.Asc().Count(10).Build
			}
			names, err := b.client.Do(ctx, command()).AsStrSlice()
			return len(names), err
		}
	}
	for _, metres := range []float64{500, 2_000, 10_000, 50_000, 200_000} {
		all, err := b.compare(ctx, metres, func(lat, lon, metres float64) (int, error) {
			return count(b.geo.Within(ctx, lat, lon, metres, index.Page{}))
		}, search(false))
		if err != nil {
			return err
		}
		nearest, err := b.compare(ctx, metres, func(lat, lon, metres float64) (int, error) {
			near, err := b.geo.NearestWithin(ctx, lat, lon, metres, 10)
			return len(near), err
		}, search(true))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %g km | %s | %s | %s |\n", metres/1000, measure.Thousands(all.found), all.row(), nearest.row())
	}
	return nil
}
