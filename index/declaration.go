package index

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/partition"
)

// Declaration is what an index remembers of how it was made, in key.meta.
type Declaration struct {
	Kind       string // which type of index it is: composite, numeric, suggest, graph, space, …
	Text       string // its columns or options, as that type writes them
	Partitions int
}

// String words a declaration for a person.
func (d Declaration) String() string { return partition.Declaration(d).String() }

// Declared returns the declaration of the index at a key, of whatever type it is:
// one round trip. It returns ErrNotFound where there is none.
func Declared(ctx context.Context, client rueidis.Client, key string) (Declaration, error) {
	d, err := partition.Read(ctx, client, key)
	if err != nil {
		return Declaration{}, fmt.Errorf("index: %w", err)
	}
	return Declaration(d), nil
}
