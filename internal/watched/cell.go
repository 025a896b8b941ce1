package watched

import (
	"sync/atomic"
	"time"

	"retwis/internal/elapsed"
)

// Cell holds a value until the server reports a change of one of the keys that it was made
// of. Create it before the keys are read, so that no change is missed. The zero value is
// empty. It is safe for concurrent use.
type Cell[V any] struct {
	entry   atomic.Pointer[entry[V]]
	changed atomic.Uint64 // the number of changes
	forced  atomic.Uint64 // changes that a value must have seen
	reading atomic.Bool   // a reader replaces a value that has just become too old
}

type entry[V any] struct {
	value V
	stamp Stamp
}

// Stamp shows whether what was read is still true.
type Stamp struct {
	changed, epoch uint64
	at             int64 // when the read began, by package elapsed
	cached         bool  // the server reports changes of what was read
}

// Changed notes that a change was reported.
func (c *Cell[V]) Changed() { c.changed.Add(1) }

// Force notes that this process has just written: the next reader reads.
func (c *Cell[V]) Force() { c.forced.Store(c.changed.Add(1)) }

// IsForced reports whether this process has written since the value was read: a read then goes
// past the client-side cache, where the report of that write may not have arrived.
func (c *Cell[V]) IsForced() bool {
	forced := c.forced.Load()
	e := c.entry.Load()
	return forced != 0 && (e == nil || e.stamp.changed < forced)
}

// Begin returns the stamp of a read that begins. Unless cached, the read goes past the
// client-side cache.
func (c *Cell[V]) Begin(l *Link, cached bool) Stamp {
	return Stamp{changed: c.changed.Load(), epoch: l.epoch.Load(), at: elapsed.Now(), cached: cached}
}

// Put keeps what a read has returned, unless a later one has returned already.
func (c *Cell[V]) Put(value V, stamp Stamp) {
	next := &entry[V]{value, stamp}
	for old := c.entry.Load(); old == nil || old.stamp.at <= stamp.at; old = c.entry.Load() {
		if c.entry.CompareAndSwap(old, next) {
			break
		}
	}
	c.reading.Store(false)
}

// Latest returns the latest value, however old; the zero value for none.
func (c *Cell[V]) Latest() (value V) {
	if e := c.entry.Load(); e != nil {
		value = e.value
	}
	return value
}

// Get returns the value if it need not be read: no change was reported, or the read began
// less than lag ago. For a moment more, one reader reads and the others get the value.
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

// Stale returns the value whether or not a change was reported; ok is false where reports may
// have been lost since, or it is older than a minute.
func (c *Cell[V]) Stale(l *Link) (value V, ok bool) {
	e := c.entry.Load()
	if e == nil || !l.watched || !e.stamp.cached || e.stamp.epoch != l.epoch.Load() {
		return value, false
	}
	return e.value, elapsed.Now()-e.stamp.at < int64(MaxAge)
}

// Old returns the value for the time in which its server cannot be reached; ok is false
// where it has changed, or is older than a minute.
func (c *Cell[V]) Old(l *Link) (value V, ok bool) {
	e := c.entry.Load()
	if e == nil || !l.watched || !c.unchanged(e) {
		return value, false
	}
	return e.value, elapsed.Now()-e.stamp.at < int64(MaxAge)
}

// isLatest reports whether no change was reported since a read began.
func (c *Cell[V]) isLatest(l *Link, stamp Stamp) bool {
	return stamp.changed == c.changed.Load() && stamp.epoch == l.epoch.Load()
}

func (c *Cell[V]) unchanged(e *entry[V]) bool {
	return e.stamp.cached && e.stamp.changed == c.changed.Load()
}
