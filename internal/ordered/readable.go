package ordered

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"retwis/index/decimal"
)

// The readable encoding of a column is text that ends with a colon, with numbers
// padded with zeros, as in the tutorial. Negative numbers, which the tutorial leaves
// out, have a minus, which sorts before the digits, and the nines' complement.
// It exists to open and adopt such indexes; new ones are binary.

// readableTime has a fixed width.
const readableTime = "2006-01-02T15:04:05.000000000Z"

// asReadable returns the codec that writes text.
func (k Codec) asReadable() (Codec, error) {
	if k.Desc {
		return k, errors.New("a readable index has no descending columns")
	}
	switch k.Type {
	case Int, Uint, Decimal:
		k.width = 0 // a minus more, or not
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

// appendPadded appends a number with a fixed number of digits, and a point.
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

// complement inverts the order of digits: the nines' complement.
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
