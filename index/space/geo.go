package space

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/index"
)

// earth is the radius of the earth in metres, the one of GEODIST in Redis.
const earth = 6372797.560856

// Geo is an index of places on earth: an index with GeoDims, whose distances are metres
// and which knows that the earth is round.
type Geo struct{ x *Index }

// Place is a place on earth.
type Place struct {
	ID       string
	Lat, Lon float64 // degrees; north and east are positive
	Metres   float64 // distance from the place of the query; 0 in an area
	member   string
}

// Cursor returns the position of a place that was read, for index.Page.After.
func (p Place) Cursor() string { return index.Member{Member: p.member}.Cursor() }

// NewGeo returns the index of places at a key. Options.Dims must be GeoDims or empty. It
// sends nothing to the server.
func NewGeo(client rueidis.Client, key string, opt Options) (*Geo, error) {
	if opt.Dims == nil {
		opt.Dims = GeoDims()
	}
	x, err := New(client, key, opt)
	if err != nil {
		return nil, err
	}
	return x.Geo()
}

// Geo returns an index with GeoDims as an index of places.
func (x *Index) Geo() (*Geo, error) {
	if !x.reader.points.isGeo() {
		axes, _ := newAxes(GeoDims())
		return nil, x.reader.named(fmt.Errorf("%w: it is %s, not %s,%s: use GeoDims", index.ErrDeclared, x.reader.set.Declaration().Text, &axes[0], &axes[1]))
	}
	return &Geo{x}, nil
}

// Index returns the index of points below, for all that is not about the earth: Remove,
// Len, Count, Verify, Repair, Rebuild.
func (g *Geo) Index() *Index { return g.x }

// Put adds a place, or moves it: one script. Degrees are rounded to six digits after
// the point.
func (g *Geo) Put(ctx context.Context, id string, lat, lon float64) error {
	return g.x.Put(ctx, id, degrees(lat), degrees(lon))
}

// PutMany puts places; see Index.PutMany.
func (g *Geo) PutMany(ctx context.Context, places iter.Seq[Place]) (int, error) {
	return g.x.PutMany(ctx, func(yield func(Entry) bool) {
		for p := range places {
			if !yield(Entry{ID: p.ID, Values: []any{degrees(p.Lat), degrees(p.Lon)}}) {
				return
			}
		}
	})
}

// degrees rounds to the digits of GeoDims, or returns what the index refuses.
func degrees(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return f
	}
	return strconv.FormatFloat(f, 'f', 6, 64)
}

// Get returns the place of an id, or index.ErrNotFound: one round trip.
func (g *Geo) Get(ctx context.Context, id string) (Place, error) {
	e, err := g.x.Get(ctx, id)
	if err != nil {
		return Place{}, err
	}
	return g.place(e, nil), nil
}

// Area is a box of places, in degrees. If West is greater than East it goes across the
// 180th meridian.
type Area struct{ South, West, North, East float64 }

// Select yields the places in an area in the order of the curve.
func (g *Geo) Select(ctx context.Context, a Area, page index.Page) iter.Seq2[Place, error] {
	return func(yield func(Place, error) bool) {
		blocks, err := g.x.reader.points.blocksOf(Box{{a.South, a.North}, {a.West, a.East}})
		if err != nil {
			yield(Place{}, g.x.reader.named(err))
			return
		}
		g.yield(ctx, blocks, nil, page, yield)
	}
}

// Within yields the places within a distance, in metres as the crow flies, in the order
// of the curve, each with its distance: all of them, or in pages. NearestWithin returns
// the nearest first.
func (g *Geo) Within(ctx context.Context, lat, lon, metres float64, page index.Page) iter.Seq2[Place, error] {
	return func(yield func(Place, error) bool) {
		at, err := g.x.reader.points.places([]any{degrees(lat), degrees(lon)})
		if err == nil && !(metres >= 0) {
			err = fmt.Errorf("%w: %v metres: it must be at least 0", index.ErrValue, metres)
		}
		if err != nil {
			yield(Place{}, g.x.reader.named(err))
			return
		}
		here := coordinates(at)
		within := func(member string) bool {
			p, err := g.x.reader.points.placesOf(member)
			return err == nil && here.distance(coordinates(p)) <= metres
		}
		g.yieldFrom(ctx, g.around(here, metres), within, &here, page, yield)
	}
}

func (g *Geo) yield(ctx context.Context, blocks []block, also func(string) bool, page index.Page, yield func(Place, error) bool) {
	g.yieldFrom(ctx, blocks, also, nil, page, yield)
}

func (g *Geo) yieldFrom(ctx context.Context, blocks []block, also func(string) bool, here *coordinate, page index.Page, yield func(Place, error) bool) {
	if len(blocks) == 0 {
		return
	}
	r := g.x.reader.points.regionOf(blocks)
	r.also = also
	g.x.reader.yieldRegion(ctx, &r, page, func(e Entry, err error) bool {
		if err != nil {
			return yield(Place{}, err)
		}
		return yield(g.place(e, here), nil)
	})
}

// Nearest returns the k places nearest to a place, the nearest first; see Index.Nearest.
func (g *Geo) Nearest(ctx context.Context, lat, lon float64, k int) ([]Place, error) {
	return g.NearestWithin(ctx, lat, lon, math.Inf(1), k)
}

// NearestWithin returns the k places nearest to a place among those within a distance in
// metres, the nearest first; see Index.NearestWithin.
func (g *Geo) NearestWithin(ctx context.Context, lat, lon, metres float64, k int) ([]Place, error) {
	near, err := g.NearestPointsWithin(ctx, []any{degrees(lat), degrees(lon)}, metres, k)
	places := make([]Place, len(near))
	for i, n := range near {
		places[i] = g.place(n.Entry, nil)
		places[i].Metres = n.Distance
	}
	return places, err
}

// NearestPointsWithin is NearestWithin with points as Index has them: lat and lon exactly,
// and distances in metres.
func (g *Geo) NearestPointsWithin(ctx context.Context, point []any, metres float64, k int) ([]Near, error) {
	at, err := g.x.reader.points.places(point)
	if err != nil {
		return nil, g.x.reader.named(err)
	}
	here := coordinates(at)
	return g.x.reader.nearest(ctx, at, metres, k, metric{
		distance: func(p []place) float64 { return here.distance(coordinates(p)) },
		blocks:   func(metres float64) []block { return g.around(here, metres) },
	})
}

func (g *Geo) place(e Entry, here *coordinate) Place {
	p, _ := g.x.reader.points.placesOf(e.member) // it was read before
	c := coordinates(p)
	found := Place{ID: e.ID, Lat: c.lat, Lon: c.lon, member: e.member}
	if here != nil {
		found.Metres = here.distance(c)
	}
	return found
}

// coordinate is a place in degrees.
type coordinate struct{ lat, lon float64 }

func coordinates(p []place) coordinate {
	return coordinate{float64(int64(p[0].code)-90e6) / 1e6, float64(int64(p[1].code)-180e6) / 1e6}
}

const radian = math.Pi / 180

// distance returns the metres to another place along a great circle, by the haversine
// formula.
func (c coordinate) distance(o coordinate) float64 {
	u := math.Sin((o.lat - c.lat) * radian / 2)
	v := math.Sin(math.Remainder(o.lon-c.lon, 360) * radian / 2)
	h := u*u + math.Cos(c.lat*radian)*math.Cos(o.lat*radian)*v*v
	return 2 * earth * math.Asin(math.Sqrt(min(1, h)))
}

// around returns blocks that hold all places within a distance, and a few more: one, or
// two across the 180th meridian.
func (g *Geo) around(c coordinate, metres float64) []block {
	angle := metres/earth*(1+1e-9) + 1e-9 // radians; 6 mm more
	south, north := c.lat-angle/radian, c.lat+angle/radian
	box := Box{{max(south, -90), min(north, 90)}, {nil, nil}}
	var boxes []Box
	// A circle around a pole has every longitude; another one reaches farthest
	// east and west where a meridian touches it.
	if south > -90 && north < 90 {
		reach := math.Asin(math.Min(1, math.Sin(angle)/math.Cos(c.lat*radian)))/radian*(1+1e-9) + 1e-9
		west, east := c.lon-reach, c.lon+reach
		switch {
		case west < -180:
			boxes = []Box{{box[0], {nil, east}}, {box[0], {west + 360, nil}}}
		case east > 180:
			boxes = []Box{{box[0], {west, nil}}, {box[0], {nil, east - 360}}}
		default:
			box[1] = Side{west, east}
		}
	}
	if boxes == nil {
		boxes = []Box{box}
	}
	var blocks []block
	for _, b := range boxes {
		if found, some, err := g.x.reader.points.blockOf(b); err == nil && some {
			blocks = append(blocks, found)
		}
	}
	return slices.Clip(blocks)
}
