// Package ordered encodes typed values as bytes that sort as the values do, so that a sorted
// set, which compares bytes, keeps them in order.
//
// A [Codec] encodes the values of one column, and an [Encoding] the values of several columns, one
// after the other. The encoding of a value is never a prefix of the encoding of another value of the
// same column, so an id can follow a value. All packages use the rule of [Column] for the values
// that a column accepts.
//
// Integers are big endian with the sign bit inverted, floats are the result of [FloatBits], and
// strings end with a terminator and escape zero bytes, as in FoundationDB's tuples. All bytes of a
// descending column are inverted.
package ordered

import (
	"errors"
	"fmt"
)

// ErrValue is returned for a value that a column cannot hold or cannot order
// exactly.
var ErrValue = errors.New("invalid value")

// Type is the type of the values of a column.
type Type string

// The types of columns. See index.Type for their Go types.
const (
	String  Type = "string"
	Bytes   Type = "bytes"
	Bool    Type = "bool"
	Int     Type = "int"
	Uint    Type = "uint"
	Float   Type = "float"
	Time    Type = "time"
	BigInt  Type = "bigint"
	Decimal Type = "decimal"
)

// Column describes the values of a column.
//
// A column accepts values of its Go type, text that Parse reads, and, if the column holds numbers,
// every Go number that it can hold exactly. Other values are an ErrValue.
type Column struct {
	Name   string // for errors
	Type   Type
	Digits int // maximum decimal digits of an Int, Uint or Decimal; 0: the default
	Scale  int // digits of a Decimal after the point
	Bits   int // width of a BigInt, a multiple of 8; 0: the default
	Desc   bool
}

// Defaults and limits of a Column.
const (
	DefaultDecimal = 18 // digits
	DefaultInt     = 19
	DefaultUint    = 20
	DefaultBits    = 256

	maxDigits = 1000
	maxBits   = 4096
)

// Normalize validates a column and sets the defaults.
func (c Column) Normalize() (Column, error) {
	switch c.Type {
	case Int:
		c.Digits = orDefault(c.Digits, DefaultInt)
		if c.Digits < 1 || c.Digits > DefaultInt {
			return c, fmt.Errorf("an int has from 1 to %d digits, not %d", DefaultInt, c.Digits)
		}
	case Uint:
		c.Digits = orDefault(c.Digits, DefaultUint)
		if c.Digits < 1 || c.Digits > DefaultUint {
			return c, fmt.Errorf("a uint has from 1 to %d digits, not %d", DefaultUint, c.Digits)
		}
	case Decimal:
		c.Digits = orDefault(c.Digits, DefaultDecimal)
		if c.Digits < 1 || c.Digits > maxDigits || c.Scale < 0 || c.Scale > c.Digits {
			return c, fmt.Errorf("a decimal has from 1 to %d digits, and no more than these after the point: not (%d,%d)", maxDigits, c.Digits, c.Scale)
		}
	case BigInt:
		c.Bits = orDefault(c.Bits, DefaultBits)
		if c.Bits < 8 || c.Bits > maxBits || c.Bits%8 != 0 {
			return c, fmt.Errorf("a bigint has from 8 to %d bits, a multiple of 8, not %d", maxBits, c.Bits)
		}
	case String, Bytes, Bool, Float, Time:
	default:
		return c, fmt.Errorf("%q is not a type: use string, bytes, bool, int, uint, float, time, bigint or decimal", c.Type)
	}
	return c, nil
}

func orDefault(n, fallback int) int {
	if n == 0 {
		return fallback
	}
	return n
}

// Successor returns the smallest string greater than all strings with the prefix p, or "" if
// there is none.
func Successor(p string) string {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] != 0xff {
			return p[:i] + string([]byte{p[i] + 1})
		}
	}
	return ""
}
