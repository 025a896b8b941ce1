package index

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/partition"
	"retwis/internal/script"
)

var (
	//go:embed ring_put.lua
	ringPutLua string
	//go:embed ring_remove.lua
	ringRemoveLua string
	//go:embed ring_take.lua
	ringTakeLua string
	//go:embed ring_end.lua
	ringEndLua string
)

// ErrLeaseOver is returned for a lease that has ended: its item is somebody
// else's, or in the ring again.
var ErrLeaseOver = errors.New("the lease is over")

// Ring has different items that come round for ever: servers to be looked at,
// feeds to be fetched. Next gives them out one after the other. Where an item
// must not be with two workers at a time, Take gives it out on a lease, and
// nobody else gets it until it is returned; the item of a worker that crashed
// comes round again when the lease has ended.
//
// The ring is a list, key.content a hash of all items, and key.leased a sorted
// set of those that are handed out.
type Ring struct {
	set                    *partition.Set
	put, remove, take, end script.Script
}

// NewRing returns the ring at a key. It asks no server.
func NewRing(client rueidis.Client, key string) (*Ring, error) {
	set, err := partition.New(client, key, partition.Declaration{Kind: "ring"})
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return &Ring{
		set: set, put: partition.NewScript(ringPutLua), remove: partition.NewScript(ringRemoveLua),
		take: partition.NewScript(ringTakeLua), end: partition.NewScript(ringEndLua),
	}, nil
}

// ringBatch is how many items one script adds or removes.
const ringBatch = 100

// leasedKey is a sorted set: the items of a ring that are handed out, scored by
// the millisecond in which their lease ends.
func leasedKey(ring string) string { return ring + ".leased" }

// leased are the keys of the scripts that hand out and take back.
func (r *Ring) leased() []string {
	k := &r.set.Keys[0]
	return []string{k.Index, k.Content, leasedKey(k.Index)}
}

// Put adds items at the end, those that are not in the ring, and returns how many
// these were: a script for 100.
func (r *Ring) Put(ctx context.Context, items ...string) (int, error) {
	for _, item := range items {
		if err := checkID(item); err != nil {
			return 0, r.wrap(ctx, err)
		}
	}
	k := &r.set.Keys[0]
	return r.each(ctx, items, func(some []string) rueidis.RedisResult {
		return r.put.Run(ctx, r.set.Client, []string{k.Index, k.Content, k.Meta}, append(r.set.Args(), some...))
	})
}

// Remove takes items out of the ring, also those that are handed out, and returns
// how many were in. It costs O(n) of the ring for each item.
func (r *Ring) Remove(ctx context.Context, items ...string) (int, error) {
	if err := r.set.Check(ctx); err != nil {
		return 0, r.wrap(ctx, err)
	}
	return r.each(ctx, items, func(some []string) rueidis.RedisResult {
		return r.remove.Run(ctx, r.set.Client, r.leased(), some)
	})
}

func (r *Ring) each(ctx context.Context, items []string, run func([]string) rueidis.RedisResult) (int, error) {
	total := 0
	for some := range slices.Chunk(items, ringBatch) {
		n, err := run(some).AsInt64()
		if err != nil {
			return total, r.wrap(ctx, err)
		}
		total += int(n)
	}
	return total, nil
}

// Len is how many items the ring has, handed out or not.
func (r *Ring) Len(ctx context.Context) (int64, error) {
	if err := r.set.Check(ctx); err != nil {
		return 0, r.wrap(ctx, err)
	}
	n, err := r.set.Client.Do(ctx, r.set.Client.B().Hlen().Key(r.set.Keys[0].Content).Build()).AsInt64()
	return n, r.wrap(ctx, err)
}

// Next returns the item whose turn it is, which becomes the last: one LMOVE. It
// returns ErrNotFound where there is none. The item stays in the ring, so that
// no crash can lose it, and others may be given it when it comes round.
func (r *Ring) Next(ctx context.Context) (string, error) {
	if err := r.set.Check(ctx); err != nil {
		return "", r.wrap(ctx, err)
	}
	item, err := r.set.Client.Do(ctx, r.set.Client.B().Lmove().Source(r.set.Key).Destination(r.set.Key).Left().Right().Build()).ToString()
	if rueidis.IsRedisNil(err) {
		err = fmt.Errorf("%w: the ring has no item to give", ErrNotFound)
	}
	return item, r.wrap(ctx, err)
}

// Lease is an item that nobody else is given.
type Lease struct {
	Item string
	ring *Ring
	name string
}

// EmptyError is returned by Take where all items are handed out.
type EmptyError struct {
	// Retry is how long until the lease of one ends, if it is not returned
	// before; negative: the ring has no items at all.
	Retry time.Duration
}

func (e *EmptyError) Error() string {
	if e.Retry < 0 {
		return "the ring has no items"
	}
	return fmt.Sprintf("all items are handed out; one comes back in %v at the latest", e.Retry)
}

// Is makes an EmptyError ErrNotFound.
func (e *EmptyError) Is(target error) bool { return target == ErrNotFound }

// Take gives out the item whose turn it is on a lease: one script. Where there is
// none it returns an *EmptyError, which is ErrNotFound, and says when to ask
// again.
func (r *Ring) Take(ctx context.Context, lease time.Duration) (*Lease, error) {
	if lease < time.Millisecond {
		return nil, r.wrap(ctx, fmt.Errorf("%w: a lease of %v: it must last for a millisecond at least", ErrValue, lease))
	}
	if err := r.set.Check(ctx); err != nil {
		return nil, r.wrap(ctx, err)
	}
	l := &Lease{ring: r, name: newName()}
	reply, err := r.take.Run(ctx, r.set.Client, r.leased(), []string{l.name, milliseconds(lease)}).ToArray()
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

// milliseconds is a lease as the scripts take it, which never ends early.
func milliseconds(lease time.Duration) string {
	ms := lease.Milliseconds()
	if lease%time.Millisecond != 0 {
		ms++
	}
	return strconv.FormatInt(ms, 10)
}

// Return ends the lease: the item is the last of the ring. It returns
// ErrLeaseOver where it has ended by itself.
func (l *Lease) Return(ctx context.Context) error { return l.until(ctx, 0) }

// Extend lets the lease last for so long from now. It returns ErrLeaseOver where
// it has ended: stop what is done with the item.
func (l *Lease) Extend(ctx context.Context, lease time.Duration) error {
	if lease < time.Millisecond {
		return l.ring.wrap(ctx, fmt.Errorf("%w: a lease of %v: it must last for a millisecond at least", ErrValue, lease))
	}
	return l.until(ctx, lease)
}

func (l *Lease) until(ctx context.Context, lease time.Duration) error {
	args := []string{l.Item, l.name, milliseconds(lease)}
	n, err := l.ring.end.Run(ctx, l.ring.set.Client, l.ring.leased(), args).AsInt64()
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %s", ErrLeaseOver, shown(l.Item))
	}
	return l.ring.wrap(ctx, err)
}

func (r *Ring) wrap(ctx context.Context, err error) error { return wrap(ctx, r.set, err) }
