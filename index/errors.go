package index

import (
	"retwis/index/internal/entries"
	"retwis/internal/ordered"
	"retwis/internal/redis/partition"
)

var (
	// ErrNotFound is returned if an id is not in the index, or the index does not exist.
	ErrNotFound = partition.ErrNotFound
	// ErrDeclared is returned if the index was created with a different declaration: other
	// columns, another type, or another number of partitions.
	ErrDeclared = partition.ErrDeclared
	// ErrForeign is returned if the key holds data that this module did not write, such as a
	// sorted set created by hand. The data is not changed. Adopt turns it into an index.
	ErrForeign = partition.ErrForeign
	// ErrValue is returned for a value that the index cannot hold exactly. The error names the
	// column and the values that it accepts.
	ErrValue = ordered.ErrValue
	// ErrCorrupt is returned for damaged index data in Redis. Verify reports it and Repair
	// corrects it.
	ErrCorrupt = entries.ErrCorrupt
)
