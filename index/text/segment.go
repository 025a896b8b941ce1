package text

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"sort"
)

// segment is a part of the ids of a term: a byte for the kind, o or b, the origin as 8
// bytes, and then ascending offsets from the origin of 4 bytes each, or a bitmap whose first
// bit is the origin, a multiple of 64, the lowest bit of each byte first.
type segment struct {
	bitmap  bool
	origin  int64
	payload string
}

const (
	segmentHeader = 9
	maxOffset     = 1<<32 - 1
)

var errSegment = errors.New("it is not a segment")

// parseSegment reads a segment. It accepts offsets in the wrong order: see segment.valid.
func parseSegment(data string) (s segment, err error) {
	if len(data) <= segmentHeader || data[0] != 'o' && data[0] != 'b' {
		return s, errSegment
	}
	s = segment{bitmap: data[0] == 'b', origin: int64(number(data[1:])), payload: data[segmentHeader:]}
	if s.origin < 0 || s.origin > MaxID || s.bitmap && s.origin%64 != 0 || !s.bitmap && len(s.payload)%4 != 0 {
		return segment{}, errSegment
	}
	return s, nil
}

// valid reports whether the segment has ids, each once, in order, from base to limit.
func (s segment) valid(base, limit int64) bool {
	last := base - 1
	for id := range s.ids {
		if id <= last || id > limit {
			return false
		}
		last = id
	}
	return last >= base
}

// ids yields all ids in the order of the segment.
func (s segment) ids(yield func(int64) bool) {
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

// len4 returns the number of offsets.
func (s segment) len4() int { return len(s.payload) / 4 }

// at returns the id of an offset.
func (s segment) at(i int) int64 {
	p := s.payload[4*i:]
	return s.origin + int64(uint32(p[3])|uint32(p[2])<<8|uint32(p[1])<<16|uint32(p[0])<<24)
}

// last returns the largest id up to a number, or -1.
func (s segment) last(most int64) int64 {
	if !s.bitmap {
		i := sort.Search(s.len4(), func(i int) bool { return s.at(i) > most })
		if i == 0 {
			return -1
		}
		return s.at(i - 1)
	}
	bit := min(most-s.origin, int64(8*len(s.payload)-1))
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

// fill adds the ids from low to high to a window.
func (s segment) fill(w window, low, high int64) {
	if !s.bitmap {
		n := s.len4()
		for i := sort.Search(n, func(i int) bool { return s.at(i) >= low }); i < n; i++ {
			id := s.at(i)
			if id > high {
				return
			}
			w.set(id)
		}
		return
	}
	first := max(0, (low-s.origin)/64)
	for i := first; i <= (high-s.origin)/64 && 8*i < int64(len(s.payload)); i++ {
		at := s.origin + 64*i
		word := s.word(int(8 * i))
		if at < low {
			word &= ^uint64(0) << (low - at)
		}
		if high < at+63 {
			word &= ^uint64(0) >> (63 - (high - at))
		}
		w.or(at, word)
	}
}

// word returns 64 bits of a bitmap.
func (s segment) word(at int) uint64 {
	if at+8 <= len(s.payload) {
		p := s.payload[at : at+8]
		return uint64(p[0]) | uint64(p[1])<<8 | uint64(p[2])<<16 | uint64(p[3])<<24 |
			uint64(p[4])<<32 | uint64(p[5])<<40 | uint64(p[6])<<48 | uint64(p[7])<<56
	}
	var buffer [8]byte
	copy(buffer[:], s.payload[at:])
	return binary.LittleEndian.Uint64(buffer[:])
}

// chunk is a segment to write, and where it begins.
type chunk struct {
	base int64
	data string
}

// encode divides ascending ids into segments of at most some bytes, the first of which
// begins at base. Each has as many ids as one of the two kinds can hold.
func encode(ids []int64, base int64, most int) []chunk {
	var chunks []chunk
	for len(ids) > 0 {
		n, data := encodeOne(ids, most)
		chunks = append(chunks, chunk{base, data})
		if ids = ids[n:]; len(ids) > 0 {
			base = ids[0]
		}
	}
	return chunks
}

// encodeOne returns a segment of the first ids, and how many it has.
func encodeOne(ids []int64, most int) (n int, data string) {
	origin := ids[0] &^ 63
	first := func(limit int64) int { // how many ids are below a limit
		return sort.Search(len(ids), func(i int) bool { return ids[i] >= limit })
	}
	inBitmap := first(origin + 8*int64(most-segmentHeader))
	inOffsets := min((most-segmentHeader)/4, first(ids[0]+maxOffset))
	n = max(inBitmap, inOffsets)
	bytes := int64(most)
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

// number reads 8 bytes in big-endian order.
func number(s string) uint64 {
	return uint64(s[7]) | uint64(s[6])<<8 | uint64(s[5])<<16 | uint64(s[4])<<24 |
		uint64(s[3])<<32 | uint64(s[2])<<40 | uint64(s[1])<<48 | uint64(s[0])<<56
}

func idBytes(id int64) string { return string(binary.BigEndian.AppendUint64(nil, uint64(id))) }

// list is ascending ids of 8 bytes each.
type list string

func (l list) len() int       { return len(l) / 8 }
func (l list) at(i int) int64 { return int64(number(string(l[8*i:]))) }

// valid reports whether the ids are ascending and after a limit.
func (l list) valid(after int64) bool {
	for i := range l.len() {
		if l.at(i) <= after || l.at(i) > MaxID {
			return false
		}
		after = l.at(i)
	}
	return len(l)%8 == 0
}

// last returns the largest id up to a number, or -1.
func (l list) last(most int64) int64 {
	i := sort.Search(l.len(), func(i int) bool { return l.at(i) > most })
	if i == 0 {
		return -1
	}
	return l.at(i - 1)
}

// fill adds the ids from low to high to a window.
func (l list) fill(w window, low, high int64) {
	n := l.len()
	for i := sort.Search(n, func(i int) bool { return l.at(i) >= low }); i < n && l.at(i) <= high; i++ {
		w.set(l.at(i))
	}
}

func (l list) ids() []int64 {
	ids := make([]int64, l.len())
	for i := range ids {
		ids[i] = l.at(i)
	}
	return ids
}

func listOf(ids []int64) list {
	b := make([]byte, 0, 8*len(ids))
	for _, id := range ids {
		b = binary.BigEndian.AppendUint64(b, uint64(id))
	}
	return list(b)
}

// tail is the newest ids of a term.
type tail struct {
	sealed int64 // how many ids are in segments
	bound  int64 // ids up to it belong in segments
	ids    list
}

const tailHeader = 16

var errTail = errors.New("it is not a tail")

// parseTail reads a tail. It accepts ids in the wrong order: see tail.valid.
func parseTail(data string) (t tail, err error) {
	if len(data) < tailHeader || len(data)%8 != 0 {
		return t, errTail
	}
	t = tail{sealed: int64(number(data)), bound: int64(number(data[8:])), ids: list(data[tailHeader:])}
	if t.sealed < 0 || t.sealed > MaxID || t.bound < 0 || t.bound > MaxID || t.sealed > 0 && t.bound == 0 {
		return tail{}, errTail
	}
	return t, nil
}

func (t tail) valid() bool { return t.ids.valid(t.bound) && int64(t.ids.len())+t.sealed > 0 }

func (t tail) String() string {
	return idBytes(t.sealed) + idBytes(t.bound) + string(t.ids)
}

// sortedIDs sorts ids and removes duplicates and those that no document can have.
func sortedIDs(ids []int64) []int64 {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return slices.DeleteFunc(ids, func(id int64) bool { return id < 1 || id > MaxID })
}
