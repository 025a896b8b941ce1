// Package decimal provides exact decimal numbers, such as prices. A float64 cannot represent
// 28.44 exactly, and text does not sort or add as numbers do.
//
// [Decimal] is the Go type of decimal columns in package index and decimal dimensions in
// package space. It supports parsing and comparison; for arithmetic, use Rat or Units.
package decimal

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxDigits is the maximum number of digits that Parse accepts.
const maxDigits = 2000

// ErrSyntax is returned for text that is not a decimal number such as -28.44.
var ErrSyntax = errors.New("not a number such as 28.44")

// Decimal is an integer count of units of its last digit: 28.44 is 2844 units at scale 2. The
// zero value is 0. Two Decimals of the same scale whose units fit into an int64 can be compared
// with ==; Cmp compares any two.
type Decimal struct {
	small int64
	big   *big.Int // the units, if they do not fit into an int64
	scale int
}

// New returns units × 10^-scale. A negative scale is treated as 0.
func New(units int64, scale int) Decimal { return Decimal{small: units, scale: max(scale, 0)} }

// NewBig is like New, for units of any size.
func NewBig(units *big.Int, scale int) Decimal {
	if units.IsInt64() {
		return New(units.Int64(), scale)
	}
	return Decimal{big: new(big.Int).Set(units), scale: max(scale, 0)}
}

// Parse parses a number such as 28.44, -0.5 or 7. Its scale is the number of digits after the
// point.
func Parse(text string) (Decimal, error) {
	digits := text
	negative := strings.HasPrefix(text, "-")
	if negative || strings.HasPrefix(text, "+") {
		digits = text[1:]
	}
	integer, fraction, point := strings.Cut(digits, ".")
	if integer == "" && fraction == "" || !isDigits(integer) || !isDigits(fraction) || point && fraction == "" {
		return Decimal{}, fmt.Errorf("%q is %w", shorten(text), ErrSyntax)
	}
	if len(integer)+len(fraction) > maxDigits {
		return Decimal{}, fmt.Errorf("%q is too long: it has more than %d digits", shorten(text), maxDigits)
	}
	d := Decimal{scale: len(fraction)}
	if len(integer)+len(fraction) <= 18 { // fits into an int64
		for i := range len(integer) {
			d.small = 10*d.small + int64(integer[i]-'0')
		}
		for i := range len(fraction) {
			d.small = 10*d.small + int64(fraction[i]-'0')
		}
		if negative {
			d.small = -d.small
		}
		return d, nil
	}
	units, _ := new(big.Int).SetString(integer+fraction, 10) // digits only
	if negative {
		units.Neg(units)
	}
	return NewBig(units, d.scale), nil
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func shorten(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// Scale returns the number of digits after the point.
func (d Decimal) Scale() int { return d.scale }

// Units returns the number in units of its last digit: 2844 for 28.44. The caller
// owns the result.
func (d Decimal) Units() *big.Int {
	if d.big != nil {
		return new(big.Int).Set(d.big)
	}
	return big.NewInt(d.small)
}

// Int64 returns the units, and reports whether they fit into an int64.
func (d Decimal) Int64() (units int64, ok bool) { return d.small, d.big == nil }

// Sign returns -1, 0 or 1.
func (d Decimal) Sign() int {
	switch {
	case d.big != nil:
		return d.big.Sign()
	case d.small < 0:
		return -1
	case d.small > 0:
		return 1
	}
	return 0
}

// Cmp returns -1, 0 or 1 if d is less than, equal to or greater than e, regardless of their
// scales.
func (d Decimal) Cmp(e Decimal) int {
	if d.big == nil && e.big == nil && d.scale == e.scale {
		switch {
		case d.small < e.small:
			return -1
		case d.small > e.small:
			return 1
		}
		return 0
	}
	scale := max(d.scale, e.scale)
	return d.unitsAt(scale).Cmp(e.unitsAt(scale))
}

// unitsAt returns the units at a scale, which must not be less than that of d.
func (d Decimal) unitsAt(scale int) *big.Int {
	n := d.Units()
	return n.Mul(n, powerOf10(scale-d.scale))
}

func powerOf10(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// Rescale returns d at another scale, rounded down, and reports whether the result is exact.
func (d Decimal) Rescale(scale int) (Decimal, bool) {
	e, exact := d.rescale(scale)
	return e, exact
}

// Floor returns the largest number at the scale that is not greater than d.
func (d Decimal) Floor(scale int) Decimal {
	e, _ := d.rescale(scale)
	return e
}

// Ceil returns the smallest number at the scale that is not less than d.
func (d Decimal) Ceil(scale int) Decimal {
	e, exact := d.rescale(scale)
	if !exact {
		n := e.Units()
		e = NewBig(n.Add(n, big.NewInt(1)), scale)
	}
	return e
}

// rescale returns d at a scale, rounded down, and reports whether the result is exact.
func (d Decimal) rescale(scale int) (Decimal, bool) {
	scale = max(scale, 0)
	if d.scale == scale {
		return d, true
	}
	if d.big == nil {
		if e, exact, ok := d.rescaleSmall(scale); ok {
			return e, exact
		}
	}
	if d.scale < scale {
		return NewBig(d.unitsAt(scale), scale), true
	}
	// Euclidean division rounds down, since the divisor is positive.
	quotient, remainder := new(big.Int).DivMod(d.Units(), powerOf10(d.scale-scale), new(big.Int))
	return NewBig(quotient, scale), remainder.Sign() == 0
}

// rescaleSmall is rescale for int64 units; ok is false if it overflows.
func (d Decimal) rescaleSmall(scale int) (e Decimal, exact, ok bool) {
	n := d.small
	for s := d.scale; s < scale; s++ {
		if n > math.MaxInt64/10 || n < math.MinInt64/10 {
			return Decimal{}, false, false
		}
		n *= 10
	}
	exact = true
	for s := d.scale; s > scale; s-- {
		digit := n % 10
		n /= 10
		if digit < 0 {
			n-- // round down
		}
		exact = exact && digit == 0
	}
	return New(n, scale), exact, true
}

// Rat returns the number as a fraction, for exact arithmetic.
func (d Decimal) Rat() *big.Rat { return new(big.Rat).SetFrac(d.Units(), powerOf10(d.scale)) }

// Float64 returns the nearest float64.
func (d Decimal) Float64() float64 {
	f, _ := strconv.ParseFloat(d.String(), 64) // ±Inf if out of range
	return f
}

// String returns the number with all digits of its scale: 28.40.
func (d Decimal) String() string {
	if d.big != nil {
		return format(d.big.String(), d.scale)
	}
	return format(strconv.FormatInt(d.small, 10), d.scale)
}

func format(units string, scale int) string {
	if scale == 0 {
		return units
	}
	digits := strings.TrimPrefix(units, "-")
	sign := units[:len(units)-len(digits)]
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}

// MarshalText returns String, so that JSON holds the exact number as text.
func (d Decimal) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses text like Parse.
func (d *Decimal) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err == nil {
		*d = parsed
	}
	return err
}
