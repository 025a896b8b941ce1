package watched

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
)

// Options configure a Map.
type Options[V any] struct {
	Link *Link
	// Keys are the prefixes of the keys from which a value is derived; see [Link.On].
	Keys []string
	// Lag is how long a value may be used after a change was reported; see [Lag].
	Lag time.Duration

	// Most limits the number of values. Alternatively, Bytes limits the sum of their Sizes.
	Most  int
	Bytes int64
	Size  func(value V) int

	// IsFresh reports whether the context of a call requires that the value of an ID is read
	// bypassing all caches; WithFresh returns such a context.
	IsFresh   func(ctx context.Context, id int64) bool
	WithFresh func(ctx context.Context) context.Context
	// Fenced means that [Map.Force] is called after the reports of a write have arrived: the
	// following read may be answered by the client-side cache.
	Fenced bool
}

// Map keeps values in memory, by the ID of a user or a post, until the server reports a change of
// one of their keys. Concurrent callers that miss the same value share one read. A Map is safe for
// concurrent use. A value in memory costs one lookup.
type Map[V any] struct {
	opt   Options[V]
	slots *otter.Cache[int64, *slot[V]]
}

// slot holds a value. The slot is created before the value is read, so that no change is missed
// meanwhile.
type slot[V any] struct {
	Cell[V]
	flight atomic.Pointer[flight[V]] // nil: no read in progress
	size   atomic.Uint32
}

// flight is a read in progress.
type flight[V any] struct {
	stamp Stamp
	done  chan struct{} // closed once value or err is set
	value V
	err   error
}

// Ask defines how a caller reads values.
type Ask[V any] struct {
	// Valid reports whether a value that another call has read is valid for this call. Default:
	// all values are valid.
	Valid func(id int64, value V) bool
	// Load sets the Value of each read; either all reads are Fresh, or none is. Unless the reads are
	// Fresh, Load must read every key through the client-side cache; otherwise the server reports no
	// changes of the value.
	Load func(ctx context.Context, reads []*Read[V]) error
}

// Read is the read of one value.
type Read[V any] struct {
	ID     int64
	Before V    // the replaced value; zero if there is none
	Fresh  bool // bypass all caches
	Value  V

	slot     *slot[V]
	flight   *flight[V]
	old      V    // fallback while the server cannot be reached
	unshared bool // does not join another caller's read
}

// Each returns a function for Ask.Load that reads the values one after another.
func Each[V any](load func(ctx context.Context, r *Read[V]) (V, error)) func(context.Context, []*Read[V]) error {
	return func(ctx context.Context, reads []*Read[V]) (err error) {
		for _, r := range reads {
			if r.Value, err = load(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}
}

// NewMap returns an empty Map.
func NewMap[V any](opt Options[V]) (*Map[V], error) {
	bounds := otter.Options[int64, *slot[V]]{MaximumSize: opt.Most}
	if opt.Size != nil {
		bounds.MaximumWeight = uint64(opt.Bytes)
		bounds.Weigher = func(_ int64, s *slot[V]) uint32 { return max(s.size.Load(), slotBytes) }
	}
	slots, err := otter.New(&bounds)
	if err != nil {
		return nil, fmt.Errorf("watched: %w", err)
	}
	m := &Map[V]{opt: opt, slots: slots}
	for _, prefix := range opt.Keys {
		opt.Link.On(prefix, m.Changed)
	}
	return m, nil
}

// slotBytes is the approximate size of a slot.
const slotBytes = 200

// Changed records that a key of a value has changed. It does not block.
func (m *Map[V]) Changed(id int64) {
	if entry, ok := m.slots.GetEntryQuietly(id); ok {
		entry.Value.Changed()
	}
}

// Force records that this process has just changed a key of a value: the next caller reads the
// value again.
func (m *Map[V]) Force(id int64) {
	if entry, ok := m.slots.GetEntryQuietly(id); ok {
		entry.Value.Force()
	}
}

// Peek returns a value that need not be read again.
func (m *Map[V]) Peek(id int64) (value V, ok bool) {
	if s, found := m.slots.GetIfPresent(id); found {
		return s.Get(m.opt.Link, 0)
	}
	return value, false
}

// Stale returns a value even if a change of the value was reported; ok is false if reports may have
// been lost since the value was read, or the value is older than a minute.
func (m *Map[V]) Stale(id int64) (value V, ok bool) {
	if s, found := m.slots.GetIfPresent(id); found {
		return s.Stale(m.opt.Link)
	}
	return value, false
}

// Latest returns the value that was read last, regardless of its age, or the zero value.
func (m *Map[V]) Latest(id int64) (value V) {
	if s, ok := m.slots.GetIfPresent(id); ok {
		value = s.Latest()
	}
	return value
}

// Get returns the value of an id.
func (m *Map[V]) Get(ctx context.Context, id int64, ask Ask[V]) (V, error) {
	if value, ok := m.inMemory(ctx, id, ask.Valid); ok {
		return value, nil
	}
	values := make([]V, 1)
	err := m.read(ctx, []int64{id}, []int{0}, values, ask)
	return values[0], err
}

// GetMany returns the values of ids, in the same order.
func (m *Map[V]) GetMany(ctx context.Context, ids []int64, ask Ask[V]) ([]V, error) {
	values := make([]V, len(ids))
	var need []int
	for i, id := range ids {
		var ok bool
		if values[i], ok = m.inMemory(ctx, id, ask.Valid); !ok {
			need = append(need, i)
		}
	}
	if len(need) == 0 {
		return values, nil
	}
	return values, m.read(ctx, ids, need, values, ask)
}

func (m *Map[V]) inMemory(ctx context.Context, id int64, valid func(int64, V) bool) (value V, ok bool) {
	if s, found := m.slots.GetIfPresent(id); found {
		value, ok = s.Get(m.opt.Link, m.opt.Lag)
	}
	return value, ok && (valid == nil || valid(id, value)) && !m.opt.IsFresh(ctx, id)
}

// read reads the values at the given indexes, or falls back to old values while their server cannot
// be reached.
func (m *Map[V]) read(ctx context.Context, ids []int64, need []int, values []V, ask Ask[V]) error {
	reads := make([]*Read[V], len(need))
	hasOld := true
	for n, i := range need {
		r := &Read[V]{ID: ids[i], slot: m.slot(ids[i]), Fresh: m.opt.IsFresh(ctx, ids[i])}
		r.unshared = r.Fresh || !m.opt.Link.watched // a read in progress may miss the last write
		var ok bool
		r.old, ok = r.slot.Old(m.opt.Link)
		hasOld = hasOld && ok && !r.Fresh && ask.isValid(r.ID, r.old)
		reads[n] = r
	}
	useOld, err := m.opt.Link.Read(ctx, hasOld, func(ctx context.Context) error { return m.load(ctx, reads, ask) })
	if err != nil {
		return err
	}
	for n, r := range reads {
		if values[need[n]] = r.Value; useOld {
			values[need[n]] = r.old
		}
	}
	return nil
}

func (m *Map[V]) slot(id int64) *slot[V] {
	s, ok := m.slots.GetIfPresent(id)
	if !ok {
		s, _ = m.slots.ComputeIfAbsent(id, func() (*slot[V], bool) { return new(slot[V]), false })
	}
	return s
}

func (a Ask[V]) isValid(id int64, value V) bool { return a.Valid == nil || a.Valid(id, value) }

// load reads values, or waits for other callers that are reading them. It reads a value itself if
// the other caller fails to read the value, or if the value is invalid for its own caller.
func (m *Map[V]) load(ctx context.Context, reads []*Read[V], ask Ask[V]) error {
	var joined []*Read[V]
	var own [2][]*Read[V] // through the client-side cache, and bypassing it
	for _, r := range reads {
		switch {
		case !m.begin(r):
			joined = append(joined, r)
		case r.Fresh:
			own[1] = append(own[1], r)
		default:
			own[0] = append(own[0], r)
		}
	}
	if err := m.lead(ctx, own, ask); err != nil || len(joined) == 0 {
		return err
	}
	var left []*Read[V]
	for _, r := range joined {
		select {
		case <-r.flight.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if r.Value = r.flight.value; r.flight.err != nil || !ask.isValid(r.ID, r.Value) {
			r.unshared = true
			left = append(left, r)
		}
	}
	if len(left) == 0 {
		return nil
	}
	return m.load(ctx, left, ask)
}

// begin starts a read, unless another caller has started a read of the value and no change was
// reported since. It reports whether it has started the read.
func (m *Map[V]) begin(r *Read[V]) bool {
	r.Before = r.slot.Latest()
	r.Fresh = r.Fresh || !m.opt.Fenced && r.slot.IsForced()
	next := &flight[V]{stamp: r.slot.Begin(m.opt.Link, !r.Fresh), done: make(chan struct{}), err: errNotRead}
	for !r.unshared {
		r.flight = r.slot.flight.Load()
		if r.flight != nil && r.slot.isLatest(m.opt.Link, r.flight.stamp) {
			return false
		}
		if r.slot.flight.CompareAndSwap(r.flight, next) {
			break
		}
	}
	r.flight = next
	return true
}

var errNotRead = errors.New("watched: the value was not read")

// lead reads values for which other callers may wait.
func (m *Map[V]) lead(ctx context.Context, own [2][]*Read[V], ask Ask[V]) (err error) {
	defer func() { // even if Load panics
		for _, r := range append(own[0], own[1]...) {
			r.slot.flight.CompareAndSwap(r.flight, nil)
			close(r.flight.done)
		}
	}()
	for i, reads := range own {
		if len(reads) == 0 {
			continue
		}
		ctx := ctx
		if i == 1 {
			ctx = m.opt.WithFresh(ctx)
		}
		if err := ask.Load(ctx, reads); err != nil {
			return err
		}
		for _, r := range reads {
			m.put(r)
		}
	}
	return nil
}

// put stores a value.
func (m *Map[V]) put(r *Read[V]) {
	r.flight.value, r.flight.err = r.Value, nil
	r.slot.Put(r.Value, r.flight.stamp)
	if m.opt.Size == nil {
		return
	}
	if size := uint32(min(m.opt.Size(r.Value)+slotBytes, math.MaxUint32)); r.slot.size.Swap(size) != size {
		m.weigh(r.ID, r.slot)
	}
}

// weigh updates the size of a slot in the cache. An evicted slot has missed changes, and is not
// restored.
func (m *Map[V]) weigh(id int64, s *slot[V]) {
	m.slots.ComputeIfPresent(id, func(now *slot[V]) (*slot[V], otter.ComputeOp) {
		if now != s {
			return now, otter.CancelOp
		}
		return s, otter.WriteOp
	})
}
