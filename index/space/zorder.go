package space

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// layout describes how the bits of several dimensions are interleaved into one number.
//
// The most significant bits of all dimensions come first, then the next bits, so that
// successive cuts halve the ranges of the dimensions in turn, whatever their widths. A
// dimension without bits left is skipped.
type layout struct {
	bits  []bit      // most significant first
	masks [][]uint64 // per dimension: its bits in a number
	words int        // words per number
	bytes int        // bytes per number in a member
}

// bit is one bit of a number: its dimension, and its position from the end of the code.
type bit struct{ dim, shift uint8 }

// newLayout returns the layout of dimensions whose largest codes are spans.
func newLayout(spans []uint64) layout {
	var l layout
	widest := 0
	for _, s := range spans {
		widest = max(widest, bits.Len64(s))
	}
	for level := range widest {
		for d, s := range spans {
			if width := bits.Len64(s); level < width {
				l.bits = append(l.bits, bit{uint8(d), uint8(width - 1 - level)})
			}
		}
	}
	l.words, l.bytes = (len(l.bits)+63)/64, (len(l.bits)+7)/8
	l.masks = make([][]uint64, len(spans))
	for d := range spans {
		l.masks[d] = make([]uint64, l.words)
	}
	for i, b := range l.bits {
		word, at := l.locate(len(l.bits) - 1 - i)
		l.masks[b.dim][word] |= 1 << at
	}
	return l
}

// locate returns the word of a number that contains bit p, counted from the end, and the
// position in the word.
func (l *layout) locate(p int) (word int, at uint) { return l.words - 1 - p/64, uint(p % 64) }

// interleave returns the number for codes, most significant word first.
func (l *layout) interleave(codes []uint64) []uint64 {
	z := make([]uint64, l.words)
	l.interleaveTo(z, codes)
	return z
}

func (l *layout) interleaveTo(z []uint64, codes []uint64) {
	var w uint64
	remaining := len(l.bits)
	for _, b := range l.bits {
		w = w<<1 | codes[b.dim]>>b.shift&1
		if remaining--; remaining%64 == 0 {
			z[l.words-1-remaining/64] = w
			w = 0
		}
	}
}

// deinterleave writes the codes of a number.
func (l *layout) deinterleave(codes []uint64, z []uint64) {
	clear(codes)
	remaining := len(l.bits)
	for _, b := range l.bits {
		remaining--
		codes[b.dim] = codes[b.dim]<<1 | z[l.words-1-remaining/64]>>(remaining%64)&1
	}
}

// append appends a number as stored in a member: big-endian, in whole bytes.
func (l *layout) append(b []byte, z []uint64) []byte {
	first := l.bytes - 8*(l.words-1)
	for i := 8 * (first - 1); i >= 0; i -= 8 {
		b = append(b, byte(z[0]>>i))
	}
	for _, w := range z[1:] {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return b
}

// read reads the number of a member, which must be long enough.
func (l *layout) read(z []uint64, member string) {
	first := l.bytes - 8*(l.words-1)
	z[0] = 0
	for i := range first {
		z[0] = z[0]<<8 | uint64(member[i])
	}
	for i := 1; i < l.words; i++ {
		m := member[first+8*(i-1):][:8]
		z[i] = uint64(m[0])<<56 | uint64(m[1])<<48 | uint64(m[2])<<40 | uint64(m[3])<<32 |
			uint64(m[4])<<24 | uint64(m[5])<<16 | uint64(m[6])<<8 | uint64(m[7])
	}
}

// within reports whether each dimension of a number is from low to high.
// It compares without deinterleaving: the masked bits of one dimension sort as its codes do.
func (l *layout) within(z, low, high []uint64) bool {
	if l.words == 1 {
		n, low, high := z[0], low[0], high[0]
		for _, m := range l.masks {
			if v := n & m[0]; v < low&m[0] || v > high&m[0] {
				return false
			}
		}
		return true
	}
	for _, m := range l.masks {
		if compareMasked(z, low, m) < 0 || compareMasked(z, high, m) > 0 {
			return false
		}
	}
	return true
}

// compareMasked compares the masked bits of two numbers.
func compareMasked(a, b, mask []uint64) int {
	for i, m := range mask {
		switch x, y := a[i]&m, b[i]&m; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
	}
	return 0
}

// differs returns the position, counted from the end, of the first bit in which two
// numbers differ.
func (l *layout) differs(a, b []uint64) int {
	for i := range a {
		if x := a[i] ^ b[i]; x != 0 {
			return (l.words-1-i)*64 + bits.Len64(x) - 1
		}
	}
	return -1
}

// cut sets dimension d of z to the last code before the cut at bit p or, if up, to the first
// code after the cut: LITMAX and BIGMIN of Tropf and Herzog.
func (l *layout) cut(z []uint64, d uint8, p int, up bool) {
	word, at := l.locate(p)
	mask := l.masks[d]
	for i := word; i < l.words; i++ {
		below := ^uint64(0)
		if i == word {
			below = 1<<at - 1
		}
		if up {
			z[i] &^= mask[i] & below
		} else {
			z[i] |= mask[i] & below
		}
	}
	if up {
		z[word] |= 1 << at
	} else {
		z[word] &^= 1 << at
	}
}

// unit is the length of one number, small enough for the lengths and volumes of a space of 1024
// bits to fit into a float64.
const unit = 0x1p-512

// length returns the count of numbers from a to b, inclusive, in units.
func (l *layout) length(a, b []uint64) float64 {
	sum, borrow, weight := unit, uint64(0), unit
	for i := l.words - 1; i >= 0; i-- {
		var w uint64
		w, borrow = bits.Sub64(b[i], a[i], borrow)
		sum += float64(w) * weight
		weight *= 0x1p64
	}
	return sum
}

// text formats a number as a bit string.
func (l *layout) text(z []uint64) string {
	var b strings.Builder
	for i := len(l.bits) - 1; i >= 0; i-- {
		word, at := l.locate(i)
		b.WriteByte('0' + byte(z[word]>>at&1))
	}
	return b.String()
}

// lowBits returns a word with its last n bits set.
func lowBits(n int) uint64 {
	switch {
	case n <= 0:
		return 0
	case n >= 64:
		return ^uint64(0)
	}
	return 1<<n - 1
}
