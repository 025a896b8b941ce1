// Package space indexes multidimensional points in Redis: it finds and counts the points in a
// box, and finds the points nearest to a place.
//
// An index on one column answers questions about one column. A box in the plane is a condition
// on two columns: all points with x between 50 and 100 and y between 100 and 300. If an index
// on x alone is read, most of the points have the wrong y. This index interleaves the bits of
// all dimensions into one number, most significant bits first (z-order, or Morton order), so
// that points that are close in space are mostly close in one sorted set:
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
// Nearest and NearestWithin return points by distance, nearest first. With GeoDims, points are
// places on earth and distances are metres.
//
// Points are stored exactly, and a query returns exactly the points in the box. Keys,
// consistency and maintenance are those of package index.
//
// # Cost
//
// A Put is one script. The tutorial covers a box with equal squares, sized by its shorter side,
// each of which is one range of the index; a box that is a thousand times as long as it is wide
// then takes thousands of ranges. This package reads a box of any shape with 8 ranges. The
// ranges leave out the 7 widest gaps of the curve, which are found by cutting the box where the
// curve leaves the box. All ranges are read in one round trip, and points outside of the box
// are filtered out by the client. If a range has more than a hundred points, the rest is read
// in up to 32 finer ranges. Even the finer ranges of a long and thin box hold far more points
// than the box; in that case the server skips from one piece of the box to the next.
// Index.Explain reports what a query reads.
//
// # Limits
//
// An index has 1 to 16 dimensions: integers, decimals and times, each with a declared range,
// which may be negative. Floats are not supported: declare a decimal with the digits that
// matter. Areas and shapes are not supported. A value outside the range of its
// dimension, or with more digits, returns index.ErrValue.
//
// If you only need places within a few kilometres on a single server, the GEO commands of Redis
// take about half the time.
//
// # Sources
//
// The z-order is from G. M. Morton, "A Computer Oriented Geodetic Data Base and a New Technique
// in File Sequencing" (IBM, 1966). Finding where the curve leaves a box and enters it again is
// from H. Tropf and H. Herzog, "Multidimensional Range Search in Dynamically Balanced Trees"
// (Angewandte Informatik, 1981).
package space
