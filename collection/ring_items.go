package collection

import (
	"context"
	"iter"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/scan"
)

// RingItem is an item of a ring, and who has it.
type RingItem struct {
	Item string
	// LeaseID is the id of the lease that the item is under, or empty.
	LeaseID string
	// LeasedUntil is the end of that lease, or zero. If it is over, the item returns
	// to the ring with the next Take.
	LeasedUntil time.Time
}

// ringPage is the number of items that All reads in one step.
const ringPage = 500

// All returns all items, leased or not, in no order: HSCAN, one or two round trips for
// 500. An item that is in the ring all the time is seen, and may be seen twice.
func (r *Ring) All(ctx context.Context) iter.Seq2[RingItem, error] {
	return func(yield func(RingItem, error) bool) {
		if err := r.set.Check(ctx); err != nil {
			yield(RingItem{}, r.wrap(ctx, err))
			return
		}
		for page, err := range scan.Hash(ctx, r.set.Client, r.set.Keys[0].Content, ringPage) {
			var items []RingItem
			if err == nil {
				items, err = r.items(ctx, page)
			}
			if err != nil {
				yield(RingItem{}, r.wrap(ctx, err))
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// items returns the items of a page of the hash, which holds items and ids of leases in
// turn.
func (r *Ring) items(ctx context.Context, page []string) ([]RingItem, error) {
	items := make([]RingItem, 0, len(page)/2)
	var leased []string
	for i := 0; i+1 < len(page); i += 2 {
		items = append(items, RingItem{Item: page[i], LeaseID: page[i+1]})
		if page[i+1] != "" {
			leased = append(leased, page[i])
		}
	}
	if len(leased) == 0 {
		return items, nil
	}
	ends, err := r.set.Client.Do(ctx, r.set.Client.B().Zmscore().Key(leasedKey(r.set.Key)).Member(leased...).Build()).ToArray()
	if err != nil {
		return nil, err
	}
	for i, next := 0, 0; i < len(items); i++ {
		if items[i].LeaseID == "" {
			continue
		}
		ms, err := ends[next].AsFloat64()
		switch {
		case rueidis.IsRedisNil(err): // it was returned meanwhile
			items[i].LeaseID = ""
		case err != nil:
			return nil, err
		default:
			items[i].LeasedUntil = time.UnixMilli(int64(ms))
		}
		next++
	}
	return items, nil
}
