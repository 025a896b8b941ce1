package collection

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrLeased is returned by TakeItem for an item that another worker has leased.
var ErrLeased = errors.New("the item is leased")

// maxHolder limits the name of a holder, in bytes.
const maxHolder = 256

// TakeFor is like Take for a worker with a name. All and Leased report the name with the item, so a
// worker can find its items after a restart.
func (r *Ring) TakeFor(ctx context.Context, holder string, lease time.Duration) (*Lease, error) {
	id, err := leaseID(holder)
	if err != nil {
		return nil, r.wrap(ctx, err)
	}
	return r.takeAs(ctx, id, lease)
}

// TakeItem leases a given item, wherever it is in the ring, for a worker with a name, which may
// be empty. It returns ErrLeased if another worker has the item, and ErrNotFound if it is not in
// the ring.
func (r *Ring) TakeItem(ctx context.Context, item, holder string, lease time.Duration) (*Lease, error) {
	id, err := leaseID(holder)
	if err != nil {
		return nil, r.wrap(ctx, err)
	}
	if err := r.checkLease(ctx, lease); err != nil {
		return nil, r.wrap(ctx, err)
	}
	ms, err := r.takeItem.Run(ctx, r.set.Client, r.keys(), []string{id, milliseconds(lease), item}).AsInt64()
	switch {
	case err != nil:
	case ms < 0:
		err = fmt.Errorf("%w: the ring does not have %s", ErrNotFound, shorten(item))
	case ms > 0:
		err = fmt.Errorf("%w: %s, for %v more", ErrLeased, shorten(item), time.Duration(ms)*time.Millisecond)
	default:
		return r.Lease(item, id), nil
	}
	return nil, r.wrap(ctx, err)
}

// Leased returns the items that are leased to a worker, or to any worker if the name is empty,
// except leases that are over by the clock of the server. It costs one round trip, O(n) in the
// number of leased items.
func (r *Ring) Leased(ctx context.Context, holder string) ([]RingItem, error) {
	if err := r.set.Check(ctx); err != nil {
		return nil, r.wrap(ctx, err)
	}
	leased, err := r.leases(ctx, nil)
	if err != nil {
		return nil, r.wrap(ctx, err)
	}
	return slices.DeleteFunc(leased, func(item RingItem) bool {
		return item.LeaseID == "" || holder != "" && item.Holder() != holder
	}), nil
}

// Remove ends the lease and removes the item from the ring. It returns ErrLeaseOver if the lease
// has expired; the item then stays in the ring.
func (l *Lease) Remove(ctx context.Context) error { return l.end(ctx, "remove") }

// Holder returns the name under which the item was taken, or "".
func (i RingItem) Holder() string { return holderOf(i.LeaseID) }

// leaseID returns a new lease ID with the name of its holder.
func leaseID(holder string) (string, error) {
	if len(holder) > maxHolder {
		return "", fmt.Errorf("%w: the name of a holder has %d bytes: at most %d are allowed", ErrValue, len(holder), maxHolder)
	}
	if holder == "" {
		return rand.Text(), nil
	}
	return holder + ":" + rand.Text(), nil
}

// holderOf returns the holder in a lease ID, or "".
func holderOf(id string) string {
	at := strings.LastIndexByte(id, ':')
	if at < 0 {
		return ""
	}
	return id[:at]
}
