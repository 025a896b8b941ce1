package space

import "math"

// earth is the radius of the earth in metres, as in GEODIST of Redis.
const earth = 6372797.560856

// coordinate is a place in degrees.
type coordinate struct{ lat, lon float64 }

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
	return 2 * earth * math.Asin(math.Sqrt(min(1, h)))
}

// onEarth returns the metric of metres from a place.
func (x *points) onEarth(at []uint64) metric {
	here := coordinates(at)
	return metric{
		distance: func(codes []uint64) float64 { return here.distance(coordinates(codes)) },
		blocks:   func(metres float64) []block { return x.around(here, metres) },
	}
}

// around returns blocks that contain all places within a distance, and a few more: one block,
// or two if it crosses the 180th meridian.
func (x *points) around(c coordinate, metres float64) []block {
	angle := metres/earth*(1+1e-9) + 1e-9 // radians, with a margin of 6 mm
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
