package check

import "time"

// write is an operation that set a register: whether a post exists, whether one person
// follows another, whether a session is open.
type write struct {
	from, end time.Duration // from the request to the answer
	to        time.Duration // when it is done at last: after end if it was not acknowledged
	value     bool
	acked     bool
	sure      bool // it was acknowledged, and Redis has not been allowed to lose it
	promised  bool // it must be there in the end, although Redis may have lost it for a while
	late      bool // it was not acknowledged, and a page has shown it: it can take until due
	person    string
	process   int
	// due is when all others must see it, and hard when they must even during faults.
	due, hard time.Duration
}

// register is what was written to one thing, which is false in the beginning.
type register []write

// view says from when on a reader must see a write.
type view func(w write) time.Duration

// states are the values that a read may return.
type states struct {
	yes, no bool
	since   time.Duration // the end of the write that decides, if only one value is possible
}

func (s states) must() bool    { return s.yes && !s.no }
func (s states) mustNot() bool { return s.no && !s.yes }

// at returns the values that a read between two times may return. A write that the reader
// must see decides, unless another one ran beside it or after it.
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
			continue // not yet, or replaced by the last one
		}
		if w.value {
			s.yes = true
		} else {
			s.no = true
		}
	}
	return s
}
