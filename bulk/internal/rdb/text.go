package rdb

import (
	"encoding/binary"
	"math"
	"strconv"
)

// The encodings of a string whose length has the two highest bits set.
const (
	encodedInt8 = iota
	encodedInt16
	encodedInt32
	encodedLZF
)

// textReader reads numbers and strings.
type textReader struct{ r *Reader }

func (r *Reader) text() textReader { return textReader{r} }

// length reads a length. With encoded, it is the encoding of a string.
func (tx textReader) length() (n uint64, encoded bool) {
	switch first := tx.r.in.byte(); {
	case first < 0x40:
		return uint64(first), false
	case first < 0x80:
		return uint64(first&0x3f)<<8 | uint64(tx.r.in.byte()), false
	case first == 0x80:
		return uint64(binary.BigEndian.Uint32(tx.r.in.next(4))), false
	case first == 0x81:
		return binary.BigEndian.Uint64(tx.r.in.next(8)), false
	case first >= 0xc0:
		return uint64(first & 0x3f), true
	}
	tx.r.damaged("expected a length")
	return 0, false
}

// number reads a length that is not a string's.
func (tx textReader) number() uint64 {
	n, encoded := tx.length()
	if encoded {
		tx.r.damaged("expected a number, found an encoded string")
		return 0
	}
	return n
}

// appendText appends a string to dst.
func (tx textReader) appendText(dst []byte) []byte {
	n, encoded := tx.length()
	if !encoded {
		if n > maxString {
			tx.tooLong(n, n)
			return dst
		}
		return tx.r.in.append(dst, n)
	}
	switch n {
	case encodedInt8:
		return strconv.AppendInt(dst, int64(int8(tx.r.in.byte())), 10)
	case encodedInt16:
		return strconv.AppendInt(dst, int64(int16(binary.LittleEndian.Uint16(tx.r.in.next(2)))), 10)
	case encodedInt32:
		return strconv.AppendInt(dst, int64(int32(tx.r.in.uint32())), 10)
	case encodedLZF:
		return tx.decompress(dst)
	}
	tx.r.damaged("there is no encoding %d of strings", n)
	return dst
}

// reuse returns an empty buffer, without the memory of a large value.
func reuse(b []byte) []byte {
	if cap(b) > maxKept {
		return nil
	}
	return b[:0]
}

// decompress appends a compressed string.
func (tx textReader) decompress(dst []byte) []byte {
	packed, size := tx.number(), tx.number()
	if size > maxString || packed > maxString {
		tx.tooLong(packed, size)
		return dst
	}
	tx.r.compressed = tx.r.in.append(reuse(tx.r.compressed), packed)
	if tx.r.in.err != nil {
		return dst
	}
	dst, ok := appendLZF(dst, tx.r.compressed, int(size))
	if !ok {
		tx.r.fault("a compressed string is damaged")
	}
	return dst
}

// tooLong skips a string that no command can contain.
func (tx textReader) tooLong(stored, size uint64) {
	tx.r.in.skip(stored)
	tx.r.fault("it has a string of " + strconv.FormatUint(size, 10) + " bytes; by default a server accepts at most 512 MiB in a command")
}

// skipText skips a string.
func (tx textReader) skipText() {
	n, encoded := tx.length()
	if encoded {
		switch n {
		case encodedInt8, encodedInt16, encodedInt32:
			n = 1 << n
		case encodedLZF:
			n = tx.number()
			tx.number()
		default:
			tx.r.damaged("there is no encoding %d of strings", n)
			return
		}
	}
	tx.r.in.skip(n)
}

// appendFloat appends a score as it was stored before RDB 8: as text.
func (tx textReader) appendFloat(dst []byte) []byte {
	switch n := tx.r.in.byte(); n {
	case 253:
		tx.r.fault("a score is not a number")
		return dst
	case 254:
		return append(dst, "+inf"...)
	case 255:
		return append(dst, "-inf"...)
	default:
		return tx.r.in.append(dst, uint64(n))
	}
}

// appendBinaryFloat appends a score of eight bytes as text of the same value.
func (tx textReader) appendBinaryFloat(dst []byte) []byte {
	v := math.Float64frombits(tx.r.in.uint64())
	switch {
	case math.IsNaN(v):
		tx.r.fault("a score is not a number")
	case math.IsInf(v, 1):
		return append(dst, "+inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

// appendLZF appends the size bytes that were compressed by LZF, and reports whether these
// were all. It grows dst only with what it decompresses.
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
		for n > 0 { // the parts may overlap
			part := min(n, len(dst)-from)
			dst = append(dst, dst[from:from+part]...)
			n -= part
		}
	}
	return dst, len(dst)-begin == size
}

// id is the id of a message in a stream.
type id struct{ ms, seq uint64 }

// rawID reads an id of 16 bytes.
func (tx textReader) rawID() id {
	b := tx.r.in.next(16)
	return id{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
}

// id reads an id of two lengths.
func (tx textReader) id() id { return id{tx.number(), tx.number()} }
