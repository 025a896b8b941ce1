package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"
)

// codec turns the values of a column into bytes whose order is that of the
// values, and back. The bytes of a value are never the beginning of those of
// another.
type codec struct {
	Column
	readable bool
	width    int // in bytes; 0: up to a terminator
	low      *big.Int
	high     *big.Int // of a BigInt or Decimal, in units of its last digit
}

// How strings end. The byte 0 is escaped, so that a terminator sorts before all
// that may stand in its place: "a" before "a\x00" before "ab".
const (
	escapeByte  = 0x00
	escapedZero = 0xff
	terminator  = 0x01
)

// How readable strings end: at the colon of the tutorial. What would sort before
// the colon, and the colon, are escaped.
const (
	readableEnd    = ':'
	readableEscape = ';'
)

func newCodec(c Column, readable bool) (codec, error) {
	k := codec{Column: c, readable: readable}
	one := big.NewInt(1)
	switch c.Type {
	case Decimal:
		k.high = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.Digits)), nil)
		k.high.Sub(k.high, one)
		k.low = new(big.Int).Neg(k.high)
		k.width = k.high.BitLen()/8 + 1
	case BigInt:
		k.high = new(big.Int).Lsh(one, uint(c.Bits-1))
		k.low = new(big.Int).Neg(k.high)
		k.high = new(big.Int).Sub(k.high, one)
		k.width = c.Bits / 8
	case Int, Uint, Float:
		k.width = 8
	case Bool:
		k.width = 1
	case Time:
		k.width = 12
	}
	if readable {
		return k.madeReadable()
	}
	return k, nil
}

// escape is how sift.lua finds the end of a column without a width.
func (k *codec) escape() string {
	switch {
	case k.width > 0:
		return ""
	case k.readable:
		return string([]byte{readableEscape, readableEnd, 'p'})
	case k.Desc:
		return string([]byte{escapeByte ^ 0xff, terminator ^ 0xff})
	}
	return string([]byte{escapeByte, terminator})
}

// append appends the bytes of a value.
func (k *codec) append(b []byte, v any) ([]byte, error) {
	begin := len(b)
	b, err := k.ascending(b, v)
	if err != nil {
		return nil, fmt.Errorf("%w: column %s: %w", ErrValue, k.Name, err)
	}
	if k.Desc {
		invert(b[begin:])
	}
	return b, nil
}

func invert(b []byte) {
	for i := range b {
		b[i] ^= 0xff
	}
}

func (k *codec) ascending(b []byte, v any) ([]byte, error) {
	if k.readable {
		return k.appendReadable(b, v)
	}
	switch k.Type {
	case String, Bytes:
		s, err := toText(v)
		if err != nil {
			return nil, err
		}
		return append(appendEscaped(b, s), escapeByte, terminator), nil
	case Bool:
		v, ok := v.(bool)
		if !ok {
			return nil, wrongType(v, "a bool")
		}
		if v {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	case Int:
		n, err := k.int(v)
		return binary.BigEndian.AppendUint64(b, uint64(n)^1<<63), err
	case Uint:
		n, err := k.uint(v)
		return binary.BigEndian.AppendUint64(b, n), err
	case Float:
		f, err := toFloat(v)
		return binary.BigEndian.AppendUint64(b, orderedFloat(f)), err
	case Time:
		t, ok := v.(time.Time)
		if !ok {
			return nil, wrongType(v, "a time.Time")
		}
		b = binary.BigEndian.AppendUint64(b, uint64(t.Unix())^1<<63)
		return binary.BigEndian.AppendUint32(b, uint32(t.Nanosecond())), nil
	}
	n, err := k.big(v)
	if err != nil {
		return nil, err
	}
	return k.appendBig(b, n), nil
}

// appendBig appends a number as so many bytes, its sign turned.
func (k *codec) appendBig(b []byte, n *big.Int) []byte {
	if k.width <= 8 && n.IsInt64() {
		shifted := uint64(n.Int64()) ^ 1<<(8*k.width-1)
		for i := k.width - 1; i >= 0; i-- {
			b = append(b, byte(shifted>>(8*i)))
		}
		return b
	}
	half := new(big.Int).Lsh(big.NewInt(1), uint(8*k.width-1))
	bytes := make([]byte, k.width)
	return append(b, half.Add(half, n).FillBytes(bytes)...)
}

func appendEscaped(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		b = append(b, s[i])
		if s[i] == escapeByte {
			b = append(b, escapedZero)
		}
	}
	return b
}

// orderedFloat are bits whose order is that of the floats: IEEE 754 is made so
// that it takes the turning of the sign, and of all bits of a negative one.
func orderedFloat(f float64) uint64 {
	bits := math.Float64bits(f + 0) // -0 is 0
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}

func floatOf(bits uint64) float64 {
	if bits>>63 != 0 {
		return math.Float64frombits(bits &^ (1 << 63))
	}
	return math.Float64frombits(^bits)
}

// prefix are the bytes that the values with a prefix begin with.
func (k *codec) prefix(p string) []byte {
	var b []byte
	if k.readable {
		b = appendReadableText(nil, p)
	} else {
		b = appendEscaped(nil, p)
	}
	if k.Desc {
		invert(b)
	}
	return b
}

var errShort = errors.New("it ends within a column")

// cut returns the bytes of the column at the beginning of s, and the rest.
func (k *codec) cut(s string) (value, rest string, err error) {
	if k.width > 0 {
		if len(s) < k.width {
			return "", "", errShort
		}
		return s[:k.width], s[k.width:], nil
	}
	escape := k.escape()
	for i := 0; i < len(s); i++ {
		switch {
		case k.readable && s[i] == readableEnd:
			return s[:i+1], s[i+1:], nil
		case s[i] != escape[0]:
		case !k.readable && i+1 < len(s) && s[i+1] == escape[1]:
			return s[:i+2], s[i+2:], nil
		default:
			i++
		}
	}
	return "", "", errShort
}

// value undoes append.
func (k *codec) value(s string) (any, error) {
	if k.Desc {
		b := []byte(s)
		invert(b)
		s = string(b)
	}
	if k.readable {
		return k.readableValue(s)
	}
	switch k.Type {
	case String:
		return unescaped(s[:len(s)-2])
	case Bytes:
		text, err := unescaped(s[:len(s)-2])
		return []byte(text), err
	case Bool:
		return s[0] != 0, nil
	case Int:
		return int64(number(s) ^ 1<<63), nil
	case Uint:
		return number(s), nil
	case Float:
		f := floatOf(number(s))
		if math.IsNaN(f) {
			return nil, errors.New("it is not a number")
		}
		return f, nil
	case Time:
		return time.Unix(int64(number(s[:8])^1<<63), int64(number(s[8:]))).UTC(), nil
	}
	n := new(big.Int).SetBytes([]byte(s))
	n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*k.width-1)))
	if k.Type == BigInt {
		return n, nil
	}
	return decimalText(n, k.Scale), nil
}

// number reads bytes, the greatest first.
func number(s string) uint64 {
	var n uint64
	for i := 0; i < len(s); i++ {
		n = n<<8 | uint64(s[i])
	}
	return n
}

func unescaped(s string) (string, error) {
	var b []byte
	begin := 0
	for i := 0; i < len(s); i++ {
		if s[i] != escapeByte {
			continue
		}
		if i+1 == len(s) || s[i+1] != escapedZero {
			return "", errors.New("a zero byte is not escaped")
		}
		b = append(b, s[begin:i+1]...)
		i++
		begin = i + 1
	}
	if b == nil {
		return s, nil
	}
	return string(append(b, s[begin:]...)), nil
}
