package collection

import (
	"context"
	"errors"
	"fmt"

	"retwis/internal/ordered"
	"retwis/internal/redis/partition"
)

var (
	// ErrNotFound is returned if there is no item to return.
	ErrNotFound = partition.ErrNotFound
	// ErrDeclared is returned if the key holds another structure of this module, or one with
	// different options.
	ErrDeclared = partition.ErrDeclared
	// ErrForeign is returned if the key holds something that this module did not write. The key
	// is left unchanged.
	ErrForeign = partition.ErrForeign
	// ErrValue is returned for an argument that is out of range.
	ErrValue = ordered.ErrValue
	// ErrLeaseOver is returned for a lease that has ended. Its item may already be leased to another
	// worker.
	ErrLeaseOver = errors.New("the lease is over")
)

// Limits, in bytes.
const (
	MaxID   = 4 << 10  // an ID of a Random or an item of a Ring
	MaxItem = 64 << 10 // an item of a Recent
)

// checkID checks the length of an ID or item.
func checkID(id string) error {
	if id == "" || len(id) > MaxID {
		return fmt.Errorf("%w: an item has %d bytes: it must have from 1 to %d", ErrValue, len(id), MaxID)
	}
	return nil
}

// shorten quotes an item for an error.
func shorten(item string) string {
	if len(item) > 60 {
		return fmt.Sprintf("%q…", item[:60])
	}
	return fmt.Sprintf("%q", item)
}

// wrap adds the key to an error, and the error of the context if the context has ended.
func wrap(ctx context.Context, set *partition.Set, err error) error {
	if err == nil {
		return nil
	}
	err = set.Error(ctx, err)
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = errors.Join(ctx.Err(), err)
	}
	return fmt.Errorf("collection: %s: %w", set.Key, err)
}
