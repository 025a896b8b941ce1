package ordered_test

import (
	"cmp"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"retwis/index/decimal"
	"retwis/internal/ordered"
	"retwis/internal/ordered/orderedtest"
)

// Encodings sort like their values, are no prefixes of each other, and decode to the same values.
func TestEncodingKeepsOrder(t *testing.T) {
	t.Parallel()
	for _, readable := range []bool{false, true} {
		rapid.Check(t, func(t *rapid.T) {
			c := orderedtest.DrawColumn(t, "c", readable)
			k := codec(t, c, readable)
			a, b := orderedtest.DrawValue(t, c), orderedtest.DrawValue(t, c)
			x, y := encoded(t, k, a), encoded(t, k, b)
			if got, want := cmp.Compare(x, y), orderedtest.Compare(c, a, b); got != want {
				t.Fatalf("%v: Compare(%v, %v) = %d, but the encodings %q and %q compare as %d", c, a, b, want, x, y, got)
			}
			if x != y && (strings.HasPrefix(x, y) || strings.HasPrefix(y, x)) {
				t.Fatalf("%v: one of %q and %q is a prefix of the other", c, x, y)
			}
			suffix := orderedtest.DrawText(t)
			value, after, err := k.Cut(x + suffix)
			if err != nil || value != x || after != suffix {
				t.Fatalf("%v: Cut(%q) = %q, %q, %v; want %q, %q", c, x+suffix, value, after, err, x, suffix)
			}
			back, err := k.Value(value)
			if err != nil || orderedtest.Compare(c, back, a) != 0 {
				t.Fatalf("%v: %v is decoded as %v, %v", c, a, back, err)
			}
			text, err := c.Parse(c.Format(a))
			if err != nil || encoded(t, k, text) != x {
				t.Fatalf("%v: %v is formatted as %q and parsed as %v, %v", c, a, c.Format(a), text, err)
			}
		})
	}
}

func codec(t *rapid.T, c ordered.Column, readable bool) ordered.Codec {
	encoding := ordered.NewEncoding
	if readable {
		encoding = ordered.NewReadable
	}
	e, err := encoding(c)
	if err != nil {
		t.Fatal(err)
	}
	return e[0]
}

func encoded(t *rapid.T, k ordered.Codec, v any) string {
	b, err := k.Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Cut and Value do not panic on arbitrary bytes.
func TestNothingPanics(t *testing.T) {
	t.Parallel()
	for _, readable := range []bool{false, true} {
		rapid.Check(t, func(t *rapid.T) {
			c := orderedtest.DrawColumn(t, "c", readable)
			k := codec(t, c, readable)
			value, _, err := k.Cut(string(rapid.SliceOf(rapid.Byte()).Draw(t, "member")))
			if err == nil {
				_, _ = k.Value(value)
			}
		})
	}
}

// Values of different Go types that represent the same column value, including text, have the same
// encoding.
func TestOneRuleForValues(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		column ordered.Column
		equal  []any
	}{
		{ordered.Column{Type: ordered.Int}, []any{5, int8(5), uint64(5), 5.0, float32(5), "5", "+5", "5.0", big.NewInt(5), decimal.New(50, 1)}},
		{ordered.Column{Type: ordered.Uint}, []any{5, 5.0, "5", big.NewInt(5), decimal.New(5, 0)}},
		{ordered.Column{Type: ordered.BigInt}, []any{5, 5.0, "5", big.NewInt(5), decimal.New(5, 0)}},
		{ordered.Column{Type: ordered.Decimal, Scale: 2}, []any{28.5, float32(28.5), "28.5", "28.500", decimal.New(285, 1), decimal.New(28500, 3)}},
		{ordered.Column{Type: ordered.Decimal, Scale: 2}, []any{7, 7.0, "7", big.NewInt(7), decimal.New(7, 0)}},
		{ordered.Column{Type: ordered.Decimal, Scale: 2}, []any{28.44, float32(28.44), "28.44", decimal.New(2844, 2)}},
		{ordered.Column{Type: ordered.Float}, []any{0.5, float32(0.5), "0.5", "5e-1", decimal.New(5, 1)}},
		{ordered.Column{Type: ordered.Bool}, []any{true, "true", "1"}},
		{ordered.Column{Type: ordered.String}, []any{"a", []byte("a")}},
		{ordered.Column{Type: ordered.Bytes}, []any{"a", []byte("a")}},
		{ordered.Column{Type: ordered.Time}, []any{time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), "2026-11-21", "2026-11-21 00:00:00", "2026-11-21T01:00:00+01:00"}},
	} {
		k, err := ordered.NewCodec(test.column)
		if err != nil {
			t.Fatal(err)
		}
		first, err := k.Append(nil, test.equal[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range test.equal {
			if b, err := k.Append(nil, v); err != nil || string(b) != string(first) {
				t.Errorf("%s: %T %v is encoded as %x, %v, want %x", test.column.Type, v, v, b, err, first)
			}
		}
	}
}

// A number beyond the range of a float64 is rejected, whatever its type.
func TestBeyondFloats(t *testing.T) {
	t.Parallel()
	k, err := ordered.NewCodec(ordered.Column{Type: ordered.Float})
	if err != nil {
		t.Fatal(err)
	}
	large := new(big.Int).Exp(big.NewInt(10), big.NewInt(400), nil)
	for _, v := range []any{
		"1e400", "-1e400",
		decimal.NewBig(large, 0), decimal.NewBig(new(big.Int).Neg(large), 0), decimal.NewBig(large, 2),
	} {
		if b, err := k.Append(nil, v); err == nil || !strings.HasSuffix(err.Error(), " is beyond the range of a float64") {
			t.Errorf("%T %.10v is encoded as %x, %v; want a range error", v, v, b, err)
		}
	}
	if _, err := k.Append(nil, decimal.NewBig(large, 100)); err != nil {
		t.Errorf("1e300: %v", err)
	}
}
