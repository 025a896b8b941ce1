package codec

import "math/bits"

// Window is a set of ids in a range, one bit each.
type Window struct {
	low  int64 // a multiple of 64
	bits []uint64
}

// NewWindow returns an empty window for the ids from low to high.
func NewWindow(low, high int64) Window {
	low &^= 63
	return Window{low: low, bits: make([]uint64, (high-low)/64+1)}
}

// Set adds an id. It ignores ids outside of the window, which damaged lists may contain.
func (w Window) Set(id int64) {
	if d := id - w.low; d >= 0 && d < int64(64*len(w.bits)) {
		w.bits[d/64] |= 1 << (d % 64)
	}
}

// or adds the ids of a word of 64 bits. start is a multiple of 64.
func (w Window) or(start int64, word uint64) {
	if i := (start - w.low) / 64; start >= w.low && i < int64(len(w.bits)) {
		w.bits[i] |= word
	}
}

// Last returns the largest id <= limit, or -1.
func (w Window) Last(limit int64) int64 {
	d := limit - w.low
	if d < 0 {
		return -1
	}
	i := int(d / 64)
	word := w.bits[i] & (^uint64(0) >> (63 - d%64))
	for word == 0 {
		if i--; i < 0 {
			return -1
		}
		word = w.bits[i]
	}
	return w.low + int64(64*i+63-bits.LeadingZeros64(word))
}

// Intersect removes the ids that are not in v, a window of the same range.
func (w Window) Intersect(v Window) {
	for i := range w.bits {
		w.bits[i] &= v.bits[i]
	}
}

// Unite adds the ids in v, a window of the same range.
func (w Window) Unite(v Window) {
	for i := range w.bits {
		w.bits[i] |= v.bits[i]
	}
}

// Subtract removes the ids in v, a window of the same range.
func (w Window) Subtract(v Window) {
	for i := range w.bits {
		w.bits[i] &^= v.bits[i]
	}
}

// Empty reports whether there are no ids.
func (w Window) Empty() bool {
	for _, word := range w.bits {
		if word != 0 {
			return false
		}
	}
	return true
}
