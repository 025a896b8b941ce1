package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/decimal"
	"retwis/index/space"
	"retwis/internal/redis/redisserver"
)

// How much is measured.
const (
	spacePoints = 1_000_000
	spaceBoxes  = 10 // of each shape
	largeBoxes  = 3  // of a large one
	spaceMoves  = 200_000
	spaceRounds = 5 // at most
)

// spaceBench measures multi-dimensional points.
type spaceBench struct {
	opt    options
	client rueidis.Client
	server *redisserver.Server
}

// spaceSet is an index of a million points, evenly spread.
type spaceSet struct {
	name   string
	index  *space.Index
	widths []float64 // of the volume of the points, in units of the codes
	offset []int64   // subtracted from a value for its code
	used   []int64   // the least value
	bits   int       // of each dimension
	scale  int       // digits after the decimal point
}

// spaceShape is boxes of one shape, with values in units of the last digit.
type spaceShape struct {
	name  string
	sides []float64 // as shares of the volume of the points
	large bool
	boxes [][2][]int64
}

// spaceAsked is the cost of one way to query the boxes of a shape.
type spaceAsked struct {
	took     []float64 // seconds of the server for all boxes, one value per round
	ranges   int       // maximum for a box
	skips    int       // on average
	read     int64
	returned int64
}

func measureSpace(ctx context.Context, dir string, opt options) (string, error) {
	opt.rounds = min(opt.rounds, spaceRounds)
	b := &spaceBench{opt: opt}
	var err error
	b.server, err = redisserver.Start(ctx, redisserver.Options{
		Dir: filepath.Join(dir, "space"), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Config: []string{`save ""`, "appendonly no"},
	})
	if err != nil {
		return "", err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = b.server.Stop(ctx)
	}()
	if b.client, err = clientOf(b.server); err != nil {
		return "", err
	}
	defer b.client.Close()
	var text strings.Builder
	fmt.Fprintf(&text, `## Points of many dimensions

%s points, evenly spread, in two and in three dimensions. `+"`index/space`"+` is compared with
the way of the tutorial: equal squares, or cubes, sized by the shortest side of the box,
one range of the same index each, with a filter for points outside of the box; once one
range after the other, as its code does, and once all in one pipeline. Skips are the gaps
within its ranges that the server skips. Each queries %d boxes of a shape, %d large ones. The
times are those that the server computes for a box, from `+"`INFO`"+`, reading and writing the
socket included: medians of %d rounds, and the median of the rounds' ratios to
`+"`index/space`"+`.

`, thousands(spacePoints), spaceBoxes, largeBoxes, opt.rounds)
	for _, part := range []func(context.Context, io.Writer) error{b.plane, b.solid} {
		if err := part(ctx, &text); err != nil {
			return "", err
		}
	}
	return text.String(), nil
}

// plane has places on earth, so that GEOSEARCH can be compared.
func (b *spaceBench) plane(ctx context.Context, out io.Writer) error {
	set := &spaceSet{
		name: "plane", bits: 29, scale: 6, widths: []float64{360e6, 170e6},
		used: []int64{-180e6, -85e6}, offset: []int64{-180e6, -180e6},
	}
	if err := b.fill(ctx, out, set, "lon:decimal(6)(-180..180),lat:decimal(6)(-180..180)"); err != nil {
		return err
	}
	// The shapes are in degrees, not in shares.
	shapes := []*spaceShape{
		{name: "square of 1,000", sides: []float64{7.8 / 360, 7.8 / 170}},
		{name: "square of 10,000", sides: []float64{24.7 / 360, 24.7 / 170}},
		{name: "thin, 1:1000, through all", sides: []float64{0.9, 0.324 / 170}},
		{name: "thin, 1000:1, through all", sides: []float64{0.153 / 360, 0.9}},
		{name: "thin, 1:1000, a quarter", sides: []float64{0.25, 0.09 / 170}},
		{name: "large, a tenth of all", sides: []float64{math.Sqrt(0.1), math.Sqrt(0.1)}, large: true},
	}
	if err := b.compare(ctx, out, set, shapes); err != nil {
		return err
	}
	return b.geo(ctx, out, set)
}

// solid has points in three dimensions.
func (b *spaceBench) solid(ctx context.Context, out io.Writer) error {
	set := &spaceSet{name: "solid", bits: 20, widths: []float64{1 << 20, 1 << 20, 1 << 20}, used: []int64{0, 0, 0}, offset: []int64{0, 0, 0}}
	if err := b.fill(ctx, out, set, "x:int(0..1048575),y:int(0..1048575),z:int(0..1048575)"); err != nil {
		return err
	}
	return b.compare(ctx, out, set, []*spaceShape{
		{name: "cube of 1,000", sides: []float64{0.1, 0.1, 0.1}},
		{name: "cube of 10,000", sides: []float64{0.2154, 0.2154, 0.2154}},
		{name: "needle, 1:1:1000", sides: []float64{0.0009, 0.0009, 0.9}},
		{name: "plate, 1:1000:1000", sides: []float64{0.9, 0.0009, 0.9}},
		{name: "large, a tenth of all", sides: []float64{0.4642, 0.4642, 0.4642}, large: true},
	})
}

// value is a coordinate as Put takes it.
func (s *spaceSet) value(n int64) any {
	if s.scale == 0 {
		return n
	}
	text := strconv.FormatInt(n, 10)
	sign := strings.HasPrefix(text, "-")
	text = strings.TrimPrefix(text, "-")
	text = strings.Repeat("0", max(0, s.scale+1-len(text))) + text
	text = text[:len(text)-s.scale] + "." + text[len(text)-s.scale:]
	if sign {
		return "-" + text
	}
	return text
}

// fill adds the points, and reports what that costs the server.
func (b *spaceBench) fill(ctx context.Context, out io.Writer, set *spaceSet, dims string) error {
	d, err := space.ParseDims(dims)
	if err != nil {
		return err
	}
	if set.index, err = space.New(b.client, set.name, space.Options{Dims: d}); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(7, uint64(len(d))))
	put := func(points int) (float64, error) {
		began, err := serverSeconds(ctx, b.client)
		if err != nil {
			return 0, err
		}
		_, err = set.index.PutMany(ctx, func(yield func(space.Entry) bool) {
			for i := range points {
				e := space.Entry{ID: strconv.Itoa(i), Values: make([]any, len(d))}
				for k := range e.Values {
					e.Values[k] = set.value(set.used[k] + int64(random.Float64()*set.widths[k]))
				}
				if !yield(e) {
					return
				}
			}
		})
		if err != nil {
			return 0, err
		}
		now, err := serverSeconds(ctx, b.client)
		return (now - began) / float64(points) * 1e6, err
	}
	added, err := put(spacePoints)
	if err != nil {
		return err
	}
	moved, err := put(spaceMoves)
	if err != nil {
		return err
	}
	var bytes [2]int64
	for i, key := range []string{set.name, set.name + ".content"} {
		if bytes[i], err = b.client.Do(ctx, b.client.B().MemoryUsage().Key(key).Samples(1000).Build()).AsInt64(); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "### %d dimensions\n\n`%s`: the server computes %.1f µs to add a point, and %.1f µs to move one. A point takes %d bytes in the index, and %d in the reverse index.\n\n",
		len(d), dims, added, moved, bytes[0]/spacePoints, bytes[1]/spacePoints)
	return nil
}

// place makes the boxes of a shape.
func (s *spaceShape) place(set *spaceSet) {
	random := rand.New(rand.NewPCG(11, uint64(len(s.name))))
	n := spaceBoxes
	if s.large {
		n = largeBoxes
	}
	for range n {
		low, high := make([]int64, len(s.sides)), make([]int64, len(s.sides))
		for k, side := range s.sides {
			size := side * set.widths[k]
			low[k] = set.used[k] + int64(random.Float64()*(set.widths[k]-size))
			high[k] = low[k] + int64(size)
		}
		s.boxes = append(s.boxes, [2][]int64{low, high})
	}
}

// compare queries the boxes of each shape in every way.
func (b *spaceBench) compare(ctx context.Context, out io.Writer, set *spaceSet, shapes []*spaceShape) error {
	fmt.Fprintf(out, "| box | points in it | ranges | skips | read per point | time per box | the tutorial's ranges | read per point | one by one | ratio | in one pipeline | ratio |\n")
	fmt.Fprintf(out, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, shape := range shapes {
		shape.place(set)
		var ours, single, piped spaceAsked
		for round := range b.opt.rounds {
			if err := b.round(ctx, set, shape, round == 0, &ours, &single, &piped); err != nil {
				return fmt.Errorf("%s: %w", shape.name, err)
			}
		}
		fmt.Fprintf(out, "| %s | %s | %d | %s | %s | %s |", shape.name, thousands(int(ours.returned)/len(shape.boxes)), ours.ranges, thousands(ours.skips/len(shape.boxes)), ours.perPoint(), ours.time(len(shape.boxes)))
		if single.returned == 0 && ours.returned > 0 {
			fmt.Fprintf(out, " %s | | not measured | | | |\n", thousands(single.ranges))
			continue
		}
		fmt.Fprintf(out, " %s | %s | %s | **%.1f** | %s | **%.1f** |\n", thousands(single.ranges), single.perPoint(),
			single.time(len(shape.boxes)), single.against(&ours), piped.time(len(shape.boxes)), piped.against(&ours))
	}
	fmt.Fprintln(out)
	return nil
}

// round queries once in every way.
func (b *spaceBench) round(ctx context.Context, set *spaceSet, shape *spaceShape, first bool, ours, single, piped *spaceAsked) error {
	began, err := serverSeconds(ctx, b.client)
	if err != nil {
		return err
	}
	returned := int64(0)
	for _, box := range shape.boxes {
		for _, err := range set.index.Select(ctx, set.box(box), index.Page{}) {
			if err != nil {
				return err
			}
			returned++
		}
	}
	if err := ours.add(ctx, b.client, began); err != nil {
		return err
	}
	if ours.returned = returned; first {
		for _, box := range shape.boxes {
			e, err := set.index.Explain(ctx, set.box(box))
			if err != nil {
				return err
			}
			ours.ranges = max(ours.ranges, len(e.Ranges))
			ours.read += e.Read
			ours.skips += e.Skips
		}
	}
	for i, way := range []*spaceAsked{single, piped} {
		t := tutorial{set: set, client: b.client, together: i == 1}
		began, err := serverSeconds(ctx, b.client)
		if err != nil {
			return err
		}
		way.read, way.returned = 0, 0
		for _, box := range shape.boxes {
			n := t.cells(box)
			way.ranges = max(way.ranges, n)
			if n > 50_000 {
				return nil
			}
			if err := t.ask(ctx, box, way); err != nil {
				return err
			}
		}
		if err := way.add(ctx, b.client, began); err != nil {
			return err
		}
		if way.returned != ours.returned {
			return fmt.Errorf("the tutorial's way finds %d points, and ours %d", way.returned, ours.returned)
		}
	}
	return nil
}

func (s *spaceSet) box(corners [2][]int64) space.Box {
	box := make(space.Box, len(corners[0]))
	for k := range box {
		box[k] = space.Side{Min: s.value(corners[0][k]), Max: s.value(corners[1][k])}
	}
	return box
}

// add adds the seconds of the server since it had computed for so long.
func (a *spaceAsked) add(ctx context.Context, client rueidis.Client, began float64) error {
	now, err := serverSeconds(ctx, client)
	a.took = append(a.took, now-began)
	return err
}

func (a *spaceAsked) time(boxes int) string {
	sorted := slices.Sorted(slices.Values(a.took))
	return milliseconds(time.Duration(sorted[len(sorted)/2] / float64(boxes) * float64(time.Second)))
}

func (a *spaceAsked) perPoint() string {
	return fmt.Sprintf("%.2f", float64(a.read)/float64(max(1, a.returned)))
}

// against returns the median of the rounds' ratios of time.
func (a *spaceAsked) against(other *spaceAsked) float64 {
	ratios := make([]float64, len(a.took))
	for i := range ratios {
		ratios[i] = a.took[i] / other.took[i]
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// geo compares with GEOSEARCH BYBOX on the same points.
func (b *spaceBench) geo(ctx context.Context, out io.Writer, set *spaceSet) error {
	var commands rueidis.Commands
	for e, err := range set.index.All(ctx, index.Page{}) {
		if err != nil {
			return err
		}
		lon, lat := e.Values[0].(decimal.Decimal).Float64(), e.Values[1].(decimal.Decimal).Float64()
		commands = append(commands, b.client.B().Geoadd().Key("geo").LongitudeLatitudeMember().LongitudeLatitudeMember(lon, lat, e.ID).Build())
		if len(commands) == 1000 {
			for _, r := range b.client.DoMulti(ctx, commands...) {
				if err := r.Error(); err != nil {
					return err
				}
			}
			commands = nil
		}
	}
	for _, r := range b.client.DoMulti(ctx, commands...) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "Squares around the equator, where degrees are proportional to metres, compared with `GEOSEARCH BYBOX … WITHCOORD` on the same points:\n\n")
	fmt.Fprintf(out, "| side | points in it | `index/space` | `GEOSEARCH` finds | time | ratio |\n| --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, side := range []float64{0.78, 2.47, 7.8, 24.7} {
		random := rand.New(rand.NewPCG(13, 17))
		var ours, theirs spaceAsked
		for range b.opt.rounds {
			ours.returned, theirs.returned = 0, 0
			longitudes := make([]float64, spaceBoxes)
			for i := range longitudes {
				longitudes[i] = random.Float64()*300 - 150
			}
			began, err := serverSeconds(ctx, b.client)
			if err != nil {
				return err
			}
			for _, lon := range longitudes {
				for _, err := range set.index.Select(ctx, space.Box{{Min: lon - side/2, Max: lon + side/2}, {Min: -side / 2, Max: side / 2}}, index.Page{}) {
					if err != nil {
						return err
					}
					ours.returned++
				}
			}
			if err := ours.add(ctx, b.client, began); err != nil {
				return err
			}
			if began, err = serverSeconds(ctx, b.client); err != nil {
				return err
			}
			for _, lon := range longitudes {
				metres := side * math.Pi / 180 * 6372797.560856
				found, err := b.client.Do(ctx, b.client.B().Geosearch().Key("geo").Fromlonlat(lon, 0).Bybox(metres).Height(metres).M().Withcoord().Build()).AsGeosearch()
				if err != nil {
					return err
				}
				theirs.returned += int64(len(found))
			}
			if err := theirs.add(ctx, b.client, began); err != nil {
				return err
			}
		}
		fmt.Fprintf(out, "| %.2f° | %s | %s | %s | %s | **%.1f** |\n", side, thousands(int(ours.returned/spaceBoxes)), ours.time(spaceBoxes),
			thousands(int(theirs.returned/spaceBoxes)), theirs.time(spaceBoxes), theirs.against(&ours))
	}
	fmt.Fprintln(out)
	return nil
}
