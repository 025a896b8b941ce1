// Package space finds points of many dimensions in Redis: which of them lie in
// a box, which are nearest to a place, and how many there are.
//
// An index over one column answers questions about one column. A box in the
// plane asks for two at once: all with x between 50 and 100 and y between 100
// and 300. Read by x alone, most of what is read has the wrong y. This index
// weaves the bits of all dimensions into one number, the most significant first
// (z-order, or Morton order), so that points which are near each other in space
// are mostly near each other in one sorted set:
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
//	for entry, err := range points.Query(ctx, space.Box{{50, 100}, {100, 300}}, index.Page{}) {
//
// The well-known way to ask for a box is to cover it with equal squares, sized by
// its shorter side, each of which is one range of the index. A box that is a
// thousand times as long as it is wide then takes thousands of ranges. Here a box
// takes at most 32, however long and thin it is: those that leave out the 31
// widest gaps of the curve, found by cutting the box where the curve leaves it.
// All are asked in one round trip, and what lies beside the box is passed over
// as it arrives. Within the ranges of a long and thin box, which hold far more than
// the box, the server jumps from one piece to the next. See Index.Explain, which
// tells what a query reads, and can draw it.
//
// An index has from 1 to 16 dimensions: integers, decimals, floats and times,
// each of a declared range, negative ones too. A point is exactly what was put,
// and a query returns exactly the points in the box. A value outside the range of
// its dimension, or with more digits than it has, is refused with index.ErrValue.
//
// An entry and what is needed to move it are changed in one script, and
// Verify, Repair and Rebuild look after the index while it is in use; see package
// index, whose Lexical this stands on.
//
// The z-order is G. M. Morton's, "A Computer Oriented Geodetic Data Base and a
// New Technique in File Sequencing" (IBM, 1966); where a curve leaves a box and
// comes in again is from H. Tropf and H. Herzog, "Multidimensional Range Search in
// Dynamically Balanced Trees" (Angewandte Informatik, 1981).
package space
