package space

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"retwis/index/decimal"
	"retwis/internal/ordered"
)

// floatBits is the number of bits of a float, as a position in its range, that go into
// the z-order. The exact value follows the number.
const floatBits = 48

// axis is a validated dimension. It maps a value to a code: 0 for the least value, and
// up to span, in the order of the values. A float also has bits that order it exactly.
type axis struct {
	Dim
	min, max  int64     // of an Int or a Decimal, in units of the last digit
	low, high float64   // of a Float
	from, to  time.Time // of a Time
	span      uint64
}

// place is the position of a value on its axis.
type place struct {
	code  uint64
	exact uint64 // of a float; 0 otherwise
}

// setBounds converts the bounds to the Go type of values.
func (a *axis) setBounds() {
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

// point returns the place of a value of an entry, or refuses it.
func (a *axis) point(v any) (place, error) {
	switch a.Type {
	case Int, Decimal:
		n, err := a.column().Int64(v)
		if err == nil && (n < a.min || n > a.max) || errors.Is(err, ordered.ErrRange) {
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
		t, err := ordered.ToTime(v)
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
	return fmt.Errorf("%s is outside of %s..%s", shorten(fmt.Sprint(v)), a.format(a.Min), a.format(a.Max))
}

// bound returns the place of an end of a box: of the least value that is not below v
// or, if up is false, of the greatest that is not above it. If v is outside the range,
// side is -1 below it and 1 above it.
func (a *axis) bound(v any, up bool) (p place, side int, err error) {
	switch a.Type {
	case Int, Decimal:
		n, side, err := a.round(v, up)
		switch {
		case err != nil || side != 0:
			return p, side, err
		case n < a.min:
			return p, -1, nil
		case n > a.max:
			return p, 1, nil
		}
		return place{code: uint64(n) - uint64(a.min)}, 0, nil
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
		t, err := ordered.ToTime(v)
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

// column returns the column whose rule for values the dimension follows.
func (a *axis) column() ordered.Column {
	return ordered.Column{Name: a.Name, Type: ordered.Type(a.Type), Scale: a.Scale}
}

// round returns a number of any scale in units of the last digit, rounded up or
// down. If it does not fit into an int64, side is its sign.
func (a *axis) round(v any, up bool) (n int64, side int, err error) {
	d, err := ordered.Number(v, "a number such as 75 or -28.44")
	if err != nil {
		return 0, 0, err
	}
	if up {
		d = d.Ceil(a.Scale)
	} else {
		d = d.Floor(a.Scale)
	}
	n, ok := d.Int64()
	if !ok {
		return 0, d.Sign(), nil
	}
	return n, 0, nil
}

// toFloat returns a number as a float; an infinite one with an error.
func toFloat(v any) (float64, error) {
	f, err := ordered.ToFloat(v)
	if err == nil && math.IsInf(f, 0) {
		err = errors.New("infinity is outside of every range")
	}
	return f, err
}

// floatPlace returns the place of a float in the range. Each step of its arithmetic is
// rounded, but monotonic: none can reverse the order of two values.
func (a *axis) floatPlace(f float64) place {
	share := (f/2 - a.low/2) / (a.high/2 - a.low/2)
	return place{code: min(uint64(share*(1<<floatBits)), a.span), exact: ordered.FloatBits(f)}
}

// least and greatest return the ends of the axis.
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

// value returns the value at a place.
func (a *axis) value(p place) any {
	switch a.Type {
	case Int:
		return int64(uint64(a.min) + p.code)
	case Decimal:
		return decimal.New(int64(uint64(a.min)+p.code), a.Scale)
	case Float:
		return ordered.FloatFromBits(p.exact)
	default:
		half := time.Duration(p.code / 2) // a Duration has room for half of a span
		return a.from.Add(half).Add(half).Add(time.Duration(p.code % 2))
	}
}

// distance returns the distance of two places, in units of the values or in seconds, times
// a weight. Of the unit in which it is returned, that many are in one of distance.
func (a *axis) distance(p, q place, weight, unit float64) float64 {
	if a.Type == Float {
		v, w := ordered.FloatFromBits(p.exact), ordered.FloatFromBits(q.exact)
		if d := math.Abs(v - w); !math.IsInf(d, 1) {
			return weight * d * unit
		}
		return math.Abs(weight*v-weight*w) * unit // only the difference is too large
	}
	steps := float64(max(p.code, q.code) - min(p.code, q.code))
	if unit < a.unit() {
		return weight * (steps / (a.unit() / unit))
	}
	return weight * (steps * (unit / a.unit()))
}

// unit returns the number of codes in a distance of 1.
func (a *axis) unit() float64 {
	switch a.Type {
	case Decimal:
		return math.Pow10(a.Scale)
	case Time:
		return 1e9
	}
	return 1
}

// around returns the ends of the range within a distance of a place, or of a little
// more.
func (a *axis) around(p place, distance float64) (low, high place) {
	low, high = a.least(), a.greatest()
	if a.Type == Float {
		f := ordered.FloatFromBits(p.exact)
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

// format formats a value of the dimension so that it can be parsed.
func (a *axis) format(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v)
}
