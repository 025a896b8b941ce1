package decimal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"retwis/index/decimal"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"28.44": "28.44", "-0.50": "-0.50", "+7": "7", ".5": "0.5", "007.0": "7.0", "-0": "0",
		"999999999999999999":    "999999999999999999",
		"9223372036854775808":   "9223372036854775808",
		"-9223372036854775808":  "-9223372036854775808",
		"0.0000000000000000001": "0.0000000000000000001",
	} {
		d, err := decimal.Parse(text)
		if err != nil || d.String() != want {
			t.Errorf("Parse(%q) = %s, %v, want %s", text, d, err, want)
		}
	}
	for _, text := range []string{"", ".", "-", "1.", "1e3", "--1", "1_000", "0x1", "NaN", "1/2", " 1"} {
		if d, err := decimal.Parse(text); !errors.Is(err, decimal.ErrSyntax) {
			t.Errorf("Parse(%q) = %s, %v, want ErrSyntax", text, d, err)
		}
	}
	if _, err := decimal.Parse(strings.Repeat("9", 2001)); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("Parse of 2001 digits: %v, want error with %q", err, "too long")
	}
}

// drawDecimal draws a Decimal of up to 31 digits.
func drawDecimal(t *rapid.T, name string) decimal.Decimal {
	scale := rapid.IntRange(0, 22).Draw(t, name+" scale")
	if rapid.Bool().Draw(t, name+" small") {
		return decimal.New(rapid.OneOf(rapid.Int64Range(-20, 20), rapid.Int64()).Draw(t, name), scale)
	}
	units, _ := new(big.Int).SetString(rapid.StringMatching(`-?[1-9][0-9]{0,30}`).Draw(t, name), 10)
	return decimal.NewBig(units, scale)
}

// Decimals agree with big.Rat.
func TestAgainstFractions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d, e := drawDecimal(t, "d"), drawDecimal(t, "e")
		if got, want := d.Cmp(e), d.Rat().Cmp(e.Rat()); got != want {
			t.Fatalf("%s.Cmp(%s) = %d, want %d", d, e, got, want)
		}
		if d.Sign() != d.Rat().Sign() {
			t.Fatalf("%s.Sign() = %d, want %d", d, d.Sign(), d.Rat().Sign())
		}
		reparsed, err := decimal.Parse(d.String())
		if err != nil || reparsed.Cmp(d) != 0 || reparsed.Scale() != d.Scale() || d.String() != d.Rat().FloatString(d.Scale()) {
			t.Fatalf("Parse(%s) = %s, %v", d, reparsed, err)
		}
		if f, _ := d.Rat().Float64(); f != d.Float64() {
			t.Fatalf("%s.Float64() = %g, want %g", d, d.Float64(), f)
		}
		scale := rapid.IntRange(0, 25).Draw(t, "scale")
		low, high := d.Floor(scale), d.Ceil(scale)
		unit := decimal.New(1, scale).Rat()
		gap := new(big.Rat).Sub(high.Rat(), low.Rat())
		rescaled, exact := d.Rescale(scale)
		switch {
		case low.Scale() != scale || high.Scale() != scale || low.Cmp(d) > 0 || high.Cmp(d) < 0:
			t.Fatalf("%s at scale %d: floor %s, ceil %s", d, scale, low, high)
		case exact && (gap.Sign() != 0 || rescaled.Cmp(d) != 0), !exact && gap.Cmp(unit) != 0:
			t.Fatalf("%s at scale %d: rescaled %s, exact %v, floor %s, ceil %s", d, scale, rescaled, exact, low, high)
		}
	})
}

func Example() {
	d, err := decimal.Parse("28.40")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d, d.Units(), d.Cmp(decimal.New(284, 1)) == 0)
	total := d.Rat()
	total.Mul(total, big.NewRat(3, 1))
	fmt.Println(total.FloatString(2))
	text, err := json.Marshal(map[string]any{"price": d})
	fmt.Println(string(text), err)
	// Output:
	// 28.40 2840 true
	// 85.20
	// {"price":"28.40"} <nil>
}
