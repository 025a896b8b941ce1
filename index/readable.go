package index

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// A readable column is text that ends with a colon: numbers padded with zeros, as
// in the tutorial. What is not there is how to order negative numbers: they have
// a minus, which sorts before the digits, and the nines' complement of theirs.

// readableTime always has the same width.
const readableTime = "2006-01-02T15:04:05.000000000Z"

// madeReadable is the codec of the readable mode.
func (k codec) madeReadable() (codec, error) {
	if k.Desc {
		return k, fmt.Errorf("column %s: a readable index has no descending columns: read it with Reverse, or leave Readable out", k.Name)
	}
	switch k.Type {
	case Int, Uint, Decimal:
		k.width = 0 // a minus more, or not
	case Bool:
		k.width = len("0:")
	case Time:
		k.width = len(readableTime) + 1
	case Float, BigInt:
		return k, fmt.Errorf("column %s: a readable index has no %s: use int or decimal, or leave Readable out", k.Name, k.Type)
	}
	return k, nil
}

func (k *codec) appendReadable(b []byte, v any) ([]byte, error) {
	switch k.Type {
	case String, Bytes:
		s, err := toText(v)
		if err != nil {
			return nil, err
		}
		return append(appendReadableText(b, s), readableEnd), nil
	case Bool:
		v, ok := v.(bool)
		if !ok {
			return nil, wrongType(v, "a bool")
		}
		if v {
			return append(b, '1', readableEnd), nil
		}
		return append(b, '0', readableEnd), nil
	case Time:
		t, ok := v.(time.Time)
		if !ok {
			return nil, wrongType(v, "a time.Time")
		}
		if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
			return nil, fmt.Errorf("the year %d has no four digits", t.Year())
		}
		return append(t.AppendFormat(b, readableTime), readableEnd), nil
	}
	n, err := k.readableNumber(v)
	if err != nil {
		return nil, err
	}
	return append(appendPadded(b, n, k.Digits, k.Scale), readableEnd), nil
}

func (k *codec) readableNumber(v any) (*big.Int, error) {
	switch k.Type {
	case Int:
		n, err := k.int(v)
		return big.NewInt(n), err
	case Uint:
		n, err := k.uint(v)
		return new(big.Int).SetUint64(n), err
	}
	return k.big(v)
}

// appendPadded appends a number of so many digits, with a point.
func appendPadded(b []byte, n *big.Int, digits, scale int) []byte {
	text := []byte(new(big.Int).Abs(n).String())
	padded := append([]byte(strings.Repeat("0", max(0, digits-len(text)))), text...)
	if n.Sign() < 0 {
		b = append(b, '-')
		complement(padded)
	}
	b = append(b, padded[:len(padded)-scale]...)
	if scale > 0 {
		b = append(append(b, '.'), padded[len(padded)-scale:]...)
	}
	return b
}

// complement turns digits around: the greatest comes first.
func complement(digits []byte) {
	for i, d := range digits {
		digits[i] = '0' + '9' - d
	}
}

func appendReadableText(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] <= readableEscape {
			b = append(b, readableEscape)
		}
		b = append(b, s[i])
	}
	return b
}

// readableValue undoes appendReadable.
func (k *codec) readableValue(s string) (any, error) {
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
	return decimalText(n, k.Scale), nil
}
