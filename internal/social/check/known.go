package check

import (
	"context"
	"slices"

	"github.com/redis/rueidis"

	"retwis/internal/social/layout"
)

// known caches what exists, by id, up to a limit: many timelines contain the same
// posts.
type known[T any] struct{ ids map[int64]T }

const maxKnown = 200_000

func (k *known[T]) add(id int64, value T) {
	if k.ids == nil || len(k.ids) >= maxKnown {
		k.ids = make(map[int64]T)
	}
	k.ids[id] = value
}

func (k *known[T]) forget(id int64) { delete(k.ids, id) }

// lookup returns what is known of these ids, and each of the others once, with a
// command that asks for it.
func (k *known[T]) lookup(ids []int64, command func(id int64) rueidis.Completed) (found map[int64]T, ask []int64, cmds rueidis.Commands) {
	found = make(map[int64]T, len(ids))
	for _, id := range ids {
		if _, twice := found[id]; twice {
			continue
		}
		value, ok := k.ids[id]
		if found[id] = value; !ok {
			ask = append(ask, id)
			cmds = append(cmds, command(id))
		}
	}
	return found, ask, cmds
}

// isAnyClosed reports whether one of the accounts is being deleted: what others have of it
// is removed step by step.
func (c *checker) isAnyClosed(ctx context.Context, users ...int64) (bool, error) {
	b := c.batch()
	standings := make([]*string, len(users))
	for i, uid := range users {
		standings[i] = b.Text(c.client.B().Hget().Key(layout.UserKey(uid)).Field("standing").Build())
	}
	err := b.Run(ctx)
	return slices.ContainsFunc(standings, func(standing *string) bool { return *standing == layout.Closed }), err
}
