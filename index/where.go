package index

import (
	"fmt"

	"retwis/internal/ordered"
)

// Where is a condition on a column of a Composite. All conditions of a query have
// to hold.
type Where struct {
	column  string
	compare comparison
	a, b    any
}

type comparison int

const (
	equal comparison = iota
	between
	atLeast
	above
	atMost
	below
	startsWith
)

// Equal asks for one value.
func Equal(column string, value any) Where { return Where{column, equal, value, nil} }

// Between asks for values from low to high, both included.
func Between(column string, low, high any) Where { return Where{column, between, low, high} }

// AtLeast asks for a value and all that are greater.
func AtLeast(column string, low any) Where { return Where{column, atLeast, low, nil} }

// Above asks for values that are greater.
func Above(column string, low any) Where { return Where{column, above, low, nil} }

// AtMost asks for a value and all that are less.
func AtMost(column string, high any) Where { return Where{column, atMost, high, nil} }

// Below asks for values that are less.
func Below(column string, high any) Where { return Where{column, below, high, nil} }

// StartsWith asks for strings, or bytes, that begin with some others.
func StartsWith(column, prefix string) Where { return Where{column, startsWith, prefix, nil} }

// bounds are the bytes between which a column has to be: not below low, and below
// high. An empty bound is none.
type bounds struct {
	low, high string
	exact     string // the only bytes that are within; empty: there may be others
	none      bool   // nothing is within
}

// limit narrows the bounds.
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

// narrow narrows the bounds by a condition.
func (b *bounds) narrow(k *ordered.Codec, w Where) error {
	if w.compare == startsWith {
		if k.Type != String && k.Type != Bytes {
			return fmt.Errorf("%w: column %s: only strings and bytes have prefixes, this is %s", ErrValue, k.Name, k.Type)
		}
		p := string(k.AppendPrefix(nil, w.a.(string)))
		if p != "" {
			b.limit(p, ordered.Successor(p))
		}
		return nil
	}
	first, err := k.Append(nil, w.a)
	if err != nil {
		return err
	}
	last := first
	if w.compare == between {
		if last, err = k.Append(nil, w.b); err != nil {
			return err
		}
	}
	low, high, compare := string(first), string(last), w.compare
	if k.Desc { // what is greater comes first
		low, high = high, low
		compare = map[comparison]comparison{atLeast: atMost, above: below, atMost: atLeast, below: above}[compare]
		if w.compare == equal || w.compare == between {
			compare = w.compare
		}
	}
	switch compare {
	case equal:
		b.limit(low, ordered.Successor(low))
		b.exact = low
	case between:
		b.limit(low, ordered.Successor(high))
	case atLeast:
		b.limit(low, "")
	case above:
		next := ordered.Successor(low)
		b.none = b.none || next == ""
		b.limit(next, "")
	case atMost:
		b.limit("", ordered.Successor(high))
	case below:
		b.limit("", high)
		b.none = b.none || high == ""
	}
	return nil
}

// holds tells whether there is a bound.
func (b *bounds) holds() bool { return b.low != "" || b.high != "" || b.none }
