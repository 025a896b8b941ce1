package index

import (
	"retwis/index/internal/entries"
	"retwis/internal/ordered"
	"retwis/internal/redis/partition"
)

var (
	// ErrNotFound is returned for an id that is not in the index, and for an index
	// that does not exist.
	ErrNotFound = partition.ErrNotFound
	// ErrDeclared is returned if the index was created with another declaration: other
	// columns, another type, another number of partitions.
	ErrDeclared = partition.ErrDeclared
	// ErrForeign is returned if the key holds something that this module did not write,
	// such as a sorted set that was made by hand. It is left as it is. Adopt turns it
	// into an index.
	ErrForeign = partition.ErrForeign
	// ErrValue is returned for a value that the index cannot hold exactly. The error
	// names the column and says which values it takes.
	ErrValue = ordered.ErrValue
	// ErrCorrupt is returned for data in Redis that the index did not write. Verify
	// reports it and Repair corrects it.
	ErrCorrupt = entries.ErrCorrupt
)
