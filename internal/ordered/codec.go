package ordered

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"retwis/index/decimal"
)

// Codec encodes the values of one column.
type Codec struct {
	Column
	readable bool
	width    int // in bytes; 0: ends with a terminator
	low      *big.Int
	high     *big.Int // limits of a BigInt, or of a Decimal in units of its last digit
}

// Strings end with a terminator. Zero bytes are escaped, so that the terminator sorts before
// any byte that a longer string has in its place: "a" < "a\x00" < "ab".
const (
	escapeByte  = 0x00
	escapedZero = 0xff
	terminator  = 0x01
)

// NewCodec returns the codec of a column.
func NewCodec(c Column) (Codec, error) { return newCodec(c, false) }

func newCodec(c Column, readable bool) (Codec, error) {
	c, err := c.Normalize()
	if err != nil {
		return Codec{}, err
	}
	k := Codec{Column: c, readable: readable}
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
		return k.asReadable()
	}
	return k, nil
}

// Ending tells scripts where the bytes of a value end: after width bytes or, if width is 0, at
// a terminator. The first byte of terminator is the escape byte, and the second ends the value
// if it follows the first. If there is a third byte, the second ends the value by itself.
func (k *Codec) Ending() (width int, terminator string) { return k.width, k.terminator() }

func (k *Codec) terminator() string {
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

// Append appends the bytes of a value.
func (k *Codec) Append(b []byte, v any) ([]byte, error) {
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

func (k *Codec) ascending(b []byte, v any) ([]byte, error) {
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
		v, err := toBool(v)
		if v {
			return append(b, 1), err
		}
		return append(b, 0), err
	case Int:
		n, err := k.toInt(v)
		return binary.BigEndian.AppendUint64(b, uint64(n)^1<<63), err
	case Uint:
		n, err := k.toUint(v)
		return binary.BigEndian.AppendUint64(b, n), err
	case Float:
		f, err := ToFloat(v)
		return binary.BigEndian.AppendUint64(b, FloatBits(f)), err
	case Time:
		t, err := ToTime(v)
		b = binary.BigEndian.AppendUint64(b, uint64(t.Unix())^1<<63)
		return binary.BigEndian.AppendUint32(b, uint32(t.Nanosecond())), err
	}
	n, err := k.big(v)
	if err != nil {
		return nil, err
	}
	return k.appendBig(b, n), nil
}

// big returns the value of a BigInt, or the units of a Decimal.
func (k *Codec) big(v any) (*big.Int, error) {
	if k.Type == Decimal {
		d, err := k.toDecimal(v)
		if err != nil {
			return nil, err
		}
		n := d.Units()
		if n.Cmp(k.low) < 0 || n.Cmp(k.high) > 0 {
			return nil, fmt.Errorf("%s has more than %d digits before the point", shorten(d.String()), k.Digits-k.Scale)
		}
		return n, nil
	}
	d, err := anyInteger(v)
	if err != nil {
		return nil, err
	}
	n := d.Units()
	if n.Cmp(k.low) < 0 || n.Cmp(k.high) > 0 {
		return nil, fmt.Errorf("it has more than %d bits", k.Bits)
	}
	return n, nil
}

// appendBig appends a number as width bytes with the sign bit inverted.
func (k *Codec) appendBig(b []byte, n *big.Int) []byte {
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

// AppendPrefix appends the bytes with which all values of a String or Bytes column start that have
// the given prefix.
func (k *Codec) AppendPrefix(b []byte, prefix string) []byte {
	begin := len(b)
	if k.readable {
		b = appendReadableText(b, prefix)
	} else {
		b = appendEscaped(b, prefix)
	}
	if k.Desc {
		invert(b[begin:])
	}
	return b
}

var errNaN = errors.New("it is not a number")

var errShort = errors.New("it ends within a column")

// Cut splits s after the encoded value at its start.
func (k *Codec) Cut(s string) (value, rest string, err error) {
	if k.width > 0 {
		if len(s) < k.width {
			return "", "", errShort
		}
		return s[:k.width], s[k.width:], nil
	}
	escape := k.terminator()
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

// Value decodes the bytes of a value.
func (k *Codec) Value(s string) (any, error) {
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
		f := FloatFromBits(number(s))
		if math.IsNaN(f) {
			return nil, errNaN
		}
		return f, nil
	case Time:
		return time.Unix(int64(number(s[:8])^1<<63), int64(number(s[8:]))).UTC(), nil
	}
	if k.Type == Decimal && k.width <= 8 {
		shift := 64 - 8*k.width // for sign extension
		return decimal.New(int64((number(s)^1<<(8*k.width-1))<<shift)>>shift, k.Scale), nil
	}
	n := new(big.Int).SetBytes([]byte(s))
	n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*k.width-1)))
	if k.Type == BigInt {
		return n, nil
	}
	return decimal.NewBig(n, k.Scale), nil
}

// number reads bytes in big-endian order.
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

// asReadable returns the codec that writes text.
func (k Codec) asReadable() (Codec, error) {
	if k.Desc {
		return k, errors.New("a readable index has no descending columns")
	}
	switch k.Type {
	case Int, Uint, Decimal:
		k.width = 0 // with or without a minus sign
	case Bool:
		k.width = len("0:")
	case Time:
		k.width = len(readableTime) + 1
	case Float, BigInt:
		return k, fmt.Errorf("a readable index has no %s", k.Type)
	}
	return k, nil
}

func (k *Codec) appendReadable(b []byte, v any) ([]byte, error) {
	switch k.Type {
	case String, Bytes:
		s, err := toText(v)
		if err != nil {
			return nil, err
		}
		return append(appendReadableText(b, s), readableEnd), nil
	case Bool:
		v, err := toBool(v)
		if v {
			return append(b, '1', readableEnd), err
		}
		return append(b, '0', readableEnd), err
	case Time:
		t, err := ToTime(v)
		if err != nil {
			return nil, err
		}
		if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
			return nil, fmt.Errorf("the year %d does not have four digits", t.Year())
		}
		return append(t.AppendFormat(b, readableTime), readableEnd), nil
	}
	n, err := k.readableNumber(v)
	if err != nil {
		return nil, err
	}
	return append(appendPadded(b, n, k.Digits, k.Scale), readableEnd), nil
}

func (k *Codec) readableNumber(v any) (*big.Int, error) {
	switch k.Type {
	case Int:
		n, err := k.toInt(v)
		return big.NewInt(n), err
	case Uint:
		n, err := k.toUint(v)
		return new(big.Int).SetUint64(n), err
	}
	return k.big(v)
}

// readableValue undoes appendReadable.
func (k *Codec) readableValue(s string) (any, error) {
	s = s[:len(s)-1]
	switch k.Type {
	case String, Bytes:
		var b []byte
		for i := 0; i < len(s); i++ {
			if s[i] == readableEscape {
				i++
			}
			b = append(b, s[i])
		}
		if k.Type == Bytes {
			return b, nil
		}
		return string(b), nil
	case Bool:
		return s == "1", nil
	case Time:
		return time.Parse(readableTime, s)
	}
	digits := []byte(strings.Replace(strings.TrimPrefix(s, "-"), ".", "", 1))
	if len(digits) != k.Digits || strings.Trim(string(digits), "0123456789") != "" {
		return nil, errors.New("it is not a padded number")
	}
	if s[0] == '-' {
		complement(digits)
	}
	n, _ := new(big.Int).SetString(string(digits), 10)
	if s[0] == '-' {
		n.Neg(n)
	}
	switch k.Type {
	case Int:
		return strconv.ParseInt(n.String(), 10, 64)
	case Uint:
		return strconv.ParseUint(n.String(), 10, 64)
	}
	return decimal.NewBig(n, k.Scale), nil
}
