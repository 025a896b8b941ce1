package rdb

import (
	"encoding/binary"
	"strconv"
)

// layout is the format in which a server packs several elements into one string.
type layout uint8

const (
	listpack layout = iota // Redis 7.0 and newer
	ziplist                // Redis 6.2 and older
	zipmap                 // Redis 2.4
	intset
)

// packed reads the elements of a packed string.
type packed struct {
	layout layout
	data   []byte // unread data
	width  int    // size of an integer in an intset
	value  bool   // the next element of a zipmap is a value
	digits [24]byte
	bad    bool
}

// open starts reading a packed string.
func (p *packed) open(l layout, data []byte) {
	*p = packed{layout: l}
	header := 0
	switch l {
	case listpack:
		header = 6
		p.bad = len(data) < header+1 || uint64(binary.LittleEndian.Uint32(data)) != uint64(len(data))
	case ziplist:
		header = 10
		p.bad = len(data) < header+1 || uint64(binary.LittleEndian.Uint32(data)) != uint64(len(data))
	case zipmap:
		header = 1
		p.bad = len(data) < header+1
	case intset:
		header = 8
		if p.bad = len(data) < header; !p.bad {
			width := binary.LittleEndian.Uint32(data)
			n := uint64(binary.LittleEndian.Uint32(data[4:]))
			p.bad = width != 2 && width != 4 && width != 8 || uint64(len(data)-header) != n*uint64(width)
			p.width = int(width)
		}
	}
	if !p.bad {
		p.data = data[header:]
	}
}

// next returns the next element, valid until the following call, or false at the end.
func (p *packed) next() ([]byte, bool) {
	if len(p.data) == 0 || p.bad {
		return nil, false
	}
	if p.layout == intset {
		return p.integer(0, p.width), true
	}
	if p.data[0] == 0xff {
		p.bad = len(p.data) != 1
		p.data = nil
		return nil, false
	}
	var v []byte
	switch p.layout {
	case listpack:
		v = p.listpack()
	case ziplist:
		v = p.ziplist()
	default:
		v = p.zipmap()
	}
	if len(p.data) == 0 { // the end byte is missing
		p.bad = true
	}
	return v, !p.bad
}

// integer consumes header bytes and a little-endian integer.
func (p *packed) integer(header, width int) []byte {
	if len(p.data) < header+width {
		p.bad = true
		return nil
	}
	b := p.data[header:]
	p.data = b[width:]
	var n int64
	switch width {
	case 1:
		n = int64(int8(b[0]))
	case 2:
		n = int64(int16(binary.LittleEndian.Uint16(b)))
	case 3:
		n = int64(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24) >> 8)
	case 4:
		n = int64(int32(binary.LittleEndian.Uint32(b)))
	default:
		n = int64(binary.LittleEndian.Uint64(b))
	}
	return p.decimal(n)
}

func (p *packed) decimal(n int64) []byte { return strconv.AppendInt(p.digits[:0], n, 10) }

// string consumes header bytes and a string of n bytes.
func (p *packed) string(header, n int) []byte {
	if n < 0 || len(p.data)-header < n {
		p.bad = true
		return nil
	}
	v := p.data[header : header+n : header+n]
	p.data = p.data[header+n:]
	return v
}

// has reports whether n bytes are left.
func (p *packed) has(n int) bool {
	p.bad = p.bad || len(p.data) < n
	return !p.bad
}

// listpack consumes an element of a listpack. Each element ends with its own length.
func (p *packed) listpack() (v []byte) {
	before := len(p.data)
	switch c := p.data[0]; {
	case c < 0x80:
		p.data = p.data[1:]
		v = p.decimal(int64(c))
	case c < 0xc0:
		v = p.string(1, int(c&0x3f))
	case c < 0xe0:
		if p.has(2) {
			n := int64(c&0x1f)<<8 | int64(p.data[1])
			if n >= 1<<12 {
				n -= 1 << 13
			}
			p.data = p.data[2:]
			v = p.decimal(n)
		}
	case c < 0xf0:
		if p.has(2) {
			v = p.string(2, int(c&0xf)<<8|int(p.data[1]))
		}
	case c == 0xf0:
		if p.has(5) {
			v = p.string(5, int(binary.LittleEndian.Uint32(p.data[1:])))
		}
	case c == 0xf1:
		v = p.integer(1, 2)
	case c == 0xf2:
		v = p.integer(1, 3)
	case c == 0xf3:
		v = p.integer(1, 4)
	case c == 0xf4:
		v = p.integer(1, 8)
	default:
		p.bad = true
	}
	size := 1
	for _, limit := range []int{127, 16382, 2097150, 268435454} {
		if before-len(p.data) > limit {
			size++
		}
	}
	if p.has(size) {
		p.data = p.data[size:]
	}
	return v
}

// ziplist consumes an element of a ziplist. Each element begins with the length of the previous
// element.
func (p *packed) ziplist() []byte {
	size := 1
	if p.data[0] == 0xfe {
		size = 5
	}
	if !p.has(size + 1) {
		return nil
	}
	p.data = p.data[size:]
	switch c := p.data[0]; {
	case c < 0x40:
		return p.string(1, int(c))
	case c < 0x80:
		if p.has(2) {
			return p.string(2, int(c&0x3f)<<8|int(p.data[1]))
		}
	case c < 0xc0:
		if p.has(5) {
			return p.string(5, int(binary.BigEndian.Uint32(p.data[1:])))
		}
	case c == 0xc0:
		return p.integer(1, 2)
	case c == 0xd0:
		return p.integer(1, 4)
	case c == 0xe0:
		return p.integer(1, 8)
	case c == 0xf0:
		return p.integer(1, 3)
	case c == 0xfe:
		return p.integer(1, 1)
	case c > 0xf0 && c < 0xfe:
		p.data = p.data[1:]
		return p.decimal(int64(c&0xf) - 1)
	}
	p.bad = true
	return nil
}

// zipmap consumes a key or a value of a zipmap.
func (p *packed) zipmap() []byte {
	n, header := int(p.data[0]), 1
	if n == 254 && p.has(5) {
		n, header = int(binary.LittleEndian.Uint32(p.data[1:])), 5
	}
	spare := 0
	if p.value && p.has(header+1) {
		spare = int(p.data[header])
		header++
	}
	p.value = !p.value
	v := p.string(header, n)
	if p.has(spare) {
		p.data = p.data[spare:]
	}
	return v
}
