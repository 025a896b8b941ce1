package schema

import (
	"errors"
	"slices"
	"sort"
	"strings"

	"retwis/internal/ordered"
)

// Range is a range of strings, from Low up to but excluding High. An empty High means no end.
type Range struct{ Low, High string }

// successor returns the smallest string greater than all strings with the prefix p, or "" if
// there is none.
func successor(p string) string {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] != 0xff {
			return p[:i] + string([]byte{p[i] + 1})
		}
	}
	return ""
}

// PrefixRange returns the range of all strings with the prefix p.
func PrefixRange(p string) Range { return Range{p, successor(p)} }

// Lex returns the range as arguments of ZRANGEBYLEX.
func (s Range) Lex() (from, to string) {
	from, to = "["+s.Low, "("+s.High
	if s.Low == "" {
		from = "-"
	}
	if s.High == "" {
		to = "+"
	}
	return from, to
}

// empty reports whether the range contains no string.
func (s Range) empty() bool { return s.High != "" && s.Low >= s.High }

// WithPrefix returns the range with a prefix prepended to each string.
func (s Range) WithPrefix(prefix string) Range {
	if s.High == "" {
		return Range{prefix + s.Low, successor(prefix)}
	}
	return Range{prefix + s.Low, prefix + s.High}
}

// InRanges reports whether a value is in one of the ranges, which must be sorted.
func InRanges(v string, ranges []Range) bool {
	i := sort.Search(len(ranges), func(i int) bool { return ranges[i].Low > v }) - 1
	return i >= 0 && (ranges[i].High == "" || v < ranges[i].High)
}

// Intersect returns the intersection of two sorted lists of ranges.
func Intersect(a, b []Range) []Range {
	var all []Range
	for i, j := 0, 0; i < len(a) && j < len(b); {
		both := Range{max(a[i].Low, b[j].Low), lowerEnd(a[i].High, b[j].High)}
		if !both.empty() {
			all = append(all, both)
		}
		if a[i].High == both.High {
			i++
		} else {
			j++
		}
	}
	return all
}

// lowerEnd returns the lower of two ends; "" means no end.
func lowerEnd(a, b string) string {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// SortRanges sorts ranges, and removes empty ranges and duplicates.
func SortRanges(all []Range) []Range {
	all = slices.DeleteFunc(all, Range.empty)
	slices.SortFunc(all, func(a, b Range) int { return strings.Compare(a.Low, b.Low) })
	return slices.Compact(all)
}

// Ranges returns the ranges of encoded values that an operator selects in a column.
func (x *Index) Ranges(s *Schema, column int, op Operator, texts []string) ([]Range, error) {
	encoded := make([]string, len(texts))
	for i, t := range texts {
		var err error
		if encoded[i], err = x.encoded(s, column, op, t); err != nil {
			return nil, err
		}
	}
	switch {
	case x.Plain():
		return RangesOf(encoded, func(v string) Range { return Range{v, v + "\x00"} }), nil
	case op.Exact() || op == OpPrefix:
		return RangesOf(encoded, PrefixRange), nil
	}
	return SortRanges(orderedRanges(op, x.Columns[column].Desc, encoded)), nil
}

// RangesOf returns the sorted ranges that f returns for values.
func RangesOf(values []string, f func(string) Range) []Range {
	all := make([]Range, len(values))
	for i, v := range values {
		all[i] = f(v)
	}
	return SortRanges(all)
}

// orderedRanges returns the range of an ordered comparison, or none if no value can match.
func orderedRanges(op Operator, desc bool, encoded []string) []Range {
	low, high := encoded[0], encoded[len(encoded)-1]
	if desc { // larger values come first
		low, high = high, low
		op = map[Operator]Operator{OpBetween: OpBetween, OpAtLeast: OpAtMost, OpAtMost: OpAtLeast, OpAbove: OpBelow, OpBelow: OpAbove}[op]
	}
	switch op {
	case OpAtLeast:
		return []Range{{low, ""}}
	case OpAtMost:
		return []Range{{"", successor(high)}}
	case OpBelow:
		return []Range{{"", high}}
	case OpAbove:
		if low = successor(low); low == "" {
			return nil
		}
		return []Range{{low, ""}}
	}
	return []Range{{low, successor(high)}}
}

// encoded returns the encoded value of an operand. Indexed values have at most MaxIndexed
// bytes, so one byte more is enough for comparisons.
func (x *Index) encoded(s *Schema, column int, op Operator, text string) (string, error) {
	var b []byte
	var err error
	switch {
	case x.PerValue:
		var v string
		v, err = x.canonical(s, text)
		b = []byte(v)
	case x.Plain():
		b = []byte(x.plain(s, text))
	case op == OpPrefix:
		b = x.Encoding[column].AppendPrefix(nil, x.folded(text))
	default:
		b, err = x.AppendColumn(nil, s, column, text)
	}
	return string(b[:min(len(b), MaxIndexed+1)]), err
}

// Plain reports whether values are plain text: in the hash of a unique index, and in the keys
// of an index with a set per value.
func (x *Index) Plain() bool { return x.PerValue || x.Unique && len(x.Columns) == 1 }

// IsText reports whether a field has text, which can be compared case-insensitively.
func (s *Schema) IsText(field int) bool {
	return s.Fields[field].ValueKind().Column() == ordered.String
}

var errNoColumn = errors.New("the value ends before the column")

// Skip returns an encoded value without its leading columns.
func (x *Index) Skip(columns int, value string) (string, error) {
	for i := range columns {
		_, rest, err := x.Encoding[i].Next(value)
		if err != nil {
			return "", errNoColumn
		}
		value = rest
	}
	return value, nil
}
