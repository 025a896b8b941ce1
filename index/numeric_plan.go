package index

import (
	"fmt"
	"math"
	"slices"

	"retwis/index/internal/conditions"
	"retwis/index/internal/ranged"
	"retwis/internal/ordered"
)

// plan translates conditions into sorted ranges of scores. It returns no ranges if no entry can
// match.
func (x *Numeric[N]) plan(where []Condition) ([]ranged.Range, error) {
	scores := ranged.AllScores()
	var values []float64 // if exact is set, the values allowed by In
	exact := false
	for _, c := range conditionsOf(where) {
		numbers, err := x.numbers(c)
		if err != nil {
			return nil, err
		}
		switch c.Op {
		case conditions.In:
			if exact {
				numbers = slices.DeleteFunc(numbers, func(f float64) bool { return !slices.Contains(values, f) })
			}
			values, exact = numbers, true
		case conditions.Between:
			scores.Raise(numbers[0], false)
			scores.Lower(numbers[1], false)
		case conditions.AtLeast, conditions.Above:
			scores.Raise(numbers[0], c.Op == conditions.Above)
		case conditions.AtMost, conditions.Below:
			scores.Lower(numbers[0], c.Op == conditions.Below)
		case conditions.Prefix:
			return nil, conditions.NoPrefix(x.column.ordered())
		}
	}
	switch {
	case scores.Empty():
		return nil, nil
	case !exact:
		return []ranged.Range{scores.Range()}, nil
	}
	slices.Sort(values)
	var ranges []ranged.Range
	for _, f := range slices.Compact(values) {
		if scores.Has(f) {
			ranges = append(ranges, ranged.Scores{Low: f, High: f}.Range())
		}
	}
	return ranges, nil
}

// numbers returns the values of a condition.
func (x *Numeric[N]) numbers(c conditions.Condition) ([]float64, error) {
	switch {
	case c.Column != x.column.Name:
		return nil, conditions.NoColumn(c, x.column.String())
	case c.Op == conditions.Prefix:
		return nil, nil
	}
	column := x.column.ordered()
	numbers := make([]float64, len(c.Values))
	for i, v := range c.Values {
		var f float64
		var err error
		switch {
		case x.column.Type == Float:
			if f, err = ordered.ToFloat(v); c.Op != conditions.In && math.IsInf(f, 0) {
				err = nil // a bound beyond the range excludes no number
			}
		case c.Op != conditions.In:
			f, err = integerBound(v, c.Op == conditions.AtLeast || c.Op == conditions.Below || c.Op == conditions.Between && i == 0)
		default:
			var n int64
			n, err = column.Int64(v)
			if f = float64(n); err == nil && (n > maxExact || n < -maxExact) {
				return nil, checkNumber(n)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%w: column %s: %w", ErrValue, column.Name, err)
		}
		numbers[i] = f + 0 // -0 becomes 0
	}
	return numbers, nil
}

// integerBound returns a bound for integers, rounded up or down. It returns an infinity beyond
// the integers that a score holds exactly.
func integerBound(v any, up bool) (float64, error) {
	d, err := ordered.Number(v, "a number")
	if err != nil {
		return 0, err
	}
	if up {
		d = d.Ceil(0)
	} else {
		d = d.Floor(0)
	}
	n, ok := d.Int64()
	if !ok || n > maxExact || n < -maxExact {
		return math.Inf(d.Sign()), nil
	}
	return float64(n), nil
}
