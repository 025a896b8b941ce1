// Package hll reads the HyperLogLogs of a server in this process: it merges many of them,
// and counts after each step, where PFCOUNT would merge them all again and again in the
// one thread of the server.
//
// The server stores a HyperLogLog as a string, in one of two encodings (hyperloglog.c).
// They are a part of its snapshots and of its replication, so all versions have the same.
package hll

import (
	"errors"
	"math"
)

const (
	registers  = 1 << 14
	bits       = 6 // of a register in the dense encoding
	headerSize = 16
	denseSize  = headerSize + registers*bits/8
	maxRank    = 64 - 14 // the largest value of a register is one more

	dense  = 0
	sparse = 1
)

// ErrFormat: the string is no HyperLogLog.
var ErrFormat = errors.New("hll: not a HyperLogLog")

// Sketch is the union of HyperLogLogs. The zero value is empty.
type Sketch struct{ ranks [registers]uint8 }

// Merge adds the elements of a HyperLogLog, given as GET returns it; the empty string is
// one without elements. It returns ErrFormat for another string, of which it may have
// added a part.
func (s *Sketch) Merge(stored string) error {
	if stored == "" {
		return nil
	}
	if len(stored) < headerSize || stored[:4] != "HYLL" {
		return ErrFormat
	}
	switch stored[4] {
	case dense:
		if len(stored) != denseSize {
			return ErrFormat
		}
		s.mergeDense(stored[headerSize:])
		return nil
	case sparse:
		return s.mergeSparse(stored[headerSize:])
	}
	return ErrFormat
}

// mergeDense reads registers of six bits, the lowest bits first.
func (s *Sketch) mergeDense(data string) {
	for i := range s.ranks {
		at, shift := i*bits/8, i*bits%8
		pair := uint16(data[at])
		if at+1 < len(data) {
			pair |= uint16(data[at+1]) << 8
		}
		s.ranks[i] = max(s.ranks[i], uint8(pair>>shift)&(1<<bits-1))
	}
}

// mergeSparse reads runs of equal registers: ZERO is 00xxxxxx, XZERO 01xxxxxx xxxxxxxx,
// and VAL 1vvvvvxx, with the length of the run (and the value) less one.
func (s *Sketch) mergeSparse(data string) error {
	register := 0
	for at := 0; at < len(data); at++ {
		op, length, rank := data[at], 0, uint8(0)
		switch {
		case op&0x80 != 0:
			length, rank = int(op&3)+1, op>>2&0x1f+1
		case op&0x40 == 0:
			length = int(op) + 1
		case at+1 == len(data):
			return ErrFormat
		default:
			at++
			length = int(op&0x3f)<<8 + int(data[at]) + 1
		}
		if register+length > registers {
			return ErrFormat
		}
		for end := register + length; register < end; register++ {
			s.ranks[register] = max(s.ranks[register], rank)
		}
	}
	if register != registers {
		return ErrFormat
	}
	return nil
}

// Count returns about how many distinct elements there are, as PFCOUNT does: Otmar Ertl,
// "New cardinality estimation algorithms for HyperLogLog sketches", 2017.
func (s *Sketch) Count() float64 {
	var histogram [maxRank + 2]int
	for _, rank := range s.ranks {
		histogram[min(int(rank), maxRank+1)]++
	}
	if histogram[0] == registers {
		return 0
	}
	const m = registers
	z := m * tau((m-float64(histogram[maxRank+1]))/m)
	for rank := maxRank; rank >= 1; rank-- {
		z = (z + float64(histogram[rank])) / 2
	}
	z += m * sigma(float64(histogram[0])/m)
	return m * m / (2 * math.Ln2 * z)
}

// sigma is the correction for registers that are zero.
func sigma(x float64) float64 {
	y, z := 1.0, x
	for {
		x *= x
		before := z
		z += x * y
		y += y
		if z == before {
			return z
		}
	}
}

// tau is the correction for registers that are full.
func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for {
		x = math.Sqrt(x)
		before := z
		y /= 2
		z -= (1 - x) * (1 - x) * y
		if z == before {
			return z / 3
		}
	}
}
