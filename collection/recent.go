package collection

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/partition"
	"retwis/internal/script"
)

//go:embed recent_put.lua
var recentPutLua string

// Recent keeps the newest of what is added: the last hundred orders, the posts
// that everybody sees. It is a list, newest first, that is never longer than its
// cap.
type Recent struct {
	set *partition.Set
	max int
	put script.Script
}

// maxRecent is the greatest cap. To cut a list costs as much as what is cut.
const maxRecent = 1_000_000

// NewRecent returns the list at a key that keeps the newest max items. It asks no
// server.
func NewRecent(client rueidis.Client, key string, max int) (*Recent, error) {
	if max < 1 || max > maxRecent {
		return nil, fmt.Errorf("collection: %s: a list of the newest %d items: it must be from 1 to %d", key, max, maxRecent)
	}
	set, err := partition.New(client, key, partition.Declaration{Kind: "recent", Text: strconv.Itoa(max)})
	if err != nil {
		return nil, fmt.Errorf("collection: %w", err)
	}
	return &Recent{set, max, partition.NewScript(recentPutLua)}, nil
}

// recentBatch is how many items one script adds.
const recentBatch = 200

// Put adds items, the newest last: a script for 200.
func (r *Recent) Put(ctx context.Context, items ...string) error {
	for _, item := range items {
		if len(item) > MaxItem {
			return r.wrap(ctx, fmt.Errorf("%w: an item has %d bytes: at most %d are allowed", ErrValue, len(item), MaxItem))
		}
	}
	k := &r.set.Keys[0]
	for some := range slices.Chunk(items, recentBatch) {
		if err := r.put.Run(ctx, r.set.Client, []string{k.Index, k.Meta}, append(r.set.Args(), some...)).Error(); err != nil {
			return r.wrap(ctx, err)
		}
	}
	return nil
}

// Adopt makes a Recent of a list that somebody made by hand, newest first. The next
// Put cuts it to its cap.
func (r *Recent) Adopt(ctx context.Context) error { return r.wrap(ctx, r.set.Adopt(ctx)) }

// Newest returns the newest n items, newest first: one round trip, O(n).
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

// Len is how many items there are.
func (r *Recent) Len(ctx context.Context) (int64, error) {
	if err := r.set.Check(ctx); err != nil {
		return 0, r.wrap(ctx, err)
	}
	n, err := r.set.Client.Do(ctx, r.set.Client.B().Llen().Key(r.set.Key).Build()).AsInt64()
	return n, r.wrap(ctx, err)
}

func (r *Recent) wrap(ctx context.Context, err error) error { return wrap(ctx, r.set, err) }
