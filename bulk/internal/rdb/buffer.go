package rdb

import (
	"encoding/binary"
	"errors"
	"hash/crc64"
	"io"
	"math/bits"
)

const (
	bufferSize = 256 << 10
	// maxString is the longest command argument that a server accepts by default.
	maxString = 512 << 20
	// maxKept limits the size of a buffer that is reused.
	maxKept = 1 << 20
)

// buffer reads a snapshot. It keeps its first error. After an error, all methods return zero
// values, so callers check err once per value.
type buffer struct {
	r      io.Reader
	buf    []byte
	pos    int    // index of the next byte in buf
	end    int    // number of bytes in buf
	summed int    // number of bytes in buf that are included in sum
	base   int64  // offset of buf[0] in the input
	sum    uint64 // CRC-64 of the input before buf[summed]
	err    error
}

// jones is the table for the polynomial of the server's CRC-64.
var jones = crc64.MakeTable(bits.Reverse64(0xad93d23594c935a9))

// checksum adds bytes to a sum. Unlike Go's CRC-64, the server's CRC-64 does not invert the sum.
func checksum(sum uint64, data []byte) uint64 { return ^crc64.Update(^sum, jones, data) }

// offset returns the offset of the next byte in the input.
func (b *buffer) offset() int64 { return b.base + int64(b.pos) }

// updateSum adds the consumed bytes to the checksum and returns it.
func (b *buffer) updateSum() uint64 {
	b.sum = checksum(b.sum, b.buf[b.summed:b.pos])
	b.summed = b.pos
	return b.sum
}

// fill reads until the buffer has n unread bytes. n must not exceed the size of the buffer.
func (b *buffer) fill(n int) bool {
	if b.err != nil {
		return false
	}
	if b.pos+n > len(b.buf) {
		b.updateSum()
		b.base += int64(b.pos)
		b.end = copy(b.buf, b.buf[b.pos:b.end])
		b.pos, b.summed = 0, 0
	}
	for b.end-b.pos < n {
		got, err := b.r.Read(b.buf[b.end:])
		b.end += got
		if err != nil && b.end-b.pos < n {
			if b.err = err; errors.Is(err, io.EOF) {
				b.err = io.ErrUnexpectedEOF
			}
			return false
		}
	}
	return true
}

// next returns the next n bytes, valid until the following call. n must not exceed the size of the
// buffer.
func (b *buffer) next(n int) []byte {
	if b.end-b.pos < n && !b.fill(n) {
		return make([]byte, n)
	}
	b.pos += n
	return b.buf[b.pos-n : b.pos]
}

func (b *buffer) byte() byte {
	if b.err != nil || b.pos == b.end && !b.fill(1) {
		return 0
	}
	b.pos++
	return b.buf[b.pos-1]
}

func (b *buffer) uint32() uint32 { return binary.LittleEndian.Uint32(b.next(4)) }
func (b *buffer) uint64() uint64 { return binary.LittleEndian.Uint64(b.next(8)) }

// append appends the next n bytes to dst. dst grows only by bytes that were read.
func (b *buffer) append(dst []byte, n uint64) []byte {
	for n > 0 {
		if b.err != nil || b.pos == b.end && !b.fill(1) {
			return dst
		}
		part := int(min(n, uint64(b.end-b.pos)))
		dst = append(dst, b.buf[b.pos:b.pos+part]...)
		b.pos += part
		n -= uint64(part)
	}
	return dst
}

// skip skips n bytes.
func (b *buffer) skip(n uint64) {
	for n > 0 && b.err == nil && (b.pos < b.end || b.fill(1)) {
		part := int(min(n, uint64(b.end-b.pos)))
		b.pos += part
		n -= uint64(part)
	}
}

// rest returns a reader of the remaining input.
func (b *buffer) rest() io.Reader { return &restReader{b} }

type restReader struct{ b *buffer }

func (r *restReader) Read(p []byte) (int, error) {
	if b := r.b; b.pos < b.end {
		n := copy(p, b.buf[b.pos:b.end])
		b.pos += n
		return n, nil
	}
	return r.b.r.Read(p)
}
