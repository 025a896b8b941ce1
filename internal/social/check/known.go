package check

import (
	"context"
	"slices"

	"retwis/internal/redis/reads"
	"retwis/internal/social/storage"
)

// known caches values by ID, because many timelines contain the same posts.
type known[T any] struct{ ids map[int64]T }

// maxKnown is the number of entries at which a cache is emptied.
const maxKnown = 200_000

func (k *known[T]) add(id int64, value T) {
	if k.ids == nil || len(k.ids) >= maxKnown {
		k.ids = make(map[int64]T)
	}
	k.ids[id] = value
}

func (k *known[T]) forget(id int64) { delete(k.ids, id) }

// lookup returns the cached values of ids, and the IDs that are not cached, without duplicates. The
// map has a zero value for each of the latter.
func (k *known[T]) lookup(ids []int64) (found map[int64]T, uncached []int64) {
	found = make(map[int64]T, len(ids))
	for _, id := range ids {
		if _, seen := found[id]; seen {
			continue
		}
		value, ok := k.ids[id]
		if found[id] = value; !ok {
			uncached = append(uncached, id)
		}
	}
	return found, uncached
}

// isAnyClosed reports whether any of the accounts is being deleted, which removes references to the
// account step by step.
func (c *checker) isAnyClosed(ctx context.Context, users ...int64) (bool, error) {
	standings, err := reads.Field(ctx, c.client, users, storage.UserKey, "standing")
	return slices.Contains(standings, storage.Closed), err
}
