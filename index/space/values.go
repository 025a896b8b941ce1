package space

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// orderedBits maps floats to numbers in their order.
func orderedBits(f float64) uint64 {
	bits := math.Float64bits(f + 0) // -0 is 0
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}

func floatOf(ordered uint64) float64 {
	if ordered>>63 != 0 {
		return math.Float64frombits(ordered &^ (1 << 63))
	}
	return math.Float64frombits(^ordered)
}

var (
	errRange  = errors.New("it is beyond ±2^63 units of the last digit")
	errDigits = errors.New("it has more digits behind the point than the dimension")
)

// units returns a number as so many units of its last digit.
func units(v any, scale int) (int64, error) {
	switch v := v.(type) {
	case string:
		return parseUnits(v, scale)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, fmt.Errorf("%v cannot be compared", v)
		}
		return parseUnits(strconv.FormatFloat(v, 'f', -1, 64), scale)
	case float32:
		return units(float64(v), scale)
	}
	n, u, ok := integer(v)
	if !ok {
		return 0, fmt.Errorf("it is %T, not a number", v)
	}
	if u != 0 {
		return 0, errRange
	}
	for range scale {
		if n > math.MaxInt64/10 || n < math.MinInt64/10 {
			return 0, errRange
		}
		n *= 10
	}
	return n, nil
}

// parseUnits reads a number such as -28.44.
func parseUnits(text string, scale int) (int64, error) {
	digits := strings.TrimPrefix(text, "-")
	negative := len(digits) < len(text)
	if !negative {
		digits = strings.TrimPrefix(text, "+")
	}
	whole, fraction, point := strings.Cut(digits, ".")
	if !isDigits(whole) || point && !isDigits(fraction) {
		return 0, fmt.Errorf("%q is not a number such as 75 or -28.44", shortened(text))
	}
	for len(fraction) > scale && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	if len(fraction) > scale {
		return 0, fmt.Errorf("%s: %w: %d", shortened(text), errDigits, scale)
	}
	var n uint64
	for i := range len(whole) + scale {
		digit := byte('0')
		if i < len(whole) {
			digit = whole[i]
		} else if i-len(whole) < len(fraction) {
			digit = fraction[i-len(whole)]
		}
		if n > math.MaxInt64/10 {
			return 0, errRange
		}
		n = n*10 + uint64(digit-'0')
	}
	switch {
	case negative && n <= 1<<63:
		return int64(-n), nil
	case n > math.MaxInt64:
		return 0, errRange
	}
	return int64(n), nil
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// roundedUnits is units for what may have more digits: rounded up, or down.
func roundedUnits(v any, scale int, up bool) (*big.Int, error) {
	n, err := units(v, scale)
	if err == nil {
		return big.NewInt(n), nil
	}
	if !errors.Is(err, errDigits) && !errors.Is(err, errRange) {
		return nil, err
	}
	text, isText := v.(string)
	if f, ok := v.(float64); ok {
		text, isText = strconv.FormatFloat(f, 'f', -1, 64), true
	} else if f, ok := v.(float32); ok {
		text, isText = strconv.FormatFloat(float64(f), 'f', -1, 64), true
	}
	if !isText {
		text = fmt.Sprint(v)
	} else if s, ok := v.(string); ok && len(s) > maxText {
		return nil, fmt.Errorf("%q is too long", shortened(s))
	}
	// Digits and a point only, as units found out: no exponent that explodes.
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, err
	}
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
	whole, rest := new(big.Int), new(big.Int)
	whole.DivMod(r.Num(), r.Denom(), rest) // Euclid's: towards -∞, as the denominator is positive
	if up && rest.Sign() != 0 {
		whole.Add(whole, big.NewInt(1))
	}
	return whole, nil
}

// decimalText words a number of units of the last digit.
func decimalText(n int64, scale int) string {
	u := uint64(n)
	if n < 0 {
		u = -u
	}
	var digits [20 + maxScale]byte
	text := digits[:0]
	if n < 0 {
		text = append(text, '-')
	}
	sign := len(text)
	text = strconv.AppendUint(text, u, 10)
	if scale == 0 {
		return string(text)
	}
	for len(text)-sign <= scale {
		text = slices.Insert(text, sign, '0')
	}
	return string(slices.Insert(text, len(text)-scale, '.'))
}

// integer returns any Go integer: as an int64, or as a uint64 where it is greater
// than all of these.
func integer(v any) (n int64, u uint64, ok bool) {
	switch v := v.(type) {
	case int:
		return int64(v), 0, true
	case int64:
		return v, 0, true
	case uint64:
		if v > math.MaxInt64 {
			return 0, v, true
		}
		return int64(v), 0, true
	case time.Duration:
		return 0, 0, false
	}
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
		return 0, 0, false
	case r.CanInt():
		return r.Int(), 0, true
	case r.CanUint():
		return integer(r.Uint())
	}
	return 0, 0, false
}

// toFloat returns a number as a float; an infinite one with an error.
func toFloat(v any) (float64, error) {
	var f float64
	switch v := v.(type) {
	case float64:
		f = v
	case float32:
		f = float64(v)
	case string:
		var err error
		f, err = strconv.ParseFloat(v, 64)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return 0, fmt.Errorf("%s is beyond the range of a float64", shortened(v))
		case err != nil || strings.ContainsAny(v, "xX_"):
			return 0, fmt.Errorf("%q is not a number", shortened(v))
		}
	default:
		n, u, ok := integer(v)
		switch {
		case !ok:
			return 0, fmt.Errorf("it is %T, not a number", v)
		case u != 0 || n > 1<<53 || n < -1<<53:
			return 0, fmt.Errorf("%v is beyond ±2^53, where a float64 cannot tell integers apart", v)
		}
		f = float64(n)
	}
	switch {
	case math.IsNaN(f):
		return 0, errors.New("NaN has no place in an order")
	case math.IsInf(f, 0):
		return f, errors.New("infinity is outside of every range")
	}
	return f, nil
}

func toTime(v any) (time.Time, error) {
	switch v := v.(type) {
	case time.Time:
		return v, nil
	case string:
		for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
			if t, err := time.Parse(layout, v); err == nil {
				return t, nil
			}
		}
		return time.Time{}, fmt.Errorf("%q is not a time such as 2026-11-21T10:00:00Z or 2026-11-21", shortened(v))
	}
	return time.Time{}, fmt.Errorf("it is %T, not a time", v)
}
