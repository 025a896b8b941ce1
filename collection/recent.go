package collection

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/redis/partition"
	"retwis/internal/redis/script"
)

//go:embed recent_put.lua
var recentPutLua string

// Recent keeps the newest items: the last hundred orders, the posts on a front page. It is a list,
// newest first, that is never longer than its cap.
type Recent struct {
	set *partition.Set
	max int
	put script.Script
}

const kindRecent = "recent"

// maxRecent is the largest cap. Trimming is O(n) in the number of items removed.
const maxRecent = 1_000_000

// NewRecent returns the list at a key that keeps the newest max items. It sends nothing to the
// server.
func NewRecent(client rueidis.Client, key string, max int) (*Recent, error) {
	if max < 1 || max > maxRecent {
		return nil, fmt.Errorf("collection: %s: max is %d: it must be from 1 to %d", key, max, maxRecent)
	}
	set, err := partition.New(client, key, partition.Declaration{Kind: kindRecent, Text: strconv.Itoa(max)})
	if err != nil {
		return nil, fmt.Errorf("collection: %w", err)
	}
	return &Recent{set, max, partition.NewScript(recentPutLua)}, nil
}

// OpenRecent returns the list at a key with its declared cap, or ErrNotFound. It takes one round
// trip.
func OpenRecent(ctx context.Context, client rueidis.Client, key string) (*Recent, error) {
	d, err := partition.ReadKind(ctx, client, key, kindRecent)
	if err != nil {
		return nil, fmt.Errorf("collection: %w", err)
	}
	max, err := strconv.Atoi(d.Text)
	if err != nil {
		return nil, fmt.Errorf("collection: %w", partition.Corrupt(key, err))
	}
	return NewRecent(client, key, max)
}

// Max returns the maximum number of items.
func (r *Recent) Max() int { return r.max }

// recentBatch is the number of items that one script adds.
const recentBatch = 200

// Put adds items, the newest last, with one script per 200. If any item is too long, Put adds none.
func (r *Recent) Put(ctx context.Context, items ...string) error {
	for _, item := range items {
		if err := checkItem(item); err != nil {
			return r.wrap(ctx, err)
		}
	}
	_, err := r.PutMany(ctx, slices.Values(items))
	return err
}

// PutMany adds items, the newest last, and returns how many it added, with one script per 200.
// After an error the items of earlier batches are in the list.
func (r *Recent) PutMany(ctx context.Context, items iter.Seq[string]) (int, error) {
	k := &r.set.Keys[0]
	return runBatches(items, recentBatch, checkItem, func(batch []string) (int64, error) {
		err := r.put.Run(ctx, r.set.Client, []string{k.Index, k.Meta}, append(r.set.Args(), batch...)).Error()
		if err != nil {
			return 0, err
		}
		return int64(len(batch)), nil
	}, func(err error) error { return r.wrap(ctx, err) })
}

func checkItem(item string) error {
	if len(item) > MaxItem {
		return fmt.Errorf("%w: an item has %d bytes: at most %d are allowed", ErrValue, len(item), MaxItem)
	}
	return nil
}

// Adopt turns a list made by hand, newest first, into a Recent. The next Put trims it to the cap.
func (r *Recent) Adopt(ctx context.Context) error {
	kind, err := r.set.Client.Do(ctx, r.set.Client.B().Type().Key(r.set.Key).Build()).ToString()
	switch {
	case err != nil:
		return r.wrap(ctx, err)
	case kind != "list" && kind != "none":
		return r.wrap(ctx, fmt.Errorf("%w: it holds a %s, not a list", ErrForeign, kind))
	}
	return r.wrap(ctx, r.set.Adopt(ctx))
}

// Newest returns the newest n items, newest first, in one round trip, O(n).
func (r *Recent) Newest(ctx context.Context, n int) ([]string, error) {
	if n < 1 {
		return nil, nil
	}
	if err := r.set.Check(ctx); err != nil {
		return nil, r.wrap(ctx, err)
	}
	items, err := r.set.Client.Do(ctx, r.set.Client.B().Lrange().Key(r.set.Key).Start(0).Stop(int64(min(n, r.max)-1)).Build()).AsStrSlice()
	return items, r.wrap(ctx, err)
}

// recentPage is the number of items that All reads in one step. It is small because items may be
// long.
const recentPage = 100

// All returns all items, newest first, with one round trip per 100. If an item is added or removed
// during the iteration, the other items shift: an item may be returned twice, or not at all.
func (r *Recent) All(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := r.set.Check(ctx); err != nil {
			yield("", r.wrap(ctx, err))
			return
		}
		for from, more := 0, true; more; from += recentPage {
			items, err := r.set.Client.Do(ctx, r.set.Client.B().Lrange().Key(r.set.Key).Start(int64(from)).Stop(int64(min(from+recentPage, r.max)-1)).Build()).AsStrSlice()
			if err != nil {
				yield("", r.wrap(ctx, err))
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			more = len(items) == recentPage && from+recentPage < r.max
		}
	}
}

// Remove removes all occurrences of the items and returns how many it removed, with one round
// trip per 200. Each item costs O(n) in the length of the list.
func (r *Recent) Remove(ctx context.Context, items ...string) (int, error) {
	if err := r.set.Check(ctx); err != nil {
		return 0, r.wrap(ctx, err)
	}
	return runBatches(slices.Values(items), recentBatch, nil, func(batch []string) (int64, error) {
		var removed int64
		commands := make(rueidis.Commands, len(batch))
		for i, item := range batch {
			commands[i] = r.set.Client.B().Lrem().Key(r.set.Key).Count(0).Element(item).Build()
		}
		for _, reply := range r.set.Client.DoMulti(ctx, commands...) {
			n, err := reply.AsInt64()
			if err != nil {
				return removed, err
			}
			removed += n
		}
		return removed, nil
	}, func(err error) error { return r.wrap(ctx, err) })
}

// Len returns the number of items.
func (r *Recent) Len(ctx context.Context) (int64, error) {
	if err := r.set.Check(ctx); err != nil {
		return 0, r.wrap(ctx, err)
	}
	n, err := r.set.Client.Do(ctx, r.set.Client.B().Llen().Key(r.set.Key).Build()).AsInt64()
	return n, r.wrap(ctx, err)
}

func (r *Recent) wrap(ctx context.Context, err error) error { return wrap(ctx, r.set, err) }
