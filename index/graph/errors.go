package graph

import (
	"errors"
	"fmt"

	"retwis/index"
)

// ErrTooMuch is returned by a query that would keep more in memory than
// Query.Memory allows.
var ErrTooMuch = errors.New("the query would keep too much in memory")

// invalid is an error of what came from the caller.
func invalid(format string, args ...any) error {
	return fmt.Errorf("graph: %w: %s", index.ErrValue, fmt.Sprintf(format, args...))
}

// damaged is an error of an entry that no writer of this package writes.
func (g *Graph) damaged(entry string) error {
	return fmt.Errorf("graph: %q has an entry %.100q: %w; Repair removes it", g.set.Key, entry, index.ErrCorrupt)
}
