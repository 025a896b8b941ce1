package codec

import (
	"encoding/binary"
	"errors"
	"slices"
	"sort"
)

// MaxID is the largest id of a document: all integers up to MaxID are exact in Lua.
const MaxID = 1<<53 - 1

// Number reads 8 bytes in big-endian order.
func Number(s string) uint64 {
	return uint64(s[7]) | uint64(s[6])<<8 | uint64(s[5])<<16 | uint64(s[4])<<24 |
		uint64(s[3])<<32 | uint64(s[2])<<40 | uint64(s[1])<<48 | uint64(s[0])<<56
}

// Bytes returns an id as 8 bytes.
func Bytes(id int64) string { return string(binary.BigEndian.AppendUint64(nil, uint64(id))) }

// List is a list of ascending ids of 8 bytes each.
type List string

// Len returns the number of ids.
func (l List) Len() int { return len(l) / 8 }

// At returns the id at an index.
func (l List) At(i int) int64 { return int64(Number(string(l[8*i:]))) }

// Valid reports whether the ids are ascending and greater than after.
func (l List) Valid(after int64) bool {
	for i := range l.Len() {
		if l.At(i) <= after || l.At(i) > MaxID {
			return false
		}
		after = l.At(i)
	}
	return len(l)%8 == 0
}

// Last returns the largest id <= limit, or -1.
func (l List) Last(limit int64) int64 {
	i := sort.Search(l.Len(), func(i int) bool { return l.At(i) > limit })
	if i == 0 {
		return -1
	}
	return l.At(i - 1)
}

// Fill adds the ids from low to high to a window.
func (l List) Fill(w Window, low, high int64) {
	n := l.Len()
	for i := sort.Search(n, func(i int) bool { return l.At(i) >= low }); i < n && l.At(i) <= high; i++ {
		w.Set(l.At(i))
	}
}

// IDs returns all ids.
func (l List) IDs() []int64 {
	ids := make([]int64, l.Len())
	for i := range ids {
		ids[i] = l.At(i)
	}
	return ids
}

// ListOf returns a list of ascending ids.
func ListOf(ids []int64) List {
	b := make([]byte, 0, 8*len(ids))
	for _, id := range ids {
		b = binary.BigEndian.AppendUint64(b, uint64(id))
	}
	return List(b)
}

// Tail holds the newest ids of a term.
type Tail struct {
	Sealed int64 // number of ids in segments
	Bound  int64 // ids <= Bound belong in segments
	IDs    List
}

// TailHeader is the number of bytes of a tail before its ids.
const TailHeader = 16

var errTail = errors.New("it is not a tail")

// ParseTail parses a tail. It accepts ids in the wrong order: see Tail.Valid.
func ParseTail(data string) (t Tail, err error) {
	if len(data) < TailHeader || len(data)%8 != 0 {
		return t, errTail
	}
	t = Tail{Sealed: int64(Number(data)), Bound: int64(Number(data[8:])), IDs: List(data[TailHeader:])}
	if t.Sealed < 0 || t.Sealed > MaxID || t.Bound < 0 || t.Bound > MaxID || t.Sealed > 0 && t.Bound == 0 {
		return Tail{}, errTail
	}
	return t, nil
}

// Valid reports whether the ids are in order, and the term has at least one id in the tail or in
// segments.
func (t Tail) Valid() bool { return t.IDs.Valid(t.Bound) && int64(t.IDs.Len())+t.Sealed > 0 }

// String encodes the tail.
func (t Tail) String() string {
	return Bytes(t.Sealed) + Bytes(t.Bound) + string(t.IDs)
}

// Sorted sorts ids and removes duplicates and invalid ids.
func Sorted(ids []int64) []int64 {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return slices.DeleteFunc(ids, func(id int64) bool { return id < 1 || id > MaxID })
}
