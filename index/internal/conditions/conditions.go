// Package conditions translates conditions on columns into ranges of members.
package conditions

import (
	"fmt"
	"slices"
	"strings"

	"retwis/index/decimal"
	"retwis/index/internal/ranged"
	"retwis/internal/ordered"
)

// Condition is a condition on the value of a column.
type Condition struct {
	Column string
	Op     Op
	Values []any
}

// Op is the operator of a condition.
type Op int

// The operators. In has any number of values, Between has two, the others have one.
const (
	In Op = iota
	Between
	AtLeast
	Above
	AtMost
	Below
	Prefix
)

// NoColumn returns the error for a condition on an unknown column.
func NoColumn(w Condition, declaration string) error {
	return fmt.Errorf("%w: there is no column %s in %s", ordered.ErrValue, ranged.Shorten(w.Column), declaration)
}

// NoPrefix returns the error for a Prefix on a column that is not text.
func NoPrefix(c ordered.Column) error {
	return fmt.Errorf("%w: column %s: only strings and bytes have prefixes, not %s", ordered.ErrValue, c.Name, c.Type)
}

// bounds limits the encoded values v of a column: low <= v < high. An empty low or high is open.
type bounds struct {
	low, high string
	values    []string // if exact is set, the allowed values, sorted
	exact     bool
	none      bool // no value is allowed
}

// limit intersects the range with [low, high).
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

// restrict intersects the allowed values with values.
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

// finish applies the range to the exact values.
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
	if w.Op == Prefix {
		if k.Type != ordered.String && k.Type != ordered.Bytes {
			return NoPrefix(k.Column)
		}
		if p := string(k.AppendPrefix(nil, w.Values[0].(string))); p != "" {
			b.limit(p, ordered.Successor(p))
		}
		return nil
	}
	if w.Op != In && b.narrowNumber(k, w) {
		return nil
	}
	encoded := make([]string, len(w.Values))
	for i, v := range w.Values {
		value, err := k.Append(nil, v)
		if err != nil {
			return err
		}
		encoded[i] = string(value)
	}
	if w.Op == In {
		b.restrict(encoded)
		return nil
	}
	b.narrowRange(w.Op, k.Desc, encoded)
	return nil
}

// narrowNumber narrows the bounds of a column of exact numbers by a range whose ends are
// arbitrary numbers. An end with more digits than the column is rounded into the range. An end
// beyond all values of the column either has no effect or excludes every value. narrowNumber
// returns false for other columns and values.
func (b *bounds) narrowNumber(k *ordered.Codec, w Condition) bool {
	switch k.Type {
	case ordered.Int, ordered.Uint, ordered.Decimal, ordered.BigInt:
	default:
		return false
	}
	numbers := make([]decimal.Decimal, len(w.Values))
	for i, v := range w.Values {
		var err error
		if numbers[i], err = ordered.Number(v, "a number"); err != nil {
			return false
		}
	}
	ops := []Op{w.Op}
	if w.Op == Between {
		ops = []Op{AtLeast, AtMost}
	}
	for i, op := range ops {
		d := numbers[i].Floor(k.Scale)
		if op == AtLeast || op == Below {
			d = numbers[i].Ceil(k.Scale)
		}
		value, err := k.Append(nil, d)
		switch greater := op == AtLeast || op == Above; {
		case err == nil:
			b.narrowRange(op, k.Desc, []string{string(value)})
		case d.Sign() > 0 == greater: // beyond all values
			b.none = true
		}
	}
	return true
}

// descending maps an operator to the operator on the encoded values of a descending column.
var descending = map[Op]Op{
	Between: Between, AtLeast: AtMost, Above: Below, AtMost: AtLeast, Below: Above,
}

// narrowRange narrows the bounds by a range operator. encoded has the ends of the range.
func (b *bounds) narrowRange(op Op, desc bool, encoded []string) {
	low, high := encoded[0], encoded[len(encoded)-1]
	if desc {
		low, high, op = high, low, descending[op]
	}
	switch op {
	case Between:
		b.limit(low, ordered.Successor(high))
	case AtLeast:
		b.limit(low, "")
	case Above:
		next := ordered.Successor(low)
		b.none = b.none || next == ""
		b.limit(next, "")
	case AtMost:
		b.limit("", ordered.Successor(high))
	case Below:
		b.limit("", high)
		b.none = b.none || high == ""
	case In, Prefix: // not ranges
	}
}

// restricts reports whether the bounds exclude any value.
func (b *bounds) restricts() bool { return b.low != "" || b.high != "" || b.exact }

// MaxRanges limits the ranges of a query: the values of an In on the first column, or the
// combinations of values of several In conditions.
const MaxRanges = 1000

// columnFilter filters members by bounds on their columns.
type columnFilter struct {
	encoding ordered.Encoding
	bounds   []bounds
}

// Plan translates conditions into ranges of members, bounds on later columns, and a filter for
// the remaining conditions. none is true if no member can match.
func Plan(encoding ordered.Encoding, declaration string, conditions []Condition) (q ranged.Query, none bool, err error) {
	all := make([]bounds, len(encoding))
	for _, w := range conditions {
		i := slices.IndexFunc(encoding, func(k ordered.Codec) bool { return k.Name == w.Column })
		if i < 0 {
			return q, false, NoColumn(w, declaration)
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
	for next < len(all) && all[next].exact && len(prefixes)*len(all[next].values) <= MaxRanges {
		prefixes = combine(prefixes, all[next].values)
		next++
	}
	nextBounds := bounds{}
	if next < len(all) {
		nextBounds = all[next]
	}
	for _, p := range prefixes {
		r := ranged.WithPrefix(p)
		if nextBounds.low != "" {
			r.Min = "[" + p + nextBounds.low
		}
		if nextBounds.high != "" {
			r.Max = "(" + p + nextBounds.high
		}
		q.Ranges = append(q.Ranges, r)
	}
	f := columnFilter{encoding, all}
	q.Keep = f.keep(next)
	q.Sift = f.sift(next + 1)
	return q, false, nil
}

// combine appends each value to each prefix. The result is sorted, since no value is a prefix of
// another value.
func combine(prefixes, values []string) []string {
	all := make([]string, 0, len(prefixes)*len(values))
	for _, p := range prefixes {
		for _, v := range values {
			all = append(all, p+v)
		}
	}
	return all
}

// sift returns the bounds of the columns starting at from, as arguments of sift.lua.
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

// keep returns a filter on the columns starting at from that allow several exact values, since
// ranges and bounds use only the first and the last value. It returns nil if there are no such
// columns.
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
