package space

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"retwis/index"
	"retwis/index/decimal"
	"retwis/index/internal/entries"
	"retwis/internal/require"
)

func TestParseDims(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"x:int(0..400),y:int(0..400)":                          "x:int(0..400),y:int(0..400)",
		" x:int(-5..5) , y:decimal(1)(-1..1000)":               "x:int(-5..5),y:decimal(1)(-1..1000)",
		"price:decimal(2)(0..1000.50)":                         "price:decimal(2)(0..1000.5)",
		"n:decimal(0)(100..200)":                               "n:decimal(0)(100..200)",
		"t:time(2020-01-01..2030-01-01)":                       "t:time(2020-01-01..2030-01-01)",
		"t:time(2020-01-01T10:00:00Z..2030-01-01T00:00:00.5Z)": "t:time(2020-01-01T10:00:00Z..2030-01-01T00:00:00.5Z)",
		"t:time(2020-01-01T02:00:00+02:00..2030-01-01)":        "t:time(2020-01-01..2030-01-01)",
		"all:int(-9223372036854775808..9223372036854775807)":   "all:int(-9223372036854775808..9223372036854775807)",
		"geo": "lat:decimal(6)(-90..90),lon:decimal(6)(-180..180)",
	} {
		dims, err := ParseDims(text)
		if err != nil {
			t.Errorf("ParseDims(%q): %v", text, err)
			continue
		}
		if got := textOf(dims); got != want {
			t.Errorf("ParseDims(%q) = %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"":                                 "write NAME:TYPE",
		"x":                                "write NAME:TYPE",
		"x:int":                            "write NAME:TYPE",
		"x:int(0..)":                       "write NAME:TYPE",
		"x:int(0..1":                       "write NAME:TYPE",
		"x:int(1..1)":                      "less than the maximum",
		"x:int(2..1)":                      "less than the maximum",
		"x:int(0..1.5)":                    "not an integer",
		"x:int(0..9223372036854775808)":    "beyond",
		"x:decimal(19)(0..1)":              "digits after the point",
		"x:decimal(x)(0..1)":               "not a number of digits",
		"x:decimal(0..1)":                  "write NAME:TYPE",
		"x:bool(0..1)":                     "is not a type",
		"x:float(0..1)":                    "\"float\" is not a type: use int, decimal or time",
		"x:time(1500-01-01..2200-01-01)":   "584 years",
		"x:time(today..2200-01-01)":        "not a time",
		"id:int(0..1)":                     "not a name",
		"a b:int(0..1)":                    "not a name",
		"x:int(0..1),x:int(0..1)":          "the same name",
		strings.Repeat("x:int(0..1),", 40): "",
	} {
		dims, err := ParseDims(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseDims(%q) = %v, %v, want error with %q", shorten(text), dims, err, want)
		}
	}
}

// textOf formats dimensions for ParseDims.
func textOf(dims []Dim) string {
	texts := make([]string, len(dims))
	for i, d := range dims {
		texts[i] = d.String()
	}
	return strings.Join(texts, ",")
}

func FuzzParseDims(f *testing.F) {
	for _, seed := range []string{"x:int(0..400),y:int(0..400)", "p:decimal(2)(-1.5..1000)", "t:time(2020-01-01..2030-01-01)", "geo"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dims, err := ParseDims(text)
		if err != nil {
			return
		}
		reparsed, err := ParseDims(textOf(dims))
		if err != nil || textOf(reparsed) != textOf(dims) {
			t.Errorf("%q is formatted as %q, then as %q, %v", text, textOf(dims), textOf(reparsed), err)
		}
		if _, err := New(nil, "k", Options{Dims: dims}); err != nil && !strings.Contains(err.Error(), "client") {
			t.Errorf("New with dimensions %q: %v", text, err)
		}
	})
}

func TestDeclarationsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dims := anyDims(16).Draw(t, "dims")
		text := textOf(dims)
		reparsed, err := ParseDims(text)
		if err != nil || textOf(reparsed) != text {
			t.Fatalf("%q is parsed as %q, %v", text, textOf(reparsed), err)
		}
	})
}

func TestValues(t *testing.T) {
	t.Parallel()
	x := offline(t, "i:int(-10..10),p:decimal(2)(0..1000),t:time(2020-01-01..2030-01-01)")
	when := time.Date(2026, 11, 21, 10, 0, 0, 123456789, time.FixedZone("", 3600))
	valid := []any{-3, "28.44", when}
	m, err := x.reader.points.member("90", valid)
	require.OK(t)(err)
	e, err := x.reader.points.entry("90", m)
	require.OK(t)(err)
	if e.ID != "90" || e.Values[0] != int64(-3) || e.Values[1] != decimal.New(2844, 2) || !e.Values[2].(time.Time).Equal(when) {
		t.Errorf("got %v, want ID 90 and values %v", e, valid)
	}
	if got := x.reader.points.describe(m); got != "i=-3 p=28.44 t=2026-11-21T09:00:00.123456789Z" {
		t.Errorf("describe returned %s", got)
	}
	for _, equivalent := range [][]any{
		{int8(-3), "28.440", "2026-11-21T09:00:00Z"},
		{"-3", 28.44, when},
		{-3.0, float32(28.5), when},
	} {
		if err := x.Check("90", equivalent...); err != nil {
			t.Errorf("Check(%v): %v", equivalent, err)
		}
	}
	for _, c := range []struct {
		dim   int
		value any
		want  string
	}{
		{0, 11, "dimension i: 11 is outside of -10..10"},
		{0, uint64(math.MaxUint64), "outside"},
		{0, "99999999999999999999", "outside"},
		{0, 1.5, "1.5 is not an integer"},
		{0, "1e1", "not an integer"},
		{0, nil, "not an integer"},
		{0, time.Second, "not an integer"},
		{1, "28.445", "dimension p: 28.445 has more than 2 digits after the point"},
		{1, -1, "outside of 0.00..1000.00"},
		{1, math.NaN(), "NaN is not a number"},
		{2, "2019-12-31", "outside"},
		{2, time.Time{}, "outside"},
		{2, time.Date(2700, 1, 1, 0, 0, 0, 0, time.UTC), "outside"},
		{2, 5, "not a time"},
	} {
		values := append([]any(nil), valid...)
		values[c.dim] = c.value
		err := x.Check("90", values...)
		if !errors.Is(err, index.ErrValue) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Check(%v): %v, want error with %q", c.value, err, c.want)
		}
	}
	for _, id := range []string{"", strings.Repeat("x", entries.MaxID+1)} {
		if err := x.Check(id, valid...); !errors.Is(err, index.ErrValue) {
			t.Errorf("ID of %d bytes: %v, want ErrValue", len(id), err)
		}
	}
	if err := x.Check("90", valid[:2]...); !errors.Is(err, index.ErrValue) {
		t.Errorf("two values for three dimensions: %v, want ErrValue", err)
	}
}

// The longest range of a Time represents each of its 2^64 nanoseconds.
func TestLongestTime(t *testing.T) {
	t.Parallel()
	from := time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC)
	to := from.Add(math.MaxInt64).Add(math.MaxInt64).Add(1)
	x := offline(t, textOf([]Dim{{Name: "t", Type: Time, Min: from, Max: to}}))
	for _, when := range []time.Time{from, from.Add(1), from.Add(math.MaxInt64), from.Add(math.MaxInt64).Add(1), to.Add(-1), to} {
		m, err := x.reader.points.member("90", []any{when})
		require.OK(t)(err)
		if e, err := x.reader.points.entry("90", m); err != nil || !e.Values[0].(time.Time).Equal(when) {
			t.Errorf("%v is decoded as %v, %v", when, e.Values, err)
		}
	}
	if err := x.Check("90", to.Add(1)); !errors.Is(err, index.ErrValue) {
		t.Errorf("a time after Max: %v, want ErrValue", err)
	}
}

// anyDims generates declarations of up to limit dimensions of all types and widths.
func anyDims(limit int) *rapid.Generator[[]Dim] {
	return rapid.Custom(func(t *rapid.T) []Dim {
		dims := make([]Dim, rapid.IntRange(1, limit).Draw(t, "n"))
		for i := range dims {
			dims[i] = anyDim().Draw(t, "dim")
			dims[i].Name = string(rune('a' + i))
		}
		return dims
	})
}

func anyDim() *rapid.Generator[Dim] {
	return rapid.Custom(func(t *rapid.T) Dim {
		low := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-100, 100), rapid.Just(int64(math.MinInt64))).Draw(t, "low")
		high := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-100, 100), rapid.Just(int64(math.MaxInt64))).Draw(t, "high")
		if low > high {
			low, high = high, low
		}
		if low == high {
			low, high = -1, 300
		}
		switch d := (Dim{Name: "d", Type: rapid.SampledFrom([]Type{Int, Int, Decimal, Time}).Draw(t, "type")}); d.Type {
		case Int:
			d.Min, d.Max = low, high
			return d
		case Decimal:
			d.Scale = rapid.IntRange(0, maxScale).Draw(t, "scale")
			d.Min, d.Max = decimal.New(low, d.Scale), decimal.New(high, d.Scale)
			return d
		default:
			from := time.Unix(rapid.Int64Range(-1e10, 1e10).Draw(t, "from"), rapid.Int64Range(0, 999_999_999).Draw(t, "part"))
			d.Min = from
			d.Max = from.Add(time.Duration(rapid.OneOf(rapid.Int64Range(1, 1000), rapid.Int64Min(1)).Draw(t, "long")))
			return d
		}
	})
}
