package index

// Page selects a part of the result of a query (pagination). The zero value selects all
// entries, first to last.
//
// To read the next page, pass the Cursor of the last entry as After. The cost does not depend
// on the position of the page, and pages stay consistent while entries are added and removed.
// Neither is true of an Offset.
type Page struct {
	Limit   int    // maximum number of entries; 0: all
	Offset  int    // number of entries to skip; costs as much as reading them, except in a Numeric
	Reverse bool   // last first
	After   string // cursor of the entry to start after
}
