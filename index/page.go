package index

// Page selects a part of the result of a query (pagination). The zero value selects all of it,
// first to last.
//
// To read the next page, pass the Cursor of the last entry as After. The cost does not depend
// on the position of the page, and pages stay consistent while entries are added and removed.
// An Offset has neither property.
type Page struct {
	Limit   int    // maximum number of entries; 0: all
	Offset  int    // number of entries to skip; costs as much as reading them, except in a Numeric
	Reverse bool   // last first
	After   string // cursor of an entry: start after it
}
