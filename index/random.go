package index

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/rueidis"
)

// Random is a set of ids from which some can be drawn by chance: who is shown
// next, which of many to look at. It is a plain Redis set and can be used as one
// beside this.
type Random struct {
	client rueidis.Client
	key    string
}

// NewRandom returns the set at a key. It asks no server.
func NewRandom(client rueidis.Client, key string) (*Random, error) {
	if client == nil || key == "" {
		return nil, fmt.Errorf("index: a random set needs a client and a key, not %q", key)
	}
	return &Random{client, key}, nil
}

// randomBatch is how many ids one command takes.
const randomBatch = 500

// Put adds ids and returns how many are new: one round trip for 500.
func (r *Random) Put(ctx context.Context, ids ...string) (int, error) {
	for _, id := range ids {
		if err := checkID(id); err != nil {
			return 0, r.wrap(err)
		}
	}
	return r.each(ctx, ids, func(some []string) rueidis.Completed {
		return r.client.B().Sadd().Key(r.key).Member(some...).Build()
	})
}

// Remove takes ids out and returns how many were in.
func (r *Random) Remove(ctx context.Context, ids ...string) (int, error) {
	return r.each(ctx, ids, func(some []string) rueidis.Completed {
		return r.client.B().Srem().Key(r.key).Member(some...).Build()
	})
}

func (r *Random) each(ctx context.Context, ids []string, command func([]string) rueidis.Completed) (int, error) {
	total := 0
	for some := range slices.Chunk(ids, randomBatch) {
		n, err := r.client.Do(ctx, command(some)).AsInt64()
		if err != nil {
			return total, r.wrap(err)
		}
		total += int(n)
	}
	return total, nil
}

// Has tells for each id whether it is in: one round trip for 500.
func (r *Random) Has(ctx context.Context, ids ...string) ([]bool, error) {
	all := make([]bool, 0, len(ids))
	for some := range slices.Chunk(ids, randomBatch) {
		found, err := r.client.Do(ctx, r.client.B().Smismember().Key(r.key).Member(some...).Build()).AsIntSlice()
		if err != nil {
			return nil, r.wrap(err)
		}
		for _, n := range found {
			all = append(all, n == 1)
		}
	}
	return all, nil
}

// Len is how many ids there are.
func (r *Random) Len(ctx context.Context) (int64, error) {
	n, err := r.client.Do(ctx, r.client.B().Scard().Key(r.key).Build()).AsInt64()
	return n, r.wrap(err)
}

// Draw returns n different ids, or all where there are no more, which stay in the
// set: one round trip, O(n). The order is not by chance where n is close to all.
func (r *Random) Draw(ctx context.Context, n int) ([]string, error) {
	return r.draw(ctx, n, func() rueidis.Completed {
		return r.client.B().Srandmember().Key(r.key).Count(int64(n)).Build()
	})
}

// DrawEach returns n ids, each drawn from all of them, so that one can come more
// than once. Redis draws each id about as often as another, not exactly so.
func (r *Random) DrawEach(ctx context.Context, n int) ([]string, error) {
	return r.draw(ctx, n, func() rueidis.Completed {
		return r.client.B().Srandmember().Key(r.key).Count(int64(-n)).Build()
	})
}

// Take returns n different ids and takes them out of the set.
func (r *Random) Take(ctx context.Context, n int) ([]string, error) {
	return r.draw(ctx, n, func() rueidis.Completed {
		return r.client.B().Spop().Key(r.key).Count(int64(n)).Build()
	})
}

// maxDraw is the most that is drawn at once: about a millisecond of the server.
const maxDraw = 10_000

func (r *Random) draw(ctx context.Context, n int, command func() rueidis.Completed) ([]string, error) {
	if n < 0 || n > maxDraw {
		return nil, r.wrap(fmt.Errorf("%w: %d are to be drawn: it must be from 0 to %d", ErrValue, n, maxDraw))
	}
	if n == 0 {
		return nil, nil
	}
	ids, err := r.client.Do(ctx, command()).AsStrSlice()
	return ids, r.wrap(err)
}

func (r *Random) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("index: %s: %w", r.key, err)
}
