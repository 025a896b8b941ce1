package space

import "math"

// earthRadius is the radius of the earth in metres, as in GEODIST of Redis.
const earthRadius = 6372797.560856

// coordinate is a place in degrees.
type coordinate struct{ lat, lon float64 }

// coordinates returns the place of codes.
func coordinates(codes []uint64) coordinate {
	return coordinate{float64(int64(codes[0])-90e6) / 1e6, float64(int64(codes[1])-180e6) / 1e6}
}

const radian = math.Pi / 180

// distance returns the great-circle distance to another place in metres, by the haversine
// formula.
func (c coordinate) distance(o coordinate) float64 {
	u := math.Sin((o.lat - c.lat) * radian / 2)
	v := math.Sin(math.Remainder(o.lon-c.lon, 360) * radian / 2)
	h := u*u + math.Cos(c.lat*radian)*math.Cos(o.lat*radian)*v*v
	return 2 * earthRadius * math.Asin(math.Sqrt(min(1, h)))
}

// onEarth returns the metric of distances from a place in metres.
func (x *points) onEarth(place []uint64) metric {
	center := coordinates(place)
	return metric{
		distance: func(codes []uint64) float64 { return center.distance(coordinates(codes)) },
		blocks:   func(metres float64) []block { return x.around(center, metres) },
	}
}

// around returns blocks that contain all places within a distance, and a few more: one block,
// or two if the circle crosses or touches the 180th meridian.
func (x *points) around(c coordinate, metres float64) []block {
	angle := metres/earthRadius*(1+1e-9) + 1e-9 // radians, with a margin of 6 mm
	south, north := c.lat-angle/radian, c.lat+angle/radian
	box := Box{{max(south, -90), min(north, 90)}, {}}
	// A circle around a pole contains every longitude. Any other circle extends farthest east
	// and west where it is tangent to a meridian.
	if south > -90 && north < 90 {
		reach := math.Asin(math.Min(1, math.Sin(angle)/math.Cos(c.lat*radian)))/radian*(1+1e-9) + 1e-9
		west, east := c.lon-reach, c.lon+reach
		switch {
		case west < -180:
			west += 360
		case east > 180:
			east -= 360
		}
		box[1] = Side{west, east}
	}
	blocks, _ := x.blocksOf(box) // the sides are in range
	return blocks
}
