package index

import (
	"errors"

	"retwis/internal/ordered"
	"retwis/internal/partition"
)

var (
	// ErrNotFound is returned for an id that is not in the index, or an index
	// that is not there.
	ErrNotFound = partition.ErrNotFound
	// ErrDeclared is returned where an index remembers another declaration than
	// the caller's: other columns, another type, another number of partitions.
	ErrDeclared = partition.ErrDeclared
	// ErrForeign is returned where a key has something that no index made, such
	// as a sorted set that was kept by hand. It is left as it is. Adopt makes an
	// index of it.
	ErrForeign = partition.ErrForeign
	// ErrValue is returned for a value that the index cannot hold or cannot
	// order exactly. The error names the column and says what would do.
	ErrValue = ordered.ErrValue
	// ErrCorrupt is returned where something in the database is not what an
	// index writes. Verify says what, Repair mends it.
	ErrCorrupt = errors.New("the index is damaged")
)
