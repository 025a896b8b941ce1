package schema

import (
	"errors"
	"slices"
	"sort"
	"strings"

	"retwis/internal/ordered"
)

// span is a range of bytes: from low on, and below high, where there is one.
type Range struct{ Low, High string }

// successor are the first bytes behind all that begin with p, or nothing where
// there are none.
func successor(p string) string {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] != 0xff {
			return p[:i] + string([]byte{p[i] + 1})
		}
	}
	return ""
}

// startingWith is the span of all that begins with p.
func PrefixRange(p string) Range { return Range{p, successor(p)} }

// byLex are the ends of a span as ZRANGEBYLEX takes them.
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

// empty tells whether nothing is within.
func (s Range) empty() bool { return s.High != "" && s.Low >= s.High }

// behind is the span where something stands before all that is within it.
func (s Range) WithPrefix(prefix string) Range {
	if s.High == "" {
		return Range{prefix + s.Low, successor(prefix)}
	}
	return Range{prefix + s.Low, prefix + s.High}
}

// within tells whether bytes are in one of some spans, which are in order.
func InRanges(v string, spans []Range) bool {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].Low > v }) - 1
	return i >= 0 && (spans[i].High == "" || v < spans[i].High)
}

// intersection is what two lists of spans have in common.
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

// lesserEnd is the end that comes first; nothing is behind all.
func lowerEnd(a, b string) string {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// settledSpans puts spans in order, without those that are empty or there twice.
func SortRanges(all []Range) []Range {
	all = slices.DeleteFunc(all, Range.empty)
	slices.SortFunc(all, func(a, b Range) int { return strings.Compare(a.Low, b.Low) })
	return slices.Compact(all)
}

// spans are where the values of a column are that a condition asks for, as the
// index keeps them.
func (x *Index) Ranges(s *Schema, column int, op Operator, texts []string) ([]Range, error) {
	encoded := make([]string, len(texts))
	for i, t := range texts {
		var err error
		if encoded[i], err = x.encoded(s, column, op, t); err != nil {
			return nil, err
		}
	}
	switch {
	case x.PlainUnique():
		return RangesOf(encoded, func(v string) Range { return Range{v, v + "\x00"} }), nil
	case op.Exact() || op == OpPrefix:
		return RangesOf(encoded, PrefixRange), nil
	}
	return SortRanges(rangeSpan(op, x.Columns[column].Desc, encoded)), nil
}

func RangesOf(values []string, f func(string) Range) []Range {
	all := make([]Range, len(values))
	for i, v := range values {
		all[i] = f(v)
	}
	return SortRanges(all)
}

// rangeSpan is the span of a range of values; there is none where nothing can be
// within.
func rangeSpan(op Operator, desc bool, encoded []string) []Range {
	low, high := encoded[0], encoded[len(encoded)-1]
	if desc { // what is greater comes first
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

// encoded are the bytes of a value that is asked for. An index holds none that
// are longer than maxIndexed: one byte more tells what is before and behind.
func (x *Index) encoded(s *Schema, column int, op Operator, text string) (string, error) {
	var b []byte
	var err error
	switch {
	case x.PlainUnique():
		b = []byte(x.plain(s, text))
	case op == OpPrefix:
		b = x.Encoding[column].AppendPrefix(nil, x.folded(text))
	default:
		b, err = x.AppendColumn(nil, s, column, text)
	}
	return string(b[:min(len(b), MaxIndexed+1)]), err
}

// plainUnique tells whether the values are kept as they are in a hash.
func (x *Index) PlainUnique() bool { return x.Unique && len(x.Columns) == 1 }

// isText tells whether a column holds text, which can be folded.
func (s *Schema) IsText(field int) bool {
	return s.Fields[field].ValueKind().Column() == ordered.String
}

var errNoColumn = errors.New("it ends before the column")

// after is what of a value stands behind its first columns.
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
