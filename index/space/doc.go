// Package space finds points of many dimensions in Redis: the points in a box, the
// nearest to a place, and how many there are.
//
// An index over one column answers questions about one column. A box in the plane
// asks for two at once: all points with x between 50 and 100 and y between 100 and 300.
// Read by x alone, most of what is read has the wrong y. This index interleaves the
// bits of all dimensions to one number, the most significant bits first (z-order, or
// Morton order), so that points which are near each other in space are mostly near
// each other in one sorted set:
//
//	x = 75   0 0 1 0 0 1 0 1 1
//	y = 200   0 1 1 0 0 1 0 0 0
//	         000111000011001010
//
//	points, err := space.New(client, "points", space.Options{Dims: []space.Dim{
//		{Name: "x", Type: space.Int, Min: 0, Max: 400},
//		{Name: "y", Type: space.Int, Min: 0, Max: 400},
//	}})
//	err = points.Put(ctx, "90", 75, 200)
//	for entry, err := range points.Select(ctx, space.Box{{50, 100}, {100, 300}}, index.Page{}) {
//
// The tutorial covers a box with equal squares, sized by its shorter side, each of
// which is one range of the index. A box that is a thousand times as long as it is wide
// then takes thousands of ranges. Here a box takes 8 ranges, of any shape: they leave
// out the 7 widest gaps of the curve, which are found by cutting the box where the curve
// leaves it. All ranges are read in one round trip, and points outside of the box are
// filtered as they arrive. Where a range holds more than a hundred points, the rest of it
// is read in up to 32 finer ranges. Those of a long and thin box hold far more than the
// box; in these the server skips from one piece to the next. Index.Explain reports what a
// query reads.
//
// Nearest and NearestWithin return points by their distance, the nearest first. With GeoDims
// they are places on earth, and distances are metres.
//
// An index has from 1 to 16 dimensions: integers, decimals and times, each with
// a declared range, which may be negative. It takes no floats: declare a decimal with the
// digits that count. It keeps points, and no areas or shapes. A point is stored exactly, and a query
// returns exactly the points in the box. A value outside the range of its dimension, or
// with more digits, is refused with index.ErrValue.
//
// Keys, consistency and maintenance are those of package index. If all you need is places within a few kilometres on one server, the GEO
// commands of Redis take about half of its time.
//
// The z-order is G. M. Morton's, "A Computer Oriented Geodetic Data Base and a New
// Technique in File Sequencing" (IBM, 1966); where a curve leaves a box and enters it
// again is from H. Tropf and H. Herzog, "Multidimensional Range Search in Dynamically
// Balanced Trees" (Angewandte Informatik, 1981).
package space
