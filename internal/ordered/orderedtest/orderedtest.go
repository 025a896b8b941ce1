// Package orderedtest draws columns and values for property tests of package ordered and its
// users.
package orderedtest

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"strings"
	"time"

	"pgregory.net/rapid"

	"retwis/index/decimal"
	"retwis/internal/ordered"
)

// DrawColumn draws the declaration of a column.
func DrawColumn(t *rapid.T, name string, readable bool) ordered.Column {
	types := []ordered.Type{ordered.String, ordered.Bytes, ordered.Bool, ordered.Int, ordered.Uint, ordered.Decimal, ordered.Time, ordered.Float, ordered.BigInt}
	if readable {
		types = types[:7]
	}
	c := ordered.Column{Name: name, Type: rapid.SampledFrom(types).Draw(t, "type")}
	switch c.Type {
	case ordered.Decimal:
		c.Digits = rapid.SampledFrom([]int{1, 2, 6, 18, 19, 40}).Draw(t, "digits")
		c.Scale = rapid.IntRange(0, c.Digits).Draw(t, "scale")
	case ordered.BigInt:
		c.Bits = rapid.SampledFrom([]int{8, 64, 72, 512}).Draw(t, "bits")
	}
	c.Desc = !readable && rapid.Bool().Draw(t, "desc")
	c, err := c.Normalize()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// DrawValue draws a value of a column, often from a small range so that values repeat.
func DrawValue(t *rapid.T, c ordered.Column) any {
	sign := rapid.SampledFrom([]int64{-1, 1}).Draw(t, "sign")
	switch c.Type {
	case ordered.String:
		return DrawText(t)
	case ordered.Bytes:
		return []byte(DrawText(t))
	case ordered.Bool:
		return rapid.Bool().Draw(t, "bool")
	case ordered.Int:
		return rapid.OneOf(rapid.Int64Range(-3, 3), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64}), rapid.Int64()).Draw(t, "int")
	case ordered.Uint:
		return rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Just(uint64(math.MaxUint64)), rapid.Uint64()).Draw(t, "uint")
	case ordered.Float:
		return rapid.OneOf(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64}), rapid.Float64()).
			Filter(func(f float64) bool { return !math.IsNaN(f) }).Draw(t, "float")
	case ordered.Time:
		return time.Unix(rapid.OneOf(rapid.Int64Range(0, 2), rapid.Int64Range(-62135596800, 253402300799)).Draw(t, "seconds"), rapid.Int64Range(0, 2).Draw(t, "ns")).UTC()
	}
	low, high := limits(c)
	n := big.NewInt(sign * rapid.Int64Range(0, 12).Draw(t, "small"))
	switch rapid.IntRange(0, 3).Draw(t, "size") {
	case 0:
		n = low
	case 1:
		n = high
	}
	if n.Cmp(high) > 0 {
		n = high
	}
	if n.Cmp(low) < 0 {
		n = low
	}
	if c.Type == ordered.Decimal {
		return decimal.NewBig(n, c.Scale)
	}
	return n
}

// DrawText draws a short string of bytes, most of which have a special meaning in the encoding.
func DrawText(t *rapid.T) string {
	return string(rapid.SliceOfN(rapid.SampledFrom([]byte("\x00\x01\xfe\xff:;ab 0")), 0, 4).Draw(t, "bytes"))
}

// Compare compares two values as the encoding must sort them.
func Compare(c ordered.Column, a, b any) int {
	n := 0
	switch a := a.(type) {
	case string:
		n = strings.Compare(a, b.(string))
	case decimal.Decimal:
		n = a.Rat().Cmp(b.(decimal.Decimal).Rat())
	case []byte:
		n = bytes.Compare(a, b.([]byte))
	case bool:
		if a != b.(bool) {
			n = 1
			if !a {
				n = -1
			}
		}
	case int64:
		n = cmp.Compare(a, b.(int64))
	case uint64:
		n = cmp.Compare(a, b.(uint64))
	case float64:
		n = cmp.Compare(a, b.(float64))
	case time.Time:
		n = a.Compare(b.(time.Time))
	case *big.Int:
		n = a.Cmp(b.(*big.Int))
	}
	if c.Desc {
		return -n
	}
	return n
}

// limits returns the smallest and the largest value of a BigInt or Decimal, in units.
func limits(c ordered.Column) (low, high *big.Int) {
	if c.Type == ordered.BigInt {
		half := new(big.Int).Lsh(big.NewInt(1), uint(c.Bits-1))
		return new(big.Int).Neg(half), new(big.Int).Sub(half, big.NewInt(1))
	}
	high = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.Digits)), nil)
	high.Sub(high, big.NewInt(1))
	return new(big.Int).Neg(high), high
}
