package ordered

import (
	"math/big"
	"strings"
)

// The readable encoding of a column is the encoding of the tutorial: text with zero-padded numbers
// that ends with a colon. Negative numbers, which the tutorial does not cover, are written as a
// minus sign, which sorts before the digits, and the nines' complement. The readable encoding exists
// to open and adopt such indexes; new indexes are binary.

// A readable string ends with a colon. The escape byte, the colon, and all bytes that sort
// before it are escaped.
const (
	readableEnd    = ':'
	readableEscape = ';'
)

// readableTime has a fixed width.
const readableTime = "2006-01-02T15:04:05.000000000Z"

// appendPadded appends a number with a fixed number of digits and, if it has a scale, a point.
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

// complement replaces digits by their nines' complement, which reverses their order.
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
