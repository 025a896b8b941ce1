package index

import (
	"fmt"
	"math"
	"slices"

	"retwis/internal/ordered"
)

// scoreRange is a range of scores.
type scoreRange struct {
	low, high         float64
	openLow, openHigh bool // the end is excluded
}

func allScores() scoreRange { return scoreRange{low: math.Inf(-1), high: math.Inf(1)} }

// min and max are the ends of the range as ZRANGEBYSCORE takes them.
func (r scoreRange) min() string { return scoreEnd(r.low, r.openLow) }
func (r scoreRange) max() string { return scoreEnd(r.high, r.openHigh) }

func scoreEnd(f float64, open bool) string {
	switch {
	case open:
		return "(" + scoreText(f)
	case math.IsInf(f, -1):
		return "-inf" // numeric_page.lua knows that nothing is below
	}
	return scoreText(f)
}

// raise moves the beginning of the range up.
func (r *scoreRange) raise(f float64, open bool) {
	if f > r.low || f == r.low && open {
		r.low, r.openLow = f, open
	}
}

// lower moves the end of the range down.
func (r *scoreRange) lower(f float64, open bool) {
	if f < r.high || f == r.high && open {
		r.high, r.openHigh = f, open
	}
}

// empty reports whether no number is in the range.
func (r scoreRange) empty() bool {
	return r.low > r.high || r.low == r.high && (r.openLow || r.openHigh)
}

// has reports whether a number is in the range.
func (r scoreRange) has(f float64) bool {
	return (f > r.low || f == r.low && !r.openLow) && (f < r.high || f == r.high && !r.openHigh)
}

// plan translates conditions into ranges of scores in order; none if nothing matches.
func (x *Numeric[N]) plan(conditions []Condition) ([]scoreRange, error) {
	all := allScores()
	var values []float64 // allowed by In, if exact
	exact := false
	for _, c := range conditions {
		numbers, err := x.numbers(c)
		if err != nil {
			return nil, err
		}
		switch c.op {
		case opIn:
			if exact {
				numbers = slices.DeleteFunc(numbers, func(f float64) bool { return !slices.Contains(values, f) })
			}
			values, exact = numbers, true
		case opBetween:
			all.raise(numbers[0], false)
			all.lower(numbers[1], false)
		case opAtLeast, opAbove:
			all.raise(numbers[0], c.op == opAbove)
		case opAtMost, opBelow:
			all.lower(numbers[0], c.op == opBelow)
		case opPrefix:
			return nil, errPrefix(x.column.ordered())
		}
	}
	switch {
	case all.empty():
		return nil, nil
	case !exact:
		return []scoreRange{all}, nil
	}
	slices.Sort(values)
	var ranges []scoreRange
	for _, f := range slices.Compact(values) {
		if all.has(f) {
			ranges = append(ranges, scoreRange{low: f, high: f})
		}
	}
	return ranges, nil
}

// numbers returns the values of a condition.
func (x *Numeric[N]) numbers(c Condition) ([]float64, error) {
	switch {
	case c.column != x.column.Name:
		return nil, errColumn(c, x.column.String())
	case c.op == opPrefix:
		return nil, nil
	}
	column := x.column.ordered()
	numbers := make([]float64, len(c.values))
	for i, v := range c.values {
		var f float64
		var err error
		if x.column.Type == Float {
			f, err = ordered.ToFloat(v)
		} else {
			var n int64
			n, err = column.Int64(v)
			if f = float64(n); err == nil && (n > maxExact || n < -maxExact) {
				return nil, checkNumber(n)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%w: column %s: %w", ErrValue, column.Name, err)
		}
		numbers[i] = f + 0 // -0 is 0
	}
	return numbers, nil
}
