package graph

import (
	"errors"
	"fmt"

	"retwis/index"
)

// ErrMemory is returned by a query that needs more memory than Query.Memory.
var ErrMemory = errors.New("the query needs too much memory")

// invalid returns an error of an argument.
func invalid(format string, args ...any) error {
	return fmt.Errorf("graph: %w: %s", index.ErrValue, fmt.Sprintf(format, args...))
}

// damaged returns the error of an entry that this package cannot have written.
func (g *Graph) damaged(entry string) error {
	return fmt.Errorf("graph: %q has an entry %.100q: %w; Repair removes it", g.set.Key, entry, index.ErrCorrupt)
}
