package check

import (
	"context"
	"slices"

	"retwis/internal/redis/reads"
	"retwis/internal/social/storage"
)

// known caches what exists, by ID, up to a limit: many timelines contain the same posts.
type known[T any] struct{ ids map[int64]T }

const maxKnown = 200_000

func (k *known[T]) add(id int64, value T) {
	if k.ids == nil || len(k.ids) >= maxKnown {
		k.ids = make(map[int64]T)
	}
	k.ids[id] = value
}

func (k *known[T]) forget(id int64) { delete(k.ids, id) }

// lookup returns what is known of these IDs, and each of the other IDs once.
func (k *known[T]) lookup(ids []int64) (found map[int64]T, others []int64) {
	found = make(map[int64]T, len(ids))
	for _, id := range ids {
		if _, twice := found[id]; twice {
			continue
		}
		value, ok := k.ids[id]
		if found[id] = value; !ok {
			others = append(others, id)
		}
	}
	return found, others
}

// isAnyClosed reports whether one of the accounts is being deleted: references to it are removed
// step by step.
func (c *checker) isAnyClosed(ctx context.Context, users ...int64) (bool, error) {
	standings, err := reads.Field(ctx, c.client, users, storage.UserKey, "standing")
	return slices.Contains(standings, storage.Closed), err
}
