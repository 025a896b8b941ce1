package index

// Page selects a part of the result of a query: pagination. The zero value is all of
// it, first to last.
//
// To continue where a page ended, pass the Cursor of its last entry as After. This
// costs the same however far the page is, and the pages are stable while entries are
// added and removed. An Offset has neither property.
type Page struct {
	Limit   int    // at most so many entries; 0: all
	Offset  int    // skip so many entries first; it costs as much as reading them, except in a Numeric
	Reverse bool   // last first
	After   string // the cursor of an entry: begin after it
}
