package watched

import (
	"sync/atomic"
	"time"

	"retwis/internal/elapsed"
)

// Cell holds a value until the server reports a change of one of the keys from which the value was
// derived. Create the Cell before reading the keys, so that no change is missed. The zero value is
// empty. A Cell is safe for concurrent use.
type Cell[V any] struct {
	entry   atomic.Pointer[entry[V]]
	changed atomic.Uint64 // number of changes
	forced  atomic.Uint64 // number of changes that a value must include
	reading atomic.Bool   // a reader is replacing a value that has just become too old
}

type entry[V any] struct {
	value V
	stamp Stamp
}

// Stamp shows whether the result of a read is still valid.
type Stamp struct {
	changed, epoch uint64
	at             int64 // when the read started, by package elapsed
	cached         bool  // the server reports changes of the keys read
}

// Changed records that a change was reported.
func (c *Cell[V]) Changed() { c.changed.Add(1) }

// Force records that this process has just written: the next caller reads the value again.
func (c *Cell[V]) Force() { c.forced.Store(c.changed.Add(1)) }

// IsForced reports whether this process has written since the value was read. If so, the next read
// must bypass the client-side cache, which may not have received the report of that write.
func (c *Cell[V]) IsForced() bool {
	forced := c.forced.Load()
	e := c.entry.Load()
	return forced != 0 && (e == nil || e.stamp.changed < forced)
}

// Begin returns the stamp of a read that is about to start. Unless cached is true, the read
// bypasses the client-side cache.
func (c *Cell[V]) Begin(l *Link, cached bool) Stamp {
	return Stamp{changed: c.changed.Load(), epoch: l.epoch.Load(), at: elapsed.Now(), cached: cached}
}

// Put stores the result of a read, unless a later read has already returned.
func (c *Cell[V]) Put(value V, stamp Stamp) {
	next := &entry[V]{value, stamp}
	for old := c.entry.Load(); old == nil || old.stamp.at <= stamp.at; old = c.entry.Load() {
		if c.entry.CompareAndSwap(old, next) {
			break
		}
	}
	c.reading.Store(false)
}

// Latest returns the latest value, regardless of its age, or the zero value.
func (c *Cell[V]) Latest() (value V) {
	if e := c.entry.Load(); e != nil {
		value = e.value
	}
	return value
}

// Get returns the value if it need not be read again: no change was reported, or the read started
// less than lag ago. For a moment after lag, one caller reads the value again and the other callers
// still get the old value.
func (c *Cell[V]) Get(l *Link, lag time.Duration) (value V, ok bool) {
	e := c.entry.Load()
	if e == nil || !l.watched || e.stamp.changed < c.forced.Load() {
		return value, false
	}
	age := time.Duration(elapsed.Now() - e.stamp.at)
	switch {
	case c.unchanged(e) && e.stamp.epoch == l.epoch.Load():
		return e.value, age < MaxAge
	case lag == 0 || age >= lag+readingFor:
		return value, false
	}
	return e.value, age < lag || !c.reading.CompareAndSwap(false, true)
}

// Stale returns the value even if a change was reported; ok is false if reports may have been lost
// since the value was read, or the value is older than a minute.
func (c *Cell[V]) Stale(l *Link) (value V, ok bool) {
	e := c.entry.Load()
	if e == nil || !l.watched || !e.stamp.cached || e.stamp.epoch != l.epoch.Load() {
		return value, false
	}
	return e.value, elapsed.Now()-e.stamp.at < int64(MaxAge)
}

// Old returns the value for use while its server cannot be reached; ok is false if the value has
// changed, or is older than a minute.
func (c *Cell[V]) Old(l *Link) (value V, ok bool) {
	e := c.entry.Load()
	if e == nil || !l.watched || !c.unchanged(e) {
		return value, false
	}
	return e.value, elapsed.Now()-e.stamp.at < int64(MaxAge)
}

// isLatest reports whether no change was reported since a read started.
func (c *Cell[V]) isLatest(l *Link, stamp Stamp) bool {
	return stamp.changed == c.changed.Load() && stamp.epoch == l.epoch.Load()
}

func (c *Cell[V]) unchanged(e *entry[V]) bool {
	return e.stamp.cached && e.stamp.changed == c.changed.Load()
}
