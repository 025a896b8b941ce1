package index

import (
	"fmt"
	"slices"
	"strings"

	"retwis/internal/ordered"
)

// Condition is a condition on the value of a column. All conditions of a query must
// hold. Values follow the rule of Type.
type Condition struct {
	column string
	op     operator
	values []any
}

type operator int

const (
	opIn operator = iota
	opBetween
	opAtLeast
	opAbove
	opAtMost
	opBelow
	opPrefix
)

// Eq matches one value.
func Eq(column string, value any) Condition { return Condition{column, opIn, []any{value}} }

// In matches any of some values; without values, nothing.
func In(column string, values ...any) Condition {
	return Condition{column, opIn, slices.Clone(values)}
}

// Between matches the values from low to high, both included.
func Between(column string, low, high any) Condition {
	return Condition{column, opBetween, []any{low, high}}
}

// AtLeast matches low and all greater values.
func AtLeast(column string, low any) Condition { return Condition{column, opAtLeast, []any{low}} }

// Above matches all values greater than low.
func Above(column string, low any) Condition { return Condition{column, opAbove, []any{low}} }

// AtMost matches high and all smaller values.
func AtMost(column string, high any) Condition { return Condition{column, opAtMost, []any{high}} }

// Below matches all values smaller than high.
func Below(column string, high any) Condition { return Condition{column, opBelow, []any{high}} }

// Prefix matches the strings, or bytes, that begin with a prefix.
func Prefix(column, prefix string) Condition { return Condition{column, opPrefix, []any{prefix}} }

// errColumn refuses a condition on a column that the index does not have.
func errColumn(w Condition, declaration string) error {
	return fmt.Errorf("%w: there is no column %s in %s", ErrValue, shorten(w.column), declaration)
}

// errPrefix refuses a prefix of what is not text.
func errPrefix(c ordered.Column) error {
	return fmt.Errorf("%w: column %s: only strings and bytes have prefixes, this is %s", ErrValue, c.Name, c.Type)
}

// bounds are the encoded values of a column that some conditions allow: not below
// low, and below high. An empty bound is open.
type bounds struct {
	low, high string
	values    []string // in order; if exact, the only ones
	exact     bool
	none      bool // no value at all
}

// limit narrows the range.
func (b *bounds) limit(low, high string) {
	if low > b.low {
		b.low = low
	}
	if high != "" && (b.high == "" || high < b.high) {
		b.high = high
	}
	if b.high != "" && b.low >= b.high {
		b.none = true
	}
}

// restrict leaves only the values that are among some.
func (b *bounds) restrict(values []string) {
	slices.Sort(values)
	values = slices.Compact(values)
	if b.exact {
		values = slices.DeleteFunc(values, func(v string) bool {
			_, ok := slices.BinarySearch(b.values, v)
			return !ok
		})
	}
	b.values, b.exact = values, true
}

// finish applies the range to the values.
func (b *bounds) finish() {
	if !b.exact {
		return
	}
	b.values = slices.DeleteFunc(b.values, func(v string) bool { return v < b.low || b.high != "" && v >= b.high })
	if len(b.values) == 0 {
		b.none = true
		return
	}
	b.limit(b.values[0], ordered.Successor(b.values[len(b.values)-1]))
}

// narrow narrows the bounds by a condition.
func (b *bounds) narrow(k *ordered.Codec, w Condition) error {
	if w.op == opPrefix {
		if k.Type != ordered.String && k.Type != ordered.Bytes {
			return errPrefix(k.Column)
		}
		if p := string(k.AppendPrefix(nil, w.values[0].(string))); p != "" {
			b.limit(p, ordered.Successor(p))
		}
		return nil
	}
	encoded := make([]string, len(w.values))
	for i, v := range w.values {
		value, err := k.Append(nil, v)
		if err != nil {
			return err
		}
		encoded[i] = string(value)
	}
	if w.op == opIn {
		b.restrict(encoded)
		return nil
	}
	b.narrowRange(w.op, k.Desc, encoded)
	return nil
}

// descending is the operator on encoded values if the greatest value comes first.
var descending = map[operator]operator{
	opBetween: opBetween, opAtLeast: opAtMost, opAbove: opBelow, opAtMost: opAtLeast, opBelow: opAbove,
}

func (b *bounds) narrowRange(op operator, desc bool, encoded []string) {
	low, high := encoded[0], encoded[len(encoded)-1]
	if desc {
		low, high, op = high, low, descending[op]
	}
	switch op {
	case opBetween:
		b.limit(low, ordered.Successor(high))
	case opAtLeast:
		b.limit(low, "")
	case opAbove:
		next := ordered.Successor(low)
		b.none = b.none || next == ""
		b.limit(next, "")
	case opAtMost:
		b.limit("", ordered.Successor(high))
	case opBelow:
		b.limit("", high)
		b.none = b.none || high == ""
	case opIn, opPrefix: // not ranges
	}
}

// restricts reports whether the bounds exclude any value.
func (b *bounds) restricts() bool { return b.low != "" || b.high != "" || b.exact }

// maxRanges bounds the ranges of a query: the values of an In on the first column, or
// the combinations of several.
const maxRanges = 1000

// columnFilter filters members by bounds on their columns.
type columnFilter struct {
	encoding ordered.Encoding
	bounds   []bounds
}

// plan translates conditions into ranges of members, bounds on the columns after
// them, and a filter for what neither guarantees. none is true if nothing can match.
func plan(encoding ordered.Encoding, declaration string, conditions []Condition) (q memberQuery, none bool, err error) {
	all := make([]bounds, len(encoding))
	for _, w := range conditions {
		i := slices.IndexFunc(encoding, func(k ordered.Codec) bool { return k.Name == w.column })
		if i < 0 {
			return q, false, errColumn(w, declaration)
		}
		if err := all[i].narrow(&encoding[i], w); err != nil {
			return q, false, err
		}
	}
	for i := range all {
		if all[i].finish(); all[i].none {
			return q, true, nil
		}
	}
	prefixes, next := []string{""}, 0
	for next < len(all) && all[next].exact && len(prefixes)*len(all[next].values) <= maxRanges {
		prefixes = combine(prefixes, all[next].values)
		next++
	}
	last := bounds{}
	if next < len(all) {
		last = all[next]
	}
	for _, p := range prefixes {
		r := PrefixRange(p)
		if last.low != "" {
			r.Min = "[" + p + last.low
		}
		if last.high != "" {
			r.Max = "(" + p + last.high
		}
		q.ranges = append(q.ranges, r)
	}
	f := columnFilter{encoding, all}
	q.keep = f.keep(next)
	q.sift = f.sift(next + 1)
	return q, false, nil
}

// combine appends each value to each prefix. The result is in order, as no value is a
// prefix of another.
func combine(prefixes, values []string) []string {
	all := make([]string, 0, len(prefixes)*len(values))
	for _, p := range prefixes {
		for _, v := range values {
			all = append(all, p+v)
		}
	}
	return all
}

// sift returns the bounds of the columns from a first one on, as sift.lua takes them.
func (f columnFilter) sift(from int) (args []string) {
	last := -1
	for i := from; i < len(f.bounds); i++ {
		if f.bounds[i].restricts() {
			last = i
		}
	}
	for i := 0; i <= last; i++ {
		b := bounds{}
		if i >= from {
			b = f.bounds[i]
		}
		width, terminator := f.encoding[i].Ending()
		args = append(args, fmt.Sprint(width), terminator, b.low, b.high)
	}
	return args
}

// keep returns a filter of members by the columns from a first one on that allow
// several values, of which ranges and bounds know the first and the last; or nil.
func (f columnFilter) keep(from int) func(member string) bool {
	last := -1
	for i := from; i < len(f.bounds); i++ {
		if f.bounds[i].exact && len(f.bounds[i].values) > 1 {
			last = i
		}
	}
	if last < 0 {
		return nil
	}
	return func(member string) bool {
		for i := 0; i <= last; i++ {
			value, rest, err := f.encoding[i].Cut(member)
			if err != nil {
				return false
			}
			if i >= from && f.bounds[i].exact {
				if _, ok := slices.BinarySearchFunc(f.bounds[i].values, value, strings.Compare); !ok {
					return false
				}
			}
			member = rest
		}
		return true
	}
}
