package model

import "encoding/binary"

// packQuery writes a query as select.lua takes it, to be driven by a source.
// within is the order that its members are to be replied of, or nil.
func (f *finder) pack(src *source, part *partition, e *expr, reverse bool, within *walkable) string {
	kind, number, many := "a", 0, false
	switch {
	case src.x == nil:
	case part == nil:
		kind, number, many = "i", src.x.number, src.once
	case src.x.Unique:
		kind, number, many = "u", src.x.number, src.once
	default:
		kind, number, many = "z", src.x.number, src.once
	}
	left := src.residual(e)
	b := packList(nil, 10)
	b = packText(b, kind)
	b = packInt(b, flag(reverse))
	b = packInt(b, flag(f.t.expires >= 0))
	b = packInt(b, int64(number))
	b = packEndings(b, src.x, -1)
	b = left.packFilter(b)
	switch {
	case many && src.single:
		b = packValues(b, src.spans)
	case many:
		b = packSpans(b, src.spans)
	default:
		b = packList(b, 0)
	}
	if within != nil {
		b = packSpans(packInt(b, int64(within.x.number)), within.spans)
	} else {
		b = packList(packInt(b, 0), 0)
	}
	return string(f.packBuilt(b, src, left, within))
}

// packBuilt writes the names of the indexes that a query needs.
func (f *finder) packBuilt(b []byte, src *source, left *expr, within *walkable) []byte {
	used := left.indexes(nil)
	if src.x != nil {
		used = append(used, src.x)
	}
	if within != nil {
		used = append(used, within.x)
	}
	b = packList(b, len(used))
	for _, x := range used {
		b = packText(b, "built:"+x.identity(f.t.schema))
	}
	return b
}

func flag(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// packEndings writes how the first columns of an index end; -1: all.
func packEndings(b []byte, x *indexSpec, columns int) []byte {
	if x == nil || x.plainUnique() {
		return packList(b, 0)
	}
	if columns < 0 {
		columns = len(x.Columns)
	}
	b = packList(b, columns)
	for i := range columns {
		if width, terminator := x.encoding[i].Ending(); width > 0 {
			b = packInt(b, int64(width))
		} else {
			b = packText(b, terminator)
		}
	}
	return b
}

// packValues writes spans of single values as a map from these, as a script finds a
// value in it at once.
func packValues(b []byte, spans []span) []byte {
	b = binary.BigEndian.AppendUint16(append(b, 0xde), uint16(len(spans)))
	for _, s := range spans {
		b = append(packText(b, s.low), 0xc3) // true
	}
	return b
}

func packSpans(b []byte, spans []span) []byte {
	b = packList(b, 2*len(spans))
	for _, s := range spans {
		b = packText(packText(b, s.low), s.high)
	}
	return b
}

// packFilter writes a condition as a list in which each stands before its parts.
func (e *expr) packFilter(b []byte) []byte {
	if e.op == opAnd && len(e.kids) == 0 {
		return packList(b, 0)
	}
	words, n := e.packWords(nil, 0)
	return append(packLongList(b, n), words...)
}

func packLongList(b []byte, n int) []byte {
	return binary.BigEndian.AppendUint32(append(b, 0xdd), uint32(n))
}

func (e *expr) packWords(b []byte, n int) ([]byte, int) {
	switch e.op {
	case opAnd, opOr:
		b = packInt(packText(b, string(e.op)), int64(len(e.kids)))
		n += 2
	case opNot:
		b = packText(b, string(e.op))
		n++
	default:
		b = packInt(packText(b, "is"), int64(e.home.number))
		b = packEndings(b, e.home, e.column)
		if e.op.exact() && e.column == len(e.home.Columns)-1 {
			return packValues(b, e.within), n + 4
		}
		return packSpans(b, e.within), n + 4
	}
	for _, kid := range e.kids {
		b, n = kid.packWords(b, n)
	}
	return b, n
}
