package index

import (
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
	// sorted set created by hand. The data is not changed. Adopt turns such a sorted set into
	// an index.
	ErrForeign = partition.ErrForeign
	// ErrValue is returned for a value that the index cannot hold exactly. The error names the
	// column and the values that the column accepts.
	ErrValue = ordered.ErrValue
	// ErrCorrupt is returned for damaged index data in Redis. Verify reports the damage, and
	// Repair corrects it.
	ErrCorrupt = partition.ErrCorrupt
)
