package toolkit

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
	"retwis/index"
	"retwis/index/decimal"
	"retwis/index/space"
)

// places compares index/space with GEOSEARCH on the same places.
type places struct {
	opt    measure.Options
	client rueidis.Client
	geo    *space.Index
}

// Space compares geographic queries with GEOSEARCH.
func Space(ctx context.Context, opt measure.Options) (string, error) {
	return measure.OnServer(ctx, opt.Dir, func(text io.Writer, server *measure.Server) error {
		client := server.Client
		geo, err := space.New(client, "places", space.Options{Dims: space.GeoDims()})
		if err != nil {
			return err
		}
		b := &places{opt: opt, client: client, geo: geo}
		if err := b.fill(ctx); err != nil {
			return err
		}
		fmt.Fprintf(text, `## Points of many dimensions

%s places, about one per square kilometre, in `+"`index/space` and by `GEOADD`"+`. Server CPU
time per query from `+"`INFO`"+`, including socket I/O; medians of %d rounds. Redis has no
equivalent for points of other dimensions.

All places within a radius (`+"`Within`, compared with `GEOSEARCH … BYRADIUS`"+`), and the nearest 10 of
them (`+"`NearestWithin`, compared with `GEOSEARCH … ASC COUNT 10`). Here `GEOSEARCH`"+` returns names
only, `+"`index/space`"+` also coordinates and distances.

`, measure.Thousands(opt.Stored), opt.Rounds)
		measure.Head(text, "radius", "places", "`Within`", "`GEOSEARCH`", "ratio", "nearest 10", "`GEOSEARCH`", "ratio")
		for _, metres := range []float64{500, 2_000, 10_000, 50_000, 200_000} {
			row, err := b.radius(ctx, metres)
			if err != nil {
				return fmt.Errorf("%g metres: %w", metres, err)
			}
			measure.Row(text, row...)
		}
		return nil
	})
}

// fill adds evenly distributed places to both sides. GEOADD adds the places in index order, so that
// neighbours are close in memory, which speeds up GEOSEARCH.
func (b *places) fill(ctx context.Context) error {
	random := rand.New(rand.NewPCG(1, 2))
	_, err := b.geo.PutMany(ctx, func(yield func(space.Entry) bool) {
		for i := range b.opt.Stored {
			if !yield(space.Entry{ID: strconv.Itoa(i), Values: []any{37 + 9*random.Float64(), 7 + 12*random.Float64()}}) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	var readErr error
	err = measure.Send(ctx, b.client, func(yield func(rueidis.Completed) bool) {
		for p, err := range b.geo.All(ctx, index.Page{}) {
			if readErr = err; err != nil || !yield(b.client.B().Geoadd().Key("geo").LongitudeLatitudeMember().LongitudeLatitudeMember(degrees(p.Values[1]), degrees(p.Values[0]), p.ID).Build()) {
				return
			}
		}
	})
	return cmp.Or(readErr, err)
}

func degrees(v any) float64 { return v.(decimal.Decimal).Float64() }

// radius measures searches around random places.
func (b *places) radius(ctx context.Context, metres float64) ([]string, error) {
	queries := min(500, max(3, int(2e10/(metres*metres))))
	var found [4]int
	side := func(i int, search func(lat, lon float64) (int, error)) measure.Side {
		round := uint64(0)
		return measure.Side{Measure: func() ([]float64, error) {
			round++ // seeds the generator, so that all sides search the same places
			random := rand.New(rand.NewPCG(3, round))
			run := measure.Repeat(queries, func() error {
				n, err := search(39+5*random.Float64(), 10+6*random.Float64())
				found[i] += n
				return err
			})
			return measure.PerOp(queries, run, measure.ServerCPU(ctx, b.client))()
		}}
	}
	names := func(cmd rueidis.Completed) (int, error) {
		names, err := b.client.Do(ctx, cmd).AsStrSlice()
		return len(names), err
	}
	costs, err := measure.InTurn(b.opt.Rounds, []measure.Side{
		side(0, func(lat, lon float64) (int, error) {
			return count(b.geo.Within(ctx, []any{lat, lon}, metres, index.Page{}))
		}),
		side(1, func(lat, lon float64) (int, error) {
			return names(b.client.B().Geosearch().Key("geo").Fromlonlat(lon, lat).Byradius(metres).M().Build())
		}),
		side(2, func(lat, lon float64) (int, error) {
			near, err := b.geo.NearestWithin(ctx, []any{lat, lon}, metres, 10)
			return len(near), err
		}),
		side(3, func(lat, lon float64) (int, error) {
			return names(b.client.B().Geosearch().Key("geo").Fromlonlat(lon, lat).Byradius(metres).M().Asc().Count(10).Build())
		}),
	})
	if err != nil {
		return nil, err
	}
	row := []string{fmt.Sprintf("%g km", metres/1000), measure.Thousands(found[0] / (b.opt.Rounds * queries))}
	for i := 0; i < len(found); i += 2 {
		// GEOADD rounds coordinates by less than a metre, so that the results can differ slightly.
		if math.Abs(float64(found[i]-found[i+1])) > 1+0.01*float64(found[i+1]) {
			return nil, fmt.Errorf("found %d places, GEOSEARCH %d", found[i], found[i+1])
		}
		for _, cost := range [][][]float64{costs[i], costs[i+1]} {
			row = append(row, measure.Thousands(int(measure.Median(cost[0])+0.5))+" µs")
		}
		row = append(row, fmt.Sprintf("**%.2f**", measure.MedianRatio(costs[i][0], costs[i+1][0])))
	}
	return row, nil
}
