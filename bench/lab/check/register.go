package check

import "time"

// write is an operation that sets a register: whether a post exists, whether one person
// follows another, whether a session is open.
type write struct {
	from, end time.Duration // of the request and of the response
	to        time.Duration // the latest time at which the write takes effect: after end if not acknowledged
	value     bool
	acked     bool
	sure      bool // acknowledged, and Redis must not lose it
	promised  bool // must be visible at the end, although Redis may lose it for a while
	late      bool // not acknowledged, but shown on a page: must be visible from due on
	person    string
	process   int
	// due is when all other people must see the write without faults, and hard when they must see
	// the write even during faults.
	due, hard time.Duration
}

// register is the list of writes to one boolean, which is initially false.
type register []write

// view returns when a reader must see a write.
type view func(w write) time.Duration

// states are the values that a read may return.
type states struct {
	yes, no bool
	since   time.Duration // if only one value is possible, when the write of that value took effect
}

func (s states) must() bool    { return s.yes && !s.no }
func (s states) mustNot() bool { return s.no && !s.yes }

// at returns the values that a read between start and end may return: the last write that the
// reader must see, and all writes concurrent with it or later.
func (r register) at(start, end time.Duration, see view, final bool) states {
	last := -1
	done := func(w write) bool { return final && w.promised || w.sure && see(w) <= start }
	for i, w := range r {
		if done(w) && (last < 0 || w.to > r[last].to) {
			last = i
		}
	}
	var s states
	if last < 0 {
		s.no = true
	} else {
		s.yes, s.no, s.since = r[last].value, !r[last].value, r[last].to
	}
	for i, w := range r {
		if i == last || w.from >= end || last >= 0 && w.to <= r[last].from {
			continue // later than the read, or overwritten by the last write
		}
		if w.value {
			s.yes = true
		} else {
			s.no = true
		}
	}
	return s
}
