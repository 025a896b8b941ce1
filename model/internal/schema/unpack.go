package schema

import (
	"encoding/binary"
	"errors"
)

// IndexValue is one entry of a Content, with the number of its index.
type IndexValue struct {
	Number int
	Value  string
}

// ErrContent is returned for bytes that are not a Content.
var ErrContent = errors.New("not the content of a record")

// Unpack decodes a Content written by Pack or by scripts.
func Unpack(c Content) (due int64, entries []IndexValue, err error) {
	r := reader{rest: string(c)}
	n := r.length()
	if r.bad || n < 1 || n%2 != 1 || n > len(c) {
		return 0, nil, ErrContent
	}
	due = r.int()
	entries = make([]IndexValue, 0, n/2)
	for range n / 2 {
		entries = append(entries, IndexValue{int(r.int()), r.text()})
	}
	if r.bad || r.rest != "" {
		return 0, nil, ErrContent
	}
	return due, entries, nil
}

// reader decodes the subset of MessagePack that occurs in a Content.
type reader struct {
	rest string
	bad  bool
}

// take returns the next n bytes.
func (r *reader) take(n int) string {
	if n > len(r.rest) {
		r.bad, r.rest = true, ""
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

// byte reads one byte.
func (r *reader) byte() byte {
	if s := r.take(1); s != "" {
		return s[0]
	}
	return 0xc1 // never used by MessagePack
}

// uint reads a big-endian number.
func (r *reader) uint(bytes int) int {
	var b [8]byte
	copy(b[8-bytes:], r.take(bytes))
	return int(binary.BigEndian.Uint64(b[:]))
}

// length reads the header of a list.
func (r *reader) length() int {
	switch b := r.byte(); {
	case b&0xf0 == 0x90:
		return int(b & 0x0f)
	case b == 0xdc:
		return r.uint(2)
	case b == 0xdd:
		return r.uint(4)
	}
	r.bad = true
	return 0
}

// int reads an integer.
func (r *reader) int() int64 {
	switch b := r.byte(); {
	case b < 0x80:
		return int64(b)
	case b >= 0xcc && b <= 0xcf: // unsigned, of 1, 2, 4 or 8 bytes
		return int64(r.uint(1 << (b - 0xcc)))
	case b == 0xd3:
		return int64(r.uint(8))
	}
	r.bad = true
	return 0
}

// text reads a string.
func (r *reader) text() string {
	switch b := r.byte(); {
	case b&0xe0 == 0xa0:
		return r.take(int(b & 0x1f))
	case b >= 0xd9 && b <= 0xdb: // of up to 2^8, 2^16 or 2^32 bytes
		return r.take(r.uint(1 << (b - 0xd9)))
	}
	r.bad = true
	return ""
}
