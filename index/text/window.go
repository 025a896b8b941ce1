package text

import "math/bits"

// window is a range of ids, a bit each.
type window struct {
	low  int64 // a multiple of 64
	bits []uint64
}

// newWindow returns an empty window that has the ids from low to high.
func newWindow(low, high int64) window {
	low &^= 63
	return window{low: low, bits: make([]uint64, (high-low)/64+1)}
}

// set adds an id, unless it is outside of the window, as one of a damaged list can be.
func (w window) set(id int64) {
	if d := id - w.low; d >= 0 && d < int64(64*len(w.bits)) {
		w.bits[d/64] |= 1 << (d % 64)
	}
}

// or adds 64 ids from a multiple of 64 on.
func (w window) or(at int64, word uint64) {
	if i := (at - w.low) / 64; at >= w.low && i < int64(len(w.bits)) {
		w.bits[i] |= word
	}
}

// last returns the largest id up to a number, or -1.
func (w window) last(most int64) int64 {
	d := most - w.low
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

func (w window) intersect(v window) {
	for i := range w.bits {
		w.bits[i] &= v.bits[i]
	}
}

func (w window) unite(v window) {
	for i := range w.bits {
		w.bits[i] |= v.bits[i]
	}
}

func (w window) subtract(v window) {
	for i := range w.bits {
		w.bits[i] &^= v.bits[i]
	}
}

func (w window) empty() bool {
	for _, word := range w.bits {
		if word != 0 {
			return false
		}
	}
	return true
}
