package collection

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/partition"
	"retwis/internal/redis/script"
)

var (
	//go:embed ring.lua
	ringLua string
	//go:embed ring_put.lua
	ringPutLua string
	//go:embed ring_remove.lua
	ringRemoveLua string
	//go:embed ring_take.lua
	ringTakeLua string
	//go:embed ring_take_item.lua
	ringTakeItemLua string
	//go:embed ring_next.lua
	ringNextLua string
	//go:embed ring_items.lua
	ringItemsLua string
	//go:embed ring_end.lua
	ringEndLua string
)

// Ring holds distinct items that are handed out in rotation: servers to check, feeds to fetch. Next
// returns one item after another. If no two workers may have the same item at the same time, use
// Take: it leases an item, and no other worker gets that item until it is returned. The item of a
// worker that crashed is handed out again after its lease.
//
// The ring is a sorted set at key with every item: waiting items are scored by their place, leased
// items by the end of their lease. key.content is a hash of the leases. If the hash is lost, the
// leases are lost, too, and the items return to the ring when the leases would have ended.
//
// Leases follow the clock of the server. If the clock is set back, or a failover leads to a server
// whose clock is behind, leases keep their length. If the clock is set forward, leases end early.
type Ring struct {
	set                                           *partition.Set
	put, next, remove, take, takeItem, items, end script.Script
}

// NewRing returns the ring at a key. It sends nothing to the server.
func NewRing(client rueidis.Client, key string) (*Ring, error) {
	set, err := partition.New(client, key, partition.Declaration{Kind: "ring"})
	if err != nil {
		return nil, fmt.Errorf("collection: %w", err)
	}
	newScript := func(source string) script.Script { return partition.NewScript(ringLua, source) }
	return &Ring{
		set: set, put: newScript(ringPutLua), next: newScript(ringNextLua), remove: newScript(ringRemoveLua), take: newScript(ringTakeLua),
		takeItem: newScript(ringTakeItemLua), items: newScript(ringItemsLua).Retryable(), end: newScript(ringEndLua),
	}, nil
}

// ringBatch is the number of items that one script adds or removes.
const ringBatch = 100

// keys returns the keys that all scripts of a ring take.
func (r *Ring) keys() []string { return []string{r.set.Keys[0].Index, r.set.Keys[0].Content} }

// Put adds an item at the end, unless the ring already has it, with one script.
func (r *Ring) Put(ctx context.Context, item string) error {
	_, err := r.PutMany(ctx, slices.Values([]string{item}))
	return err
}

// PutMany adds the items that the ring does not have yet at its end, and returns how many it added,
// with one script per 100. After an error, the items of earlier batches are in the ring; repeating
// the call does no harm.
func (r *Ring) PutMany(ctx context.Context, items iter.Seq[string]) (int, error) {
	keys := append(r.keys(), r.set.Keys[0].Meta)
	return runBatches(items, ringBatch, checkID, func(batch []string) (int64, error) {
		return r.put.Run(ctx, r.set.Client, keys, append(r.set.Args(), batch...)).AsInt64()
	}, func(err error) error { return r.wrap(ctx, err) })
}

// Remove removes items from the ring, leased or not, and returns how many it removed, with one
// script per 100.
func (r *Ring) Remove(ctx context.Context, items ...string) (int, error) {
	if err := r.set.Check(ctx); err != nil {
		return 0, r.wrap(ctx, err)
	}
	return runBatches(slices.Values(items), ringBatch, nil, func(batch []string) (int64, error) {
		return r.remove.Run(ctx, r.set.Client, r.keys(), batch).AsInt64()
	}, func(err error) error { return r.wrap(ctx, err) })
}

// Len returns the number of items, leased or not.
func (r *Ring) Len(ctx context.Context) (int64, error) {
	if err := r.set.Check(ctx); err != nil {
		return 0, r.wrap(ctx, err)
	}
	n, err := r.set.Client.Do(ctx, r.set.Client.B().Zcard().Key(r.set.Key).Build()).AsInt64()
	return n, r.wrap(ctx, err)
}

// Next returns the first item of the ring and moves the item to the end, with one script. It
// returns ErrNotFound if no item is available. The item stays in the ring, so no crash can lose it,
// but two workers may have it at the same time if its turn comes again. Leased items are not in the
// rotation; they return to it with the first Take after their lease has ended.
func (r *Ring) Next(ctx context.Context) (string, error) {
	if err := r.set.Check(ctx); err != nil {
		return "", r.wrap(ctx, err)
	}
	item, err := r.next.Run(ctx, r.set.Client, r.keys(), nil).ToString()
	if rueidis.IsRedisNil(err) {
		err = fmt.Errorf("%w: all items are leased, or the ring is empty", ErrNotFound)
	}
	return item, r.wrap(ctx, err)
}

// Lease is an item leased to one worker.
type Lease struct {
	Item string
	// ID identifies the lease. It is random, prefixed with the name of the holder, if any. With
	// the ID, Ring.Lease returns the lease in another process.
	ID   string
	ring *Ring
}

// Lease returns the lease of an item, given the ID of a lease that Take returned, perhaps in
// another process. It sends nothing to the server: Return and Extend report whether the lease is
// over.
func (r *Ring) Lease(item, id string) *Lease { return &Lease{Item: item, ID: id, ring: r} }

// EmptyError is returned by Take if all items are leased or the ring is empty. It matches
// ErrNotFound.
type EmptyError struct {
	// Retry is the time until the next lease ends, unless its item is returned earlier. It is
	// negative if the ring has no items.
	Retry time.Duration
}

func (e *EmptyError) Error() string {
	if e.Retry < 0 {
		return "the ring has no items"
	}
	return fmt.Sprintf("all items are leased; one comes back in %v at the latest", e.Retry)
}

// Is reports whether target is ErrNotFound.
func (e *EmptyError) Is(target error) bool { return target == ErrNotFound }

// Take leases the first item of the ring, with one script. If all items are leased, it returns an
// *EmptyError with the time to wait.
func (r *Ring) Take(ctx context.Context, lease time.Duration) (*Lease, error) {
	return r.TakeFor(ctx, "", lease)
}

// checkLease returns an error if the lease is too short or the key does not hold a ring.
func (r *Ring) checkLease(ctx context.Context, lease time.Duration) error {
	if lease < time.Millisecond {
		return fmt.Errorf("%w: a lease of %v: it must be at least a millisecond", ErrValue, lease)
	}
	return r.set.Check(ctx)
}

// takeAs is like Take with a given lease ID.
func (r *Ring) takeAs(ctx context.Context, id string, lease time.Duration) (*Lease, error) {
	if err := r.checkLease(ctx, lease); err != nil {
		return nil, r.wrap(ctx, err)
	}
	l := &Lease{ring: r, ID: id}
	reply, err := r.take.Run(ctx, r.set.Client, r.keys(), []string{l.ID, milliseconds(lease)}).ToArray()
	if err != nil {
		return nil, r.wrap(ctx, err)
	}
	if reply[0].IsNil() {
		ms, err := reply[1].AsInt64()
		if err == nil {
			err = &EmptyError{time.Duration(ms) * time.Millisecond}
		}
		return nil, r.wrap(ctx, err)
	}
	l.Item, err = reply[0].ToString()
	return l, r.wrap(ctx, err)
}

// milliseconds formats a lease for the scripts, rounded up so that it never ends early.
func milliseconds(lease time.Duration) string {
	ms := lease.Milliseconds()
	if lease%time.Millisecond != 0 {
		ms++
	}
	return strconv.FormatInt(ms, 10)
}

// Return ends the lease and puts the item at the end of the ring. It returns ErrLeaseOver if the
// lease has expired; the item returns to the ring in any case.
func (l *Lease) Return(ctx context.Context) error { return l.end(ctx, "return") }

// Extend makes the lease end after the given duration from now. It returns ErrLeaseOver if the
// lease has expired, even if no other worker has the item yet: stop working on it.
func (l *Lease) Extend(ctx context.Context, lease time.Duration) error {
	if lease < time.Millisecond {
		return l.ring.wrap(ctx, fmt.Errorf("%w: a lease of %v: it must be at least a millisecond", ErrValue, lease))
	}
	return l.end(ctx, milliseconds(lease))
}

// end ends or extends the lease. how is ARGV[3] of ring_end.lua.
func (l *Lease) end(ctx context.Context, how string) error {
	n, err := l.ring.end.Run(ctx, l.ring.set.Client, l.ring.keys(), []string{l.Item, l.ID, how}).AsInt64()
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %s", ErrLeaseOver, shorten(l.Item))
	}
	return l.ring.wrap(ctx, err)
}

func (r *Ring) wrap(ctx context.Context, err error) error { return wrap(ctx, r.set, err) }
