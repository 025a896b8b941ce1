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

// floatBits is how many bits of the place of a float within its range go into
// the z-order. The exact value stands behind.
const floatBits = 48

// axis is a dimension that was checked. A value becomes a code, which counts from
// 0 at the least value up to span, in the order of the values; a float is also
// kept as the bits that order it exactly.
type axis struct {
	Dim
	min, max  int64     // of an Int or a Decimal, in units of the last digit
	low, high float64   // of a Float
	from, to  time.Time // of a Time
	span      uint64
}

// place is where a value stands on its axis.
type place struct {
	code  uint64
	exact uint64 // of a float; 0 otherwise
}

// settleBounds gives the bounds the types that values have.
func (a *axis) settleBounds() {
	switch a.Type {
	case Int, Decimal:
		a.Min, a.Max = a.value(place{}), a.value(place{code: a.span})
	case Float:
		a.Min, a.Max = a.low, a.high
	case Time:
		a.from, a.to = a.from.UTC(), a.to.UTC()
		a.Min, a.Max = a.from, a.to
	}
}

// point returns the place of a value that an entry has, or refuses it.
func (a *axis) point(v any) (place, error) {
	switch a.Type {
	case Int, Decimal:
		n, err := units(v, a.Scale)
		if err == nil && (n < a.min || n > a.max) || errors.Is(err, errRange) {
			return place{}, a.outside(v)
		}
		return place{code: uint64(n) - uint64(a.min)}, err
	case Float:
		f, err := toFloat(v)
		if err == nil && (f < a.low || f > a.high) {
			return place{}, a.outside(v)
		}
		return a.floatPlace(f), err
	default:
		t, err := toTime(v)
		if err != nil {
			return place{}, err
		}
		n, ok := nanoseconds(a.from, t)
		if !ok || n > a.span {
			return place{}, a.outside(v)
		}
		return place{code: n}, nil
	}
}

func (a *axis) outside(v any) error {
	return fmt.Errorf("%s is outside of %s..%s", shortened(fmt.Sprint(v)), a.format(a.Min), a.format(a.Max))
}

// bound returns the place of an end of a box: of the least value that is not
// below v, or with up false of the greatest that is not above it. Of a v outside
// the range side is -1 below and 1 above it.
func (a *axis) bound(v any, up bool) (p place, side int, err error) {
	switch a.Type {
	case Int, Decimal:
		n, err := roundedUnits(v, a.Scale, up)
		switch {
		case err != nil:
			return p, 0, err
		case n.Cmp(big.NewInt(a.min)) < 0:
			return p, -1, nil
		case n.Cmp(big.NewInt(a.max)) > 0:
			return p, 1, nil
		}
		return place{code: uint64(n.Int64()) - uint64(a.min)}, 0, nil
	case Float:
		f, err := toFloat(v)
		switch {
		case err != nil && !math.IsInf(f, 0):
			return p, 0, err
		case f < a.low:
			return p, -1, nil
		case f > a.high:
			return p, 1, nil
		}
		return a.floatPlace(f), 0, nil
	default:
		t, err := toTime(v)
		switch {
		case err != nil:
			return p, 0, err
		case t.Before(a.from):
			return p, -1, nil
		case t.After(a.to):
			return p, 1, nil
		}
		n, _ := nanoseconds(a.from, t)
		return place{code: n}, 0, nil
	}
}

// floatPlace is the place of a float within the range. Each step of its
// arithmetic is rounded, and none of them can turn the order of two values round.
func (a *axis) floatPlace(f float64) place {
	share := (f/2 - a.low/2) / (a.high/2 - a.low/2)
	return place{code: min(uint64(share*(1<<floatBits)), a.span), exact: orderedBits(f)}
}

// least and greatest are the ends of the axis.
func (a *axis) least() place {
	if a.Type == Float {
		return a.floatPlace(a.low)
	}
	return place{}
}

func (a *axis) greatest() place {
	if a.Type == Float {
		return a.floatPlace(a.high)
	}
	return place{code: a.span}
}

// value is what stands at a place.
func (a *axis) value(p place) any {
	switch a.Type {
	case Int:
		return int64(uint64(a.min) + p.code)
	case Decimal:
		return decimalText(int64(uint64(a.min)+p.code), a.Scale)
	case Float:
		return floatOf(p.exact)
	default:
		return a.from.Add(time.Duration(p.code / 2)).Add(time.Duration(p.code - p.code/2))
	}
}

// distance is how far two places are from each other: in units of the values,
// times in seconds.
func (a *axis) distance(p, q place) float64 {
	if a.Type == Float {
		return math.Abs(floatOf(p.exact) - floatOf(q.exact))
	}
	return float64(max(p.code, q.code)-min(p.code, q.code)) / a.unit()
}

// unit is how many codes there are to a value of 1.
func (a *axis) unit() float64 {
	switch a.Type {
	case Decimal:
		return math.Pow10(a.Scale)
	case Time:
		return 1e9
	}
	return 1
}

// around returns the ends of what is within a distance of a place, or a little
// more.
func (a *axis) around(p place, distance float64) (low, high place) {
	low, high = a.least(), a.greatest()
	if a.Type == Float {
		f := floatOf(p.exact)
		distance = distance*(1+1e-9) + math.SmallestNonzeroFloat64
		if below := math.Nextafter(f-distance, math.Inf(-1)); below > a.low {
			low = a.floatPlace(below)
		}
		if above := math.Nextafter(f+distance, math.Inf(1)); above < a.high {
			high = a.floatPlace(above)
		}
		return low, high
	}
	steps := math.Ceil(distance*a.unit()*(1+1e-9)) + 1
	if steps < float64(p.code) {
		low.code = p.code - min(uint64(steps), p.code)
	}
	if steps < float64(a.span-p.code) {
		high.code = p.code + min(uint64(steps), a.span-p.code)
	}
	return low, high
}

// format words a value of the dimension so that it can be read again.
func (a *axis) format(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v)
}

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
