package collection

import (
	"context"
	"iter"
	"strconv"
	"time"

	"retwis/internal/redis/scan"
)

// RingItem is an item of a ring and its lease.
type RingItem struct {
	Item string
	// LeaseID is the ID of the item's lease, or empty.
	LeaseID string
	// LeasedUntil is the end of the lease, or zero. After that time, the item returns to the ring
	// with the next Take.
	LeasedUntil time.Time
}

// ringPage is the number of items that All reads in one step.
const ringPage = 500

// All returns all items, leased or not, in no particular order, using ZSCAN with one or two round
// trips per 500. An item that is in the ring during the whole iteration is returned, possibly twice.
func (r *Ring) All(ctx context.Context) iter.Seq2[RingItem, error] {
	return func(yield func(RingItem, error) bool) {
		if err := r.set.Check(ctx); err != nil {
			yield(RingItem{}, r.wrap(ctx, err))
			return
		}
		for page, err := range scan.SortedSet(ctx, r.set.Client, r.set.Key, ringPage) {
			var items []RingItem
			if err == nil {
				items, err = r.page(ctx, page)
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

// page returns the items of a page of ZSCAN, in which items and scores alternate.
func (r *Ring) page(ctx context.Context, page []string) ([]RingItem, error) {
	items := make([]RingItem, 0, len(page)/2)
	var leased []string
	for i := 0; i+1 < len(page); i += 2 {
		items = append(items, RingItem{Item: page[i]})
		if page[i+1][0] != '-' {
			leased = append(leased, page[i])
		}
	}
	if len(leased) == 0 {
		return items, nil
	}
	leases, err := r.leases(ctx, leased)
	if err != nil {
		return nil, err
	}
	for i, next := 0, 0; i < len(items) && next < len(leases); i++ {
		if items[i].Item == leases[next].Item { // other leases have ended since the scan
			items[i] = leases[next]
			next++
		}
	}
	return items, nil
}

// leases returns the wanted items that are leased. Without wanted items, it returns all items whose
// lease is not over.
func (r *Ring) leases(ctx context.Context, wanted []string) ([]RingItem, error) {
	texts, err := r.items.Run(ctx, r.set.Client, r.keys(), wanted).AsStrSlice()
	if err != nil {
		return nil, err
	}
	var items []RingItem
	for i := 0; i+2 < len(texts); i += 3 {
		ends, err := strconv.ParseInt(texts[i+2], 10, 64)
		if err != nil {
			return nil, err
		}
		items = append(items, RingItem{Item: texts[i], LeaseID: texts[i+1], LeasedUntil: time.UnixMilli(ends)})
	}
	return items, nil
}
