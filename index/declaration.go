package index

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/partition"
)

// Declaration describes how an index was created. It is stored in key.meta.
type Declaration struct {
	Kind       string // type of the index: composite, numeric, suggest, graph, space, …
	Text       string // columns or options of the index, in the format of its type
	Partitions int
}

// String returns the declaration in human-readable form.
func (d Declaration) String() string { return partition.Declaration(d).String() }

// Declared returns the declaration of the index of any type at a key, or ErrNotFound if there is
// none: one round trip.
func Declared(ctx context.Context, client rueidis.Client, key string) (Declaration, error) {
	d, err := partition.Read(ctx, client, key)
	if err != nil {
		return Declaration{}, fmt.Errorf("index: %w", err)
	}
	return Declaration(d), nil
}
