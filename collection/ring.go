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

// Ring has distinct items that are handed out in rotation: servers to check, feeds
// to fetch. Next hands them out one after the other. If two workers must not have the
// same item at a time, use Take: it leases the item, and no other worker gets it
// until it is returned. The item of a worker that crashed is handed out again after
// its lease.
//
// The ring is a sorted set at key, which has every item: those that wait by their place,
// the leased ones by the end of their lease. key.content is a hash of the leases. If it is
// lost, the leases are, and their items come back when these would have ended.
//
// The clock of the server counts. If it is set back, or a failover is to a server whose clock
// is behind, leases last as long as they would have; if it is set forward, they end earlier.
type Ring struct {
	set                                               *partition.Set
	put, next, remove, take, takeItem, items, endings script.Script
}

// NewRing returns the ring at a key. It sends nothing to the server.
func NewRing(client rueidis.Client, key string) (*Ring, error) {
	set, err := partition.New(client, key, partition.Declaration{Kind: "ring"})
	if err != nil {
		return nil, fmt.Errorf("collection: %w", err)
	}
	of := func(source string) script.Script { return partition.NewScript(ringLua, source) }
	return &Ring{
		set: set, put: of(ringPutLua), next: of(ringNextLua), remove: of(ringRemoveLua), take: of(ringTakeLua),
		takeItem: of(ringTakeItemLua), items: of(ringItemsLua).Retryable(), endings: of(ringEndLua),
	}, nil
}

// ringBatch is the number of items that one script adds or removes.
const ringBatch = 100

// keys are the keys of all scripts.
func (r *Ring) keys() []string { return []string{r.set.Keys[0].Index, r.set.Keys[0].Content} }

// Put adds an item at the end, unless the ring has it already: one script.
func (r *Ring) Put(ctx context.Context, item string) error {
	_, err := r.PutMany(ctx, slices.Values([]string{item}))
	return err
}

// PutMany adds items at the end, without those that the ring has, and returns how
// many it added: a script for 100. After an error those before it are in; repeating
// it does no harm.
func (r *Ring) PutMany(ctx context.Context, items iter.Seq[string]) (int, error) {
	keys := append(r.keys(), r.set.Keys[0].Meta)
	return each(items, ringBatch, checkID, func(batch []string) (int64, error) {
		return r.put.Run(ctx, r.set.Client, keys, append(r.set.Args(), batch...)).AsInt64()
	}, func(err error) error { return r.wrap(ctx, err) })
}

// Remove removes items from the ring, leased or not, and returns how many were in it: a
// script for 100.
func (r *Ring) Remove(ctx context.Context, items ...string) (int, error) {
	if err := r.set.Check(ctx); err != nil {
		return 0, r.wrap(ctx, err)
	}
	return each(slices.Values(items), ringBatch, nil, func(batch []string) (int64, error) {
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

// Next returns the first item of the ring and moves it to the end: one script. It
// returns ErrNotFound if it has no item to give. The item stays in the ring, so that no crash
// can lose it; two workers may have it at a time if it comes round again. Leased items
// are not in the rotation, and those whose lease has ended only after the next Take.
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

// Lease is an item that one worker has.
type Lease struct {
	Item string
	// ID identifies the lease; it is random, after the name of its holder, if it has
	// one. With it, Ring.Lease returns the lease in another process.
	ID   string
	ring *Ring
}

// Lease returns the lease of an item with this ID, which Take returned, perhaps in
// another process. It asks no server: Return and Extend report whether it is over.
func (r *Ring) Lease(item, id string) *Lease { return &Lease{Item: item, ID: id, ring: r} }

// EmptyError is returned by Take if all items are leased. It is an ErrNotFound.
type EmptyError struct {
	// Retry is the time until the next lease ends, if its item is not returned
	// earlier; negative: the ring has no items.
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

// Take leases the first item of the ring: one script. If all are leased it returns an
// *EmptyError, which says when to try again.
func (r *Ring) Take(ctx context.Context, lease time.Duration) (*Lease, error) {
	return r.TakeFor(ctx, "", lease)
}

// ready returns an error for a lease that is too short, or a key of something else.
func (r *Ring) ready(ctx context.Context, lease time.Duration) error {
	if lease < time.Millisecond {
		return fmt.Errorf("%w: a lease of %v: it must be at least a millisecond", ErrValue, lease)
	}
	return r.set.Check(ctx)
}

func (r *Ring) takeAs(ctx context.Context, id string, lease time.Duration) (*Lease, error) {
	if err := r.ready(ctx, lease); err != nil {
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

// milliseconds formats a lease for the scripts, rounded up: it never ends early.
func milliseconds(lease time.Duration) string {
	ms := lease.Milliseconds()
	if lease%time.Millisecond != 0 {
		ms++
	}
	return strconv.FormatInt(ms, 10)
}

// Return ends the lease and puts the item at the end of the ring. It returns
// ErrLeaseOver if the lease has expired: then the item comes back without it.
func (l *Lease) Return(ctx context.Context) error { return l.end(ctx, "return") }

// Extend makes the lease last for so long from now. It returns ErrLeaseOver if the
// lease has expired, even if no other worker has the item yet: stop working on it.
func (l *Lease) Extend(ctx context.Context, lease time.Duration) error {
	if lease < time.Millisecond {
		return l.ring.wrap(ctx, fmt.Errorf("%w: a lease of %v: it must be at least a millisecond", ErrValue, lease))
	}
	return l.end(ctx, milliseconds(lease))
}

// end ends the lease, or extends it; see ring_end.lua.
func (l *Lease) end(ctx context.Context, how string) error {
	n, err := l.ring.endings.Run(ctx, l.ring.set.Client, l.ring.keys(), []string{l.Item, l.ID, how}).AsInt64()
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %s", ErrLeaseOver, shorten(l.Item))
	}
	return l.ring.wrap(ctx, err)
}

func (r *Ring) wrap(ctx context.Context, err error) error { return wrap(ctx, r.set, err) }
