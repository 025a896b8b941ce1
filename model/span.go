package model

import (
	"errors"
	"slices"
	"sort"
	"strings"

	"retwis/internal/ordered"
)

// span is a range of bytes: from low on, and below high, where there is one.
type span struct{ low, high string }

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
func startingWith(p string) span { return span{p, successor(p)} }

// byLex are the ends of a span as ZRANGEBYLEX takes them.
func (s span) byLex() (from, to string) {
	from, to = "["+s.low, "("+s.high
	if s.low == "" {
		from = "-"
	}
	if s.high == "" {
		to = "+"
	}
	return from, to
}

// empty tells whether nothing is within.
func (s span) empty() bool { return s.high != "" && s.low >= s.high }

// behind is the span where something stands before all that is within it.
func (s span) behind(prefix string) span {
	if s.high == "" {
		return span{prefix + s.low, successor(prefix)}
	}
	return span{prefix + s.low, prefix + s.high}
}

// within tells whether bytes are in one of some spans, which are in order.
func within(v string, spans []span) bool {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].low > v }) - 1
	return i >= 0 && (spans[i].high == "" || v < spans[i].high)
}

// intersection is what two lists of spans have in common.
func intersection(a, b []span) []span {
	var all []span
	for i, j := 0, 0; i < len(a) && j < len(b); {
		both := span{max(a[i].low, b[j].low), lesserEnd(a[i].high, b[j].high)}
		if !both.empty() {
			all = append(all, both)
		}
		if a[i].high == both.high {
			i++
		} else {
			j++
		}
	}
	return all
}

// lesserEnd is the end that comes first; nothing is behind all.
func lesserEnd(a, b string) string {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// settledSpans puts spans in order, without those that are empty or there twice.
func settledSpans(all []span) []span {
	all = slices.DeleteFunc(all, span.empty)
	slices.SortFunc(all, func(a, b span) int { return strings.Compare(a.low, b.low) })
	return slices.Compact(all)
}

// spans are where the values of a column are that a condition asks for, as the
// index keeps them.
func (x *indexSpec) spans(s *schema, column int, e *expr) ([]span, error) {
	encoded := make([]string, len(e.texts))
	for i, t := range e.texts {
		var err error
		if encoded[i], err = x.encoded(s, column, e.op, t); err != nil {
			return nil, err
		}
	}
	switch {
	case x.plainUnique():
		return eachOf(encoded, func(v string) span { return span{v, v + "\x00"} }), nil
	case e.op.exact() || e.op == opPrefix:
		return eachOf(encoded, startingWith), nil
	}
	return settledSpans(rangeSpan(e.op, x.Columns[column].Desc, encoded)), nil
}

func eachOf(values []string, f func(string) span) []span {
	all := make([]span, len(values))
	for i, v := range values {
		all[i] = f(v)
	}
	return settledSpans(all)
}

// rangeSpan is the span of a range of values; there is none where nothing can be
// within.
func rangeSpan(op operator, desc bool, encoded []string) []span {
	low, high := encoded[0], encoded[len(encoded)-1]
	if desc { // what is greater comes first
		low, high = high, low
		op = map[operator]operator{opBetween: opBetween, opAtLeast: opAtMost, opAtMost: opAtLeast, opAbove: opBelow, opBelow: opAbove}[op]
	}
	switch op {
	case opAtLeast:
		return []span{{low, ""}}
	case opAtMost:
		return []span{{"", successor(high)}}
	case opBelow:
		return []span{{"", high}}
	case opAbove:
		if low = successor(low); low == "" {
			return nil
		}
		return []span{{low, ""}}
	}
	return []span{{low, successor(high)}}
}

// encoded are the bytes of a value that is asked for. An index holds none that
// are longer than maxIndexed: one byte more tells what is before and behind.
func (x *indexSpec) encoded(s *schema, column int, op operator, text string) (string, error) {
	var b []byte
	var err error
	switch {
	case x.plainUnique():
		b = []byte(x.plain(s, text))
	case op == opPrefix:
		b = x.encoding[column].AppendPrefix(nil, x.folded(text))
	default:
		b, err = x.appendColumn(nil, s, column, text)
	}
	return string(b[:min(len(b), maxIndexed+1)]), err
}

// plainUnique tells whether the values are kept as they are in a hash.
func (x *indexSpec) plainUnique() bool { return x.Unique && len(x.Columns) == 1 }

// isText tells whether a column holds text, which can be folded.
func (s *schema) isText(field int) bool {
	return s.fields[field].valueKind().column() == ordered.String
}

var errNoColumn = errors.New("it ends before the column")

// after is what of a value stands behind its first columns.
func (x *indexSpec) after(columns int, value string) (string, error) {
	for i := range columns {
		_, rest, err := x.encoding[i].Next(value)
		if err != nil {
			return "", errNoColumn
		}
		value = rest
	}
	return value, nil
}
