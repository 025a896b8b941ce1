package index

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// columns draws the declarations of columns.
func drawColumn(t *rapid.T, name string, readable bool) Column {
	types := []Type{String, Bytes, Bool, Int, Uint, Decimal, Time, Float, BigInt}
	if readable {
		types = types[:7]
	}
	c := Column{Name: name, Type: rapid.SampledFrom(types).Draw(t, "type")}
	switch c.Type {
	case Decimal:
		c.Digits = rapid.SampledFrom([]int{1, 2, 6, 18, 19, 40}).Draw(t, "digits")
		c.Scale = rapid.IntRange(0, c.Digits).Draw(t, "scale")
	case BigInt:
		c.Bits = rapid.SampledFrom([]int{8, 64, 72, 512}).Draw(t, "bits")
	}
	c.Desc = !readable && rapid.Bool().Draw(t, "desc")
	c, err := c.settled()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// drawValue draws a value of a column; of few, so that some are equal.
func drawValue(t *rapid.T, c Column) any {
	sign := rapid.SampledFrom([]int64{-1, 1}).Draw(t, "sign")
	switch c.Type {
	case String:
		return drawBytes(t)
	case Bytes:
		return []byte(drawBytes(t))
	case Bool:
		return rapid.Bool().Draw(t, "bool")
	case Int:
		return rapid.OneOf(rapid.Int64Range(-3, 3), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64}), rapid.Int64()).Draw(t, "int")
	case Uint:
		return rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Just(uint64(math.MaxUint64)), rapid.Uint64()).Draw(t, "uint")
	case Float:
		return rapid.OneOf(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64}), rapid.Float64()).
			Filter(func(f float64) bool { return !math.IsNaN(f) }).Draw(t, "float")
	case Time:
		return time.Unix(rapid.OneOf(rapid.Int64Range(0, 2), rapid.Int64Range(-62135596800, 253402300799)).Draw(t, "seconds"), rapid.Int64Range(0, 2).Draw(t, "ns")).UTC()
	}
	k, err := newCodec(c, false)
	if err != nil {
		t.Fatal(err)
	}
	n := big.NewInt(sign * rapid.Int64Range(0, 12).Draw(t, "small"))
	switch rapid.IntRange(0, 3).Draw(t, "size") {
	case 0:
		n = new(big.Int).Set(k.low)
	case 1:
		n = new(big.Int).Set(k.high)
	}
	if n.Cmp(k.high) > 0 {
		n = k.high
	}
	if n.Cmp(k.low) < 0 {
		n = k.low
	}
	if c.Type == Decimal {
		return decimalText(n, c.Scale)
	}
	return n
}

// drawBytes draws short strings with the bytes that mean something here.
func drawBytes(t *rapid.T) string {
	return string(rapid.SliceOfN(rapid.SampledFrom([]byte("\x00\x01\xfe\xff:;ab 0")), 0, 4).Draw(t, "bytes"))
}

// compareValues is the order that a column has to have.
func compareValues(c Column, a, b any) int {
	n := 0
	switch a := a.(type) {
	case string:
		if c.Type == Decimal {
			x, _ := new(big.Rat).SetString(a)
			y, _ := new(big.Rat).SetString(b.(string))
			n = x.Cmp(y)
		} else {
			n = strings.Compare(a, b.(string))
		}
	case []byte:
		n = bytes.Compare(a, b.([]byte))
	case bool:
		if a != b.(bool) {
			n = 1
			if !a {
				n = -1
			}
		}
	case int64:
		n = cmp.Compare(a, b.(int64))
	case uint64:
		n = cmp.Compare(a, b.(uint64))
	case float64:
		n = cmp.Compare(a, b.(float64))
	case time.Time:
		n = a.Compare(b.(time.Time))
	case *big.Int:
		n = a.Cmp(b.(*big.Int))
	}
	if c.Desc {
		return -n
	}
	return n
}

// The order of encodings is the order of values, whatever stands behind them, and
// a value comes back as it was.
func TestEncodingKeepsOrder(t *testing.T) {
	t.Parallel()
	for _, readable := range []bool{false, true} {
		rapid.Check(t, func(t *rapid.T) {
			c := drawColumn(t, "c", readable)
			k, err := newCodec(c, readable)
			if err != nil {
				t.Fatal(err)
			}
			a, b := drawValue(t, c), drawValue(t, c)
			x, y := encoded(t, k, a), encoded(t, k, b)
			if got, want := cmp.Compare(x, y), compareValues(c, a, b); got != want {
				t.Fatalf("%v: %v and %v are in the order %d, encoded %q and %q in the order %d", c, a, b, want, x, y, got)
			}
			if x != y && (strings.HasPrefix(x, y) || strings.HasPrefix(y, x)) {
				t.Fatalf("%v: one of %q and %q begins the other", c, x, y)
			}
			rest := drawBytes(t)
			value, behind, err := k.cut(x + rest)
			if err != nil || value != x || behind != rest {
				t.Fatalf("%v: %q is cut into %q and %q, %v", c, x+rest, value, behind, err)
			}
			back, err := k.value(value)
			if err != nil || compareValues(c, back, a) != 0 {
				t.Fatalf("%v: %v comes back as %v, %v", c, a, back, err)
			}
			text, err := c.Parse(c.Format(a))
			if err != nil || encoded(t, k, text) != x {
				t.Fatalf("%v: %v is written %q and read as %v, %v", c, a, c.Format(a), text, err)
			}
		})
	}
}

func encoded(t *rapid.T, k codec, v any) string {
	b, err := k.append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Whatever stands in a database, it is read or refused.
func TestNothingPanics(t *testing.T) {
	t.Parallel()
	for _, readable := range []bool{false, true} {
		rapid.Check(t, func(t *rapid.T) {
			c := drawColumn(t, "c", readable)
			k, err := newCodec(c, readable)
			if err != nil {
				t.Fatal(err)
			}
			value, _, err := k.cut(string(rapid.SliceOf(rapid.Byte()).Draw(t, "member")))
			if err == nil {
				_, _ = k.value(value)
			}
		})
	}
}

func TestDeclarations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"room:int,price:decimal(2)":                   "room:int,price:decimal(2)",
		" a:int(4) asc , b:decimal(30, 2) desc ":      "a:int(4),b:decimal(30,2) desc",
		"a:bigint,b:uint(3),c:string desc,d-e_f:time": "a:bigint(256),b:uint(3),c:string desc,d-e_f:time",
		"a:decimal(18,18)":                            "a:decimal(18)",
	} {
		columns, err := ParseColumns(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var words []string
		for _, c := range columns {
			words = append(words, c.String())
		}
		if got := strings.Join(words, ","); got != want {
			t.Errorf("%q is read as %q, not %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"":                 "write NAME:TYPE",
		"room":             "write NAME:TYPE",
		"room:number":      `"number" is not a type`,
		"id:int":           `"id" is not a name`,
		"a b:int":          `"a b" is not a name`,
		"a:int,b:int(":     "column 2",
		"a:int(x)":         `"x" is not a number`,
		"a:int(20)":        "from 1 to 19 digits",
		"a:int(0)":         "the width is 0",
		"a:string(3)":      "string takes no (3)",
		"a:decimal(2,3)":   "not (2,3)",
		"a:bigint(7)":      "a multiple of 8",
		"a:int up":         `"up" is not an order`,
		"a:decimal(-1)":    "not (18,-1)",
		"a:decimal(9,2,1)": "takes no",
	} {
		if _, err := ParseColumns(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %q", text, err, want)
		}
	}
}

func FuzzParseColumns(f *testing.F) {
	f.Add("room:int,price:decimal(2),name:string desc")
	f.Fuzz(func(t *testing.T, text string) {
		columns, err := ParseColumns(text)
		if err != nil {
			return
		}
		for _, c := range columns {
			again, err := ParseColumns(c.String())
			if err != nil || len(again) != 1 || again[0] != c {
				t.Fatalf("%q: %+v is written %q and read as %+v, %v", text, c, c, again, err)
			}
		}
	})
}

// What a column cannot hold, or not order exactly, is refused by name.
func TestValuesRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		column string
		value  any
		want   string
	}{
		{"c:int", "5", "it is string, not an integer"},
		{"c:int", uint64(math.MaxUint64), "declare it a uint"},
		{"c:int", time.Second, "it is time.Duration"},
		{"c:int", nil, "it is <nil>"},
		{"c:int(2)", 100, "more than 2 digits"},
		{"c:uint", -1, "negative"},
		{"c:float", math.NaN(), "NaN"},
		{"c:float", 1<<53 + 1, "beyond ±2^53"},
		{"c:decimal(2)", 1.5, "write it as text"},
		{"c:decimal(2)", "1.234", "1.234 has more than 2 digits behind the point"},
		{"c:decimal(4,2)", "100", "more than 2 digits before the point"},
		{"c:decimal(4,2)", 100, "100.00 has more than 2 digits before the point"},
		{"c:decimal(2)", "1e3", "is not a number such as"},
		{"c:decimal(2)", ".", "is not a number such as"},
		{"c:decimal(2)", "--1", "is not a number such as"},
		{"c:bigint(8)", 128, "more than 8 bits"},
		{"c:bigint", "1", "it is string, not an integer"},
		{"c:time", "now", "not a time.Time"},
		{"c:bool", 1, "not a bool"},
		{"c:string", 1, "not a string"},
	} {
		columns, err := ParseColumns(test.column)
		if err != nil {
			t.Fatal(err)
		}
		c, err := NewComposite(none{}, "k", Options{Columns: columns})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Check("1", test.value)
		if !errors.Is(err, ErrValue) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "column c") {
			t.Errorf("%s: %v: %v, expected %q", test.column, test.value, err, test.want)
		}
	}
}
