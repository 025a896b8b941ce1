package space

import (
	"errors"
	"fmt"
	"math"
	"time"

	"retwis/index/decimal"
	"retwis/internal/ordered"
)

// axis is a validated dimension. It maps values to codes in the same order: 0 for the smallest
// value, span for the largest.
type axis struct {
	Dim
	min, max int64     // of an Int or a Decimal, in units of the last digit
	from, to time.Time // of a Time
	span     uint64
}

// setBounds converts the bounds to the Go type of values.
func (a *axis) setBounds() {
	if a.Type == Time {
		a.from, a.to = a.from.UTC(), a.to.UTC()
	}
	a.Min, a.Max = a.value(0), a.value(a.span)
}

// point returns the code of a value of an entry, or an error.
func (a *axis) point(v any) (uint64, error) {
	if a.Type == Time {
		t, err := ordered.ToTime(v)
		if err != nil {
			return 0, err
		}
		n, ok := nanoseconds(a.from, t)
		if !ok || n > a.span {
			return 0, a.outside(v)
		}
		return n, nil
	}
	n, err := a.column().Int64(v)
	if err == nil && (n < a.min || n > a.max) || errors.Is(err, ordered.ErrRange) {
		return 0, a.outside(v)
	}
	return uint64(n) - uint64(a.min), err
}

// outside returns the error for a value outside the range of the dimension.
func (a *axis) outside(v any) error {
	return fmt.Errorf("%s is outside of %s..%s", shorten(fmt.Sprint(v)), a.format(a.Min), a.format(a.Max))
}

// bound returns the code of an end of a box: of the smallest value >= v if up, otherwise of the
// largest value <= v. side is -1 if v is below the range of the dimension, and 1 if v is above.
func (a *axis) bound(v any, up bool) (code uint64, side int, err error) {
	if a.Type == Time {
		t, err := ordered.ToTime(v)
		switch {
		case err != nil:
			return 0, 0, err
		case t.Before(a.from):
			return 0, -1, nil
		case t.After(a.to):
			return 0, 1, nil
		}
		code, _ = nanoseconds(a.from, t)
		return code, 0, nil
	}
	n, side, err := a.round(v, up)
	switch {
	case err != nil || side != 0:
		return 0, side, err
	case n < a.min:
		return 0, -1, nil
	case n > a.max:
		return 0, 1, nil
	}
	return uint64(n) - uint64(a.min), 0, nil
}

// column returns a column that accepts the same values as the dimension.
func (a *axis) column() ordered.Column {
	return ordered.Column{Name: a.Name, Type: ordered.Type(a.Type), Scale: a.Scale}
}

// round converts a number of any scale to units of the last digit, rounded up or down. If the
// result does not fit into an int64, side is its sign.
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

// value returns the value of a code.
func (a *axis) value(code uint64) any {
	switch a.Type {
	case Int:
		return int64(uint64(a.min) + code)
	case Decimal:
		return decimal.New(int64(uint64(a.min)+code), a.Scale)
	default:
		half := time.Duration(code / 2) // a Duration holds half a span
		return a.from.Add(half).Add(half).Add(time.Duration(code % 2))
	}
}

// distance returns the weighted distance between two codes, in value units or seconds,
// multiplied by unit.
func (a *axis) distance(p, q uint64, weight, unit float64) float64 {
	steps := float64(max(p, q) - min(p, q))
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

// around returns the codes within a distance of a code, with a small safety margin.
func (a *axis) around(code uint64, distance float64) (low, high uint64) {
	high = a.span
	steps := math.Ceil(distance*a.unit()*(1+1e-9)) + 1
	if steps < float64(code) {
		low = code - min(uint64(steps), code)
	}
	if steps < float64(a.span-code) {
		high = code + min(uint64(steps), a.span-code)
	}
	return low, high
}

// format formats a value of the dimension so that it can be parsed.
func (a *axis) format(v any) string {
	if t, ok := v.(time.Time); ok {
		return t.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v)
}
