package collection

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/redis/rueidis"

	"retwis/internal/redis/scan"
)

// Random is a set of IDs from which some are drawn at random. It is a plain Redis set without
// auxiliary keys, which other programs can use as well.
type Random struct {
	client rueidis.Client
	key    string
}

// NewRandom returns the set at a key. It sends nothing to the server.
func NewRandom(client rueidis.Client, key string) (*Random, error) {
	if client == nil {
		return nil, errors.New("collection: the client is nil")
	}
	if key == "" {
		return nil, errors.New("collection: the key is empty")
	}
	return &Random{client, key}, nil
}

// randomBatch is the number of IDs per command.
const randomBatch = 500

// Put adds an ID, with one SADD.
func (r *Random) Put(ctx context.Context, id string) error {
	_, err := r.PutMany(ctx, slices.Values([]string{id}))
	return err
}

// PutMany adds IDs and returns how many of them are new, with one round trip per 500. After an
// error the IDs of earlier batches are in the set; repeating the call does no harm.
func (r *Random) PutMany(ctx context.Context, ids iter.Seq[string]) (int, error) {
	return runBatches(ids, randomBatch, checkID, func(batch []string) (int64, error) {
		return r.client.Do(ctx, r.client.B().Sadd().Key(r.key).Member(batch...).Build()).AsInt64()
	}, r.wrap)
}

// Remove removes IDs and returns how many of them were in the set, with one round trip per 500.
func (r *Random) Remove(ctx context.Context, ids ...string) (int, error) {
	return runBatches(slices.Values(ids), randomBatch, nil, func(batch []string) (int64, error) {
		return r.client.Do(ctx, r.client.B().Srem().Key(r.key).Member(batch...).Build()).AsInt64()
	}, r.wrap)
}

// Has reports for each ID whether it is in the set, with one round trip per 500.
func (r *Random) Has(ctx context.Context, ids ...string) ([]bool, error) {
	all := make([]bool, 0, len(ids))
	for batch := range slices.Chunk(ids, randomBatch) {
		found, err := r.client.Do(ctx, r.client.B().Smismember().Key(r.key).Member(batch...).Build()).AsIntSlice()
		if err != nil {
			return nil, r.wrap(err)
		}
		for _, n := range found {
			all = append(all, n == 1)
		}
	}
	return all, nil
}

// Len returns the number of IDs.
func (r *Random) Len(ctx context.Context) (int64, error) {
	n, err := r.client.Do(ctx, r.client.B().Scard().Key(r.key).Build()).AsInt64()
	return n, r.wrap(err)
}

// Draw returns n different IDs, or all IDs if the set has fewer. The IDs stay in the set. Draw takes
// one SRANDMEMBER, O(n). If n is close to the size of the set, the order of the IDs is not random.
func (r *Random) Draw(ctx context.Context, n int) ([]string, error) {
	return r.draw(ctx, n, func() rueidis.Completed {
		return r.client.B().Srandmember().Key(r.key).Count(int64(n)).Build()
	})
}

// DrawEach returns n IDs, each drawn from the whole set, so an ID can occur more than once. Redis
// draws the IDs with approximately, not exactly, equal probability.
func (r *Random) DrawEach(ctx context.Context, n int) ([]string, error) {
	return r.draw(ctx, n, func() rueidis.Completed {
		return r.client.B().Srandmember().Key(r.key).Count(int64(-n)).Build()
	})
}

// Take removes n different IDs from the set and returns them, with one SPOP.
func (r *Random) Take(ctx context.Context, n int) ([]string, error) {
	return r.draw(ctx, n, func() rueidis.Completed {
		return r.client.B().Spop().Key(r.key).Count(int64(n)).Build()
	})
}

// All returns all IDs, in no particular order, using SSCAN with one round trip per 500. An ID that
// is in the set during the whole iteration is returned, possibly twice.
func (r *Random) All(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for page, err := range scan.Set(ctx, r.client, r.key, randomBatch) {
			if err != nil {
				yield("", r.wrap(err))
				return
			}
			for _, id := range page {
				if !yield(id, nil) {
					return
				}
			}
		}
	}
}

// maxDraw is the maximum number of IDs per draw. Drawing them takes the server about a millisecond.
const maxDraw = 10_000

func (r *Random) draw(ctx context.Context, n int, command func() rueidis.Completed) ([]string, error) {
	if n < 0 || n > maxDraw {
		return nil, r.wrap(fmt.Errorf("%w: cannot draw %d ids: use from 0 to %d", ErrValue, n, maxDraw))
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
	return fmt.Errorf("collection: %s: %w", r.key, err)
}
