package query

import (
	"encoding/binary"

	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

// pack encodes a query with an access path for select.lua, and returns the sets of values that the
// script needs. If within is not nil, the script returns the position of each record in that order.
func (f *executor) pack(src *accessPath, part *schema.Partition, within *orderedIndex) (packed string, sets []schema.Entry) {
	kind, number, many := "a", 0, false // select.lua describes the kinds
	switch {
	case src.members != nil:
		kind = "i"
	case src.x == nil:
	case part == nil:
		kind, number, many = "i", src.x.Number, src.once
	case src.x.Unique:
		kind, number, many = "u", src.x.Number, src.once
	default:
		kind, number, many = "z", src.x.Number, src.once
	}
	left := src.residual(f.e)
	filter, groups := split(left)
	b := schema.PackList(nil, 11)
	b = schema.PackText(b, kind)
	b = schema.PackInt(b, flag(f.reverse && !f.sorted))
	b = schema.PackInt(b, flag(f.t.Schema.Expires >= 0))
	b = schema.PackInt(b, int64(number))
	b = packEndings(b, src.x, -1)
	b = filter.packFilter(b)
	switch {
	case many && src.single:
		b = packValues(b, src.ranges)
	case many:
		b = packRanges(b, src.ranges)
	default:
		b = schema.PackList(b, 0)
	}
	switch {
	case within == nil:
		b = schema.PackList(schema.PackInt(b, 0), 0)
	case within.x == nil:
		b = schema.PackList(append(b, 0xff), 0) // -1
	default:
		b = packRanges(schema.PackInt(b, int64(within.x.Number)), within.ranges)
	}
	b = packBuilt(f.t, b, src, left, within)
	b = schema.PackList(b, 2*(len(src.groups)+len(groups)))
	for _, g := range src.groups {
		b = schema.PackInt(schema.PackText(b, "scan"), int64(len(g.sets)))
		sets = append(sets, g.sets...)
	}
	for _, g := range groups {
		word := "in"
		if g.not {
			word = "out"
		}
		b = schema.PackInt(schema.PackText(b, word), int64(len(g.sets)))
		sets = append(sets, g.sets...)
	}
	return string(b), sets
}

// packBuilt encodes which fields of the hash meta must exist: a field for each index that the query
// needs.
func packBuilt(t *record.Table, b []byte, src *accessPath, left *expr, within *orderedIndex) []byte {
	used := left.appendIndexes(nil)
	if src.x != nil {
		used = append(used, src.x)
	}
	for _, c := range src.consumed {
		used = c.appendIndexes(used)
	}
	if within != nil && within.x != nil {
		used = append(used, within.x)
	}
	b = schema.PackList(b, len(used))
	for _, x := range used {
		b = schema.PackText(b, "built:"+x.Identity(t.Schema))
	}
	return b
}

// flag returns 1 for true, and 0 for false.
func flag(set bool) int64 {
	if set {
		return 1
	}
	return 0
}

// packEndings encodes the widths or terminators of the first columns of an index. columns is the
// number of these columns; -1 means all.
func packEndings(b []byte, x *schema.Index, columns int) []byte {
	if x == nil || x.Plain() {
		return schema.PackList(b, 0)
	}
	if columns < 0 {
		columns = len(x.Columns)
	}
	b = schema.PackList(b, columns)
	for i := range columns {
		if width, terminator := x.Encoding[i].Ending(); width > 0 {
			b = schema.PackInt(b, int64(width))
		} else {
			b = schema.PackText(b, terminator)
		}
	}
	return b
}

// packValues encodes single values as a map, in which a script can look up a value directly.
func packValues(b []byte, ranges []schema.Range) []byte {
	b = binary.BigEndian.AppendUint16(append(b, 0xde), uint16(len(ranges)))
	for _, s := range ranges {
		b = append(schema.PackText(b, s.Low), 0xc3) // true
	}
	return b
}

// packRanges encodes ranges as a list of alternating low and high ends.
func packRanges(b []byte, ranges []schema.Range) []byte {
	b = schema.PackList(b, 2*len(ranges))
	for _, s := range ranges {
		b = schema.PackText(schema.PackText(b, s.Low), s.High)
	}
	return b
}

// packFilter encodes a condition as a list in prefix notation.
func (e *expr) packFilter(b []byte) []byte {
	if e.op == schema.OpAnd && len(e.terms) == 0 {
		return schema.PackList(b, 0)
	}
	words, n := e.packWords(nil, 0)
	return append(packLongList(b, n), words...)
}

// packLongList appends the header of a list with a 32-bit length.
func packLongList(b []byte, n int) []byte {
	return binary.BigEndian.AppendUint32(append(b, 0xdd), uint32(n))
}

// packWords appends a condition in prefix notation, and adds the number of its words to n.
func (e *expr) packWords(b []byte, n int) ([]byte, int) {
	switch e.op {
	case schema.OpAnd, schema.OpOr:
		b = schema.PackInt(schema.PackText(b, string(e.op)), int64(len(e.terms)))
		n += 2
	case schema.OpNot:
		b = schema.PackText(b, string(e.op))
		n++
	default:
		b = schema.PackInt(schema.PackText(b, "is"), int64(e.index.Number))
		b = packEndings(b, e.index, e.column)
		if e.op.Exact() && e.column == len(e.index.Columns)-1 {
			return packValues(b, e.ranges), n + 4
		}
		return packRanges(b, e.ranges), n + 4
	}
	for _, term := range e.terms {
		b, n = term.packWords(b, n)
	}
	return b, n
}
