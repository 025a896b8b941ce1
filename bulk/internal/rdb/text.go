package rdb

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Encodings of a string whose length has its two highest bits set.
const (
	encodedInt8 = iota
	encodedInt16
	encodedInt32
	encodedLZF
)

// length reads a length. If encoded is true, n is a string encoding instead.
func (r *Reader) length() (n uint64, encoded bool) {
	switch first := r.in.byte(); {
	case first < 0x40:
		return uint64(first), false
	case first < 0x80:
		return uint64(first&0x3f)<<8 | uint64(r.in.byte()), false
	case first == 0x80:
		return uint64(binary.BigEndian.Uint32(r.in.next(4))), false
	case first == 0x81:
		return binary.BigEndian.Uint64(r.in.next(8)), false
	case first >= 0xc0:
		return uint64(first & 0x3f), true
	}
	r.damaged("expected a length")
	return 0, false
}

// number reads a length that must not be a string encoding.
func (r *Reader) number() uint64 {
	n, encoded := r.length()
	if encoded {
		r.damaged("expected a number, found an encoded string")
		return 0
	}
	return n
}

// appendText appends a string to dst.
func (r *Reader) appendText(dst []byte) []byte {
	n, encoded := r.length()
	if !encoded {
		if n > maxString {
			r.tooLong(n, n)
			return dst
		}
		return r.in.append(dst, n)
	}
	switch n {
	case encodedInt8:
		return strconv.AppendInt(dst, int64(int8(r.in.byte())), 10)
	case encodedInt16:
		return strconv.AppendInt(dst, int64(int16(binary.LittleEndian.Uint16(r.in.next(2)))), 10)
	case encodedInt32:
		return strconv.AppendInt(dst, int64(int32(r.in.uint32())), 10)
	case encodedLZF:
		return r.decompress(dst)
	}
	r.damaged("there is no encoding %d of strings", n)
	return dst
}

// reuse returns an empty buffer that reuses the memory of b, unless b is large.
func reuse(b []byte) []byte {
	if cap(b) > maxKept {
		return nil
	}
	return b[:0]
}

// decompress appends a compressed string.
func (r *Reader) decompress(dst []byte) []byte {
	packed, size := r.number(), r.number()
	if size > maxString || packed > maxString {
		r.tooLong(packed, size)
		return dst
	}
	r.compressed = r.in.append(reuse(r.compressed), packed)
	if r.in.err != nil {
		return dst
	}
	dst, ok := appendLZF(dst, r.compressed, int(size))
	if !ok {
		r.fault("a compressed string is damaged")
	}
	return dst
}

// tooLong skips a string that is too long for an argument, and marks the key as one that cannot be
// loaded.
func (r *Reader) tooLong(stored, size uint64) {
	r.in.skip(stored)
	r.fault("it has a string of " + strconv.FormatUint(size, 10) + " bytes; by default a server accepts at most 512 MiB in an argument (proto-max-bulk-len)")
}

// skipText skips a string.
func (r *Reader) skipText() {
	n, encoded := r.length()
	if encoded {
		switch n {
		case encodedInt8, encodedInt16, encodedInt32:
			n = 1 << n
		case encodedLZF:
			n = r.number()
			r.number()
		default:
			r.damaged("there is no encoding %d of strings", n)
			return
		}
	}
	r.in.skip(n)
}

// appendFloat appends a score stored as text, as before RDB 8.
func (r *Reader) appendFloat(dst []byte) []byte {
	switch n := r.in.byte(); n {
	case 253:
		r.fault("a score is not a number")
		return dst
	case 254:
		return append(dst, "+inf"...)
	case 255:
		return append(dst, "-inf"...)
	default:
		return r.in.append(dst, uint64(n))
	}
}

// appendBinaryFloat appends a score stored in eight bytes as text with the same value.
func (r *Reader) appendBinaryFloat(dst []byte) []byte {
	v := math.Float64frombits(r.in.uint64())
	switch {
	case math.IsNaN(v):
		r.fault("a score is not a number")
	case math.IsInf(v, 1):
		return append(dst, "+inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

// appendLZF appends LZF data, decompressed, and reports whether the data is valid and has the given
// decompressed size. dst grows only by decompressed bytes.
func appendLZF(dst, packed []byte, size int) ([]byte, bool) {
	begin := len(dst)
	for i := 0; i < len(packed); {
		control := int(packed[i])
		i++
		if control < 32 { // literals
			n := control + 1
			if n > len(packed)-i || len(dst)-begin+n > size {
				return dst, false
			}
			dst = append(dst, packed[i:i+n]...)
			i += n
			continue
		}
		n := control >> 5
		if n == 7 {
			if i == len(packed) {
				return dst, false
			}
			n += int(packed[i])
			i++
		}
		n += 2
		if i == len(packed) {
			return dst, false
		}
		from := len(dst) - (control&31<<8 | int(packed[i])) - 1
		i++
		if from < begin || len(dst)-begin+n > size {
			return dst, false
		}
		for n > 0 { // the ranges may overlap
			part := min(n, len(dst)-from)
			dst = append(dst, dst[from:from+part]...)
			n -= part
		}
	}
	return dst, len(dst)-begin == size
}

// id is the ID of a stream entry.
type id struct{ ms, seq uint64 }

// rawID reads an ID of 16 bytes.
func (r *Reader) rawID() id {
	b := r.in.next(16)
	return id{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
}

// id reads an ID of two lengths.
func (r *Reader) id() id { return id{r.number(), r.number()} }
