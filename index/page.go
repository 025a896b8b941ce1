package index

import "math"

// Page says which part of the answer of a query is wanted. The zero value is all
// of it, first to last.
//
// To read on where a page ended, keep the Cursor of its last entry and give it as
// After. Unlike an Offset it costs nothing to go far, and entries that come or go
// meanwhile move no other entry onto the next page or off it.
type Page struct {
	Limit   int    // at most so many entries; 0: all
	Offset  int    // pass over so many first; they cost as much as if they were read, but in a Numeric
	Reverse bool   // last first
	After   string // the cursor of an entry: begin behind it
}

// settled is a page whose Limit and Offset can be added up: less than none is
// none.
func (p Page) settled() Page {
	p.Limit = min(max(p.Limit, 0), math.MaxInt/2)
	p.Offset = min(max(p.Offset, 0), math.MaxInt/2)
	return p
}
