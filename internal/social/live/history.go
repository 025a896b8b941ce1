package live

import (
	"sort"
	"time"

	"retwis/internal/social/live/stream"
)

// history is a ring of the newest entries of the stream.
type history struct {
	entries []arrived
	oldest  int       // index of the oldest entry, once the ring is full
	base    stream.ID // all entries after this ID are known
	last    stream.ID // the end of the stream
}

// arrived is an entry and the time at which this process read it.
type arrived struct {
	stream.Entry
	when time.Time
}

// start fills an empty history.
func (r *history) start(entries []stream.Entry, end stream.ID) {
	r.last = end
	if len(entries) < stream.MaxLen/2 {
		// The server does not trim a stream this short, so these are all entries.
		r.base = stream.ID{}
	} else {
		r.base = entries[0].ID
	}
	for _, e := range entries {
		r.add(e, time.Time{})
	}
}

// add adds the newest entry, and drops the oldest one if the ring is full.
func (r *history) add(e stream.Entry, when time.Time) {
	if len(r.entries) < stream.MaxLen {
		r.entries = append(r.entries, arrived{e, when})
		return
	}
	r.base = r.entries[r.oldest].ID
	r.entries[r.oldest] = arrived{e, when}
	r.oldest = (r.oldest + 1) % len(r.entries)
}

// get returns an entry by index, counted from the oldest.
func (r *history) get(i int) *arrived { return &r.entries[(r.oldest+i)%len(r.entries)] }

// before returns the ID of the last entry that arrived before a time.
func (r *history) before(t time.Time) stream.ID {
	n := sort.Search(len(r.entries), func(i int) bool { return !r.get(i).when.Before(t) })
	switch {
	case n == len(r.entries):
		return r.last
	case n == 0:
		return r.base
	}
	return r.get(n - 1).ID
}

// after calls visit with the known entries after an ID, oldest first. complete reports whether no
// entry after the ID is missing.
func (r *history) after(id stream.ID, visit func(e *stream.Entry)) (complete bool) {
	n := sort.Search(len(r.entries), func(i int) bool { return id.Less(r.get(i).ID) })
	for ; n < len(r.entries); n++ {
		visit(&r.get(n).Entry)
	}
	return !id.Less(r.base)
}
