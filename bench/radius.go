package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/space"
)

// radiusPlaces is the number of places, one on each square kilometre.
const radiusPlaces = 1_000_000

// radiusBench compares radius queries with GEOSEARCH on the same places.
type radiusBench struct {
	client rueidis.Client
	geo    *space.Geo
	rounds int
}

// radiusWay is one way to query a radius. It returns how many places it found.
type radiusWay func(ctx context.Context, at [2]float64, metres float64) (int, error)

func measureRadius(ctx context.Context, dir string, opt options) (text string, err error) {
	err = onServer(ctx, dir, "radius", func(client rueidis.Client) error {
		geo, err := space.NewGeo(client, "places", space.Options{})
		if err != nil {
			return err
		}
		b := radiusBench{client: client, geo: geo, rounds: min(opt.rounds, 5)}
		if err := b.fill(ctx); err != nil {
			return err
		}
		var out strings.Builder
		if err := b.compare(ctx, &out); err != nil {
			return err
		}
		text = out.String()
		return nil
	})
	return text, err
}

// fill puts places of a region of 1,000 by 1,000 kilometres, evenly spread, into both.
func (b *radiusBench) fill(ctx context.Context) error {
	random := rand.New(rand.NewPCG(1, 2))
	_, err := b.geo.PutMany(ctx, func(yield func(space.Place) bool) {
		for i := range radiusPlaces {
			if !yield(space.Place{ID: strconv.Itoa(i), Lat: 37 + 9*random.Float64(), Lon: 7 + 12*random.Float64()}) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	var commands rueidis.Commands
	send := func() error {
		for _, r := range b.client.DoMulti(ctx, commands...) {
			if err := r.Error(); err != nil {
				return err
			}
		}
		commands = nil
		return nil
	}
	for p, err := range b.geo.Select(ctx, space.Area{South: -90, West: -180, North: 90, East: 180}, index.Page{}) {
		if err != nil {
			return err
		}
		commands = append(commands, b.client.B().Geoadd().Key("geo").LongitudeLatitudeMember().LongitudeLatitudeMember(p.Lon, p.Lat, p.ID).Build())
		if len(commands) == 1000 {
			if err := send(); err != nil {
				return err
			}
		}
	}
	return send()
}

// compare measures every way at several radii.
func (b *radiusBench) compare(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, `## Places within a radius

%s places, about one on each square kilometre, in `+"`index/space` and by `GEOADD`"+`. All places
within a radius: `+"`Geo.Within` beside `GEOSEARCH … BYRADIUS`"+`, and the nearest 10 of them, sorted:
`+"`Geo.NearestWithin` beside `GEOSEARCH … ASC COUNT 10`"+`. The figures are the time that the server
computes for a query, from `+"`INFO`"+`, reading and writing the socket included: medians of %d rounds of
`+"`make bench ARGS='--only radius'`"+`. `+"`GEOSEARCH`"+` returns names only; `+"`index/space`"+` returns
coordinates and distances, too.

| radius | places | `+"`Within` | `GEOSEARCH`"+` | ratio | nearest 10 | `+"`GEOSEARCH`"+` | ratio |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`, thousands(radiusPlaces), b.rounds)
	for _, radius := range []struct {
		metres  float64
		queries int
	}{{500, 500}, {2_000, 500}, {10_000, 200}, {50_000, 20}, {200_000, 3}} {
		cost, found, err := b.costs(ctx, radius.metres, radius.queries)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %g km | %s | %s | %s | **%.2f** | %s | %s | **%.2f** |\n", radius.metres/1000, thousands(found),
			microseconds(cost[0]), microseconds(cost[1]), cost[0]/cost[1], microseconds(cost[2]), microseconds(cost[3]), cost[2]/cost[3])
	}
	return nil
}

func microseconds(seconds float64) string { return thousands(int(seconds*1e6+0.5)) + " µs" }

func (b *radiusBench) ways() []radiusWay {
	search := func(sorted bool) radiusWay {
		return func(ctx context.Context, at [2]float64, metres float64) (int, error) {
			within := b.client.B().Geosearch().Key("geo").Fromlonlat(at[1], at[0]).Byradius(metres).M()
			command := within.Build
			if sorted {
				command = within.Asc().Count(10).Build
			}
			names, err := b.client.Do(ctx, command()).AsStrSlice()
			return len(names), err
		}
	}
	return []radiusWay{
		func(ctx context.Context, at [2]float64, metres float64) (n int, err error) {
			for _, err := range b.geo.Within(ctx, at[0], at[1], metres, index.Page{}) {
				if err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		},
		search(false),
		func(ctx context.Context, at [2]float64, metres float64) (int, error) {
			near, err := b.geo.NearestWithin(ctx, at[0], at[1], metres, 10)
			return len(near), err
		},
		search(true),
	}
}

// costs returns the median costs of a query in seconds of the server, for each way, and
// how many places are within the radius.
func (b *radiusBench) costs(ctx context.Context, metres float64, queries int) ([]float64, int, error) {
	ways := b.ways()
	costs := make([][]float64, len(ways))
	found := make([]int, len(ways))
	for round := range b.rounds {
		random := rand.New(rand.NewPCG(3, uint64(round)))
		var places [][2]float64
		for range queries {
			places = append(places, [2]float64{39 + 5*random.Float64(), 10 + 6*random.Float64()})
		}
		for w, way := range ways {
			before, err := serverSeconds(ctx, b.client)
			if err != nil {
				return nil, 0, err
			}
			for _, at := range places {
				n, err := way(ctx, at, metres)
				if err != nil {
					return nil, 0, err
				}
				found[w] += n
			}
			after, err := serverSeconds(ctx, b.client)
			if err != nil {
				return nil, 0, err
			}
			costs[w] = append(costs[w], (after-before)/float64(queries))
		}
	}
	// GEOADD rounds places to less than a metre.
	if math.Abs(float64(found[0]-found[1])) > 0.01*float64(found[1]) || math.Abs(float64(found[2]-found[3])) > 0.01*float64(found[3]) {
		return nil, 0, fmt.Errorf("a radius of %g metres: %d places found, and %d by GEOSEARCH; of the nearest %d and %d", metres, found[0], found[1], found[2], found[3])
	}
	medians := make([]float64, len(ways))
	for w := range ways {
		slices.Sort(costs[w])
		medians[w] = costs[w][len(costs[w])/2]
	}
	return medians, found[0] / (b.rounds * queries), nil
}
