// Package codec implements the formats in which the ids of a term are stored in Redis, and
// windows, in which ids are compared 64 at a time.
package codec

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"sort"
)

// Segment is a part of the ids of a term. Its format is a byte for the kind, o or b, and the
// origin as 8 bytes, followed by ascending offsets from the origin of 4 bytes each (o), or by a
// bitmap (b) whose first bit is the origin, a multiple of 64, with the lowest bit of each byte
// first.
type Segment struct {
	bitmap  bool
	origin  int64
	payload string
}

const (
	// SegmentHeader is the number of bytes of a segment before its ids.
	SegmentHeader = 9
	maxOffset     = 1<<32 - 1
)

var errSegment = errors.New("it is not a segment")

// ParseSegment parses a segment. It accepts offsets in the wrong order: see Segment.Valid.
func ParseSegment(data string) (s Segment, err error) {
	if len(data) <= SegmentHeader || data[0] != 'o' && data[0] != 'b' {
		return s, errSegment
	}
	s = Segment{bitmap: data[0] == 'b', origin: int64(Number(data[1:])), payload: data[SegmentHeader:]}
	if s.origin < 0 || s.origin > MaxID || s.bitmap && s.origin%64 != 0 || !s.bitmap && len(s.payload)%4 != 0 {
		return Segment{}, errSegment
	}
	return s, nil
}

// Valid reports whether the segment has ids, all of them ascending and from base to limit.
func (s Segment) Valid(base, limit int64) bool {
	last := base - 1
	for id := range s.IDs {
		if id <= last || id > limit {
			return false
		}
		last = id
	}
	return last >= base
}

// IDs yields all ids in stored order.
func (s Segment) IDs(yield func(int64) bool) {
	if !s.bitmap {
		for i := range s.len4() {
			if !yield(s.at(i)) {
				return
			}
		}
		return
	}
	for i := range len(s.payload) {
		for b := s.payload[i]; b != 0; b &= b - 1 {
			if !yield(s.origin + int64(8*i+bits.TrailingZeros8(b))) {
				return
			}
		}
	}
}

// Empty reports whether s is the zero Segment.
func (s Segment) Empty() bool { return s.payload == "" }

// Len returns the size in bytes.
func (s Segment) Len() int { return SegmentHeader + len(s.payload) }

// len4 returns the number of offsets.
func (s Segment) len4() int { return len(s.payload) / 4 }

// at returns the id of an offset.
func (s Segment) at(i int) int64 {
	p := s.payload[4*i:]
	return s.origin + int64(uint32(p[3])|uint32(p[2])<<8|uint32(p[1])<<16|uint32(p[0])<<24)
}

// Last returns the largest id <= limit, or -1.
func (s Segment) Last(limit int64) int64 {
	if !s.bitmap {
		i := sort.Search(s.len4(), func(i int) bool { return s.at(i) > limit })
		if i == 0 {
			return -1
		}
		return s.at(i - 1)
	}
	bit := min(limit-s.origin, int64(8*len(s.payload)-1))
	if bit < 0 {
		return -1
	}
	i := int(bit / 8)
	b := s.payload[i] & (1<<(bit%8+1) - 1)
	for b == 0 {
		if i--; i < 0 {
			return -1
		}
		b = s.payload[i]
	}
	return s.origin + int64(8*i+bits.Len8(b)-1)
}

// Fill adds the ids from low to high to a window.
func (s Segment) Fill(w Window, low, high int64) {
	if !s.bitmap {
		n := s.len4()
		for i := sort.Search(n, func(i int) bool { return s.at(i) >= low }); i < n; i++ {
			id := s.at(i)
			if id > high {
				return
			}
			w.Set(id)
		}
		return
	}
	first := max(0, (low-s.origin)/64)
	for i := first; i <= (high-s.origin)/64 && 8*i < int64(len(s.payload)); i++ {
		start := s.origin + 64*i
		word := s.word(int(8 * i))
		if start < low {
			word &= ^uint64(0) << (low - start)
		}
		if high < start+63 {
			word &= ^uint64(0) >> (63 - (high - start))
		}
		w.or(start, word)
	}
}

// word returns 64 bits of a bitmap, starting at a byte offset.
func (s Segment) word(offset int) uint64 {
	if offset+8 <= len(s.payload) {
		p := s.payload[offset : offset+8]
		return uint64(p[0]) | uint64(p[1])<<8 | uint64(p[2])<<16 | uint64(p[3])<<24 |
			uint64(p[4])<<32 | uint64(p[5])<<40 | uint64(p[6])<<48 | uint64(p[7])<<56
	}
	var buffer [8]byte
	copy(buffer[:], s.payload[offset:])
	return binary.LittleEndian.Uint64(buffer[:])
}

// Chunk is an encoded segment and its base.
type Chunk struct {
	Base int64
	Data string
}

// Encode splits ascending ids into segments of at most maxBytes bytes, the first of which starts
// at base. Each segment has as many ids as the better of the two kinds can hold.
func Encode(ids []int64, base int64, maxBytes int) []Chunk {
	var chunks []Chunk
	for len(ids) > 0 {
		n, data := encodeOne(ids, maxBytes)
		chunks = append(chunks, Chunk{base, data})
		if ids = ids[n:]; len(ids) > 0 {
			base = ids[0]
		}
	}
	return chunks
}

// encodeOne encodes the first ids as a segment, and returns their number.
func encodeOne(ids []int64, maxBytes int) (n int, data string) {
	origin := ids[0] &^ 63
	first := func(limit int64) int { // returns the number of ids below a limit
		return sort.Search(len(ids), func(i int) bool { return ids[i] >= limit })
	}
	inBitmap := first(origin + 8*int64(maxBytes-SegmentHeader))
	inOffsets := min((maxBytes-SegmentHeader)/4, first(ids[0]+maxOffset))
	n = max(inBitmap, inOffsets)
	bytes := int64(maxBytes)
	if inBitmap >= n {
		bytes = (ids[n-1]-origin)/8 + 1
	}
	if inOffsets < n || bytes < int64(4*n) {
		bitmap := make([]byte, bytes)
		for _, id := range ids[:n] {
			bitmap[(id-origin)/8] |= 1 << ((id - origin) % 8)
		}
		return n, string(append(binary.BigEndian.AppendUint64([]byte{'b'}, uint64(origin)), bitmap...))
	}
	b := binary.BigEndian.AppendUint64([]byte{'o'}, uint64(ids[0]))
	for _, id := range ids[:n] {
		b = binary.BigEndian.AppendUint32(b, uint32(id-ids[0]))
	}
	return n, string(b)
}
