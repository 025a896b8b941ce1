package ordered

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"retwis/index/decimal"
)

// ErrRange is returned for a number that is too large for a column.
var ErrRange = errors.New("beyond the range")

func wrongType(v any, want string) error { return fmt.Errorf("it is %T, not %s", v, want) }

// integer converts a Go integer to an int64, or to a uint64 if it overflows an int64.
func integer(v any) (n int64, u uint64, ok bool) {
	switch v := v.(type) {
	case int:
		return int64(v), 0, true
	case int64:
		return v, 0, true
	case uint64:
		if v > math.MaxInt64 {
			return 0, v, true
		}
		return int64(v), 0, true
	case time.Duration, nil:
		return 0, 0, false
	}
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return r.Int(), 0, true
	case r.CanUint():
		return integer(r.Uint())
	}
	return 0, 0, false
}

// Number converts a number exactly: a decimal.Decimal, *big.Int, Go integer or float, or text
// such as -28.44. want describes the expected value for the error.
func Number(v any, want string) (decimal.Decimal, error) {
	switch v := v.(type) {
	case decimal.Decimal:
		return v, nil
	case string:
		d, err := decimal.Parse(v)
		if errors.Is(err, decimal.ErrSyntax) {
			err = fmt.Errorf("%q is not %s", shorten(v), want)
		}
		return d, err
	case *big.Int:
		if v != nil {
			return decimal.NewBig(v, 0), nil
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return decimal.Decimal{}, fmt.Errorf("%v is not %s", v, want)
		}
		// The shortest text that parses to this float: 28.44 becomes the decimal 28.44.
		return decimal.Parse(strconv.FormatFloat(v, 'f', -1, 64))
	case float32:
		f, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
		if err != nil {
			return decimal.Decimal{}, err
		}
		return Number(f, want)
	}
	n, u, ok := integer(v)
	if !ok {
		return decimal.Decimal{}, wrongType(v, want)
	}
	if u != 0 {
		return decimal.NewBig(new(big.Int).SetUint64(u), 0), nil
	}
	return decimal.New(n, 0), nil
}

// rescale returns a number at a scale, or an error if the number has more digits after the point.
func rescale(d decimal.Decimal, scale int) (decimal.Decimal, error) {
	e, exact := d.Rescale(scale)
	if exact {
		return e, nil
	}
	text := shorten(strings.TrimRight(d.String(), "0"))
	switch scale {
	case 0:
		return e, fmt.Errorf("%s is not an integer", text)
	case 1:
		return e, fmt.Errorf("%s has more than 1 digit after the point", text)
	}
	return e, fmt.Errorf("%s has more than %d digits after the point", text, scale)
}

// anyInteger returns an integer of any size.
func anyInteger(v any) (decimal.Decimal, error) {
	if text, ok := v.(string); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return decimal.New(n, 0), nil
		}
	}
	d, err := Number(v, "an integer")
	if err == nil && d.Scale() != 0 {
		d, err = rescale(d, 0)
	}
	return d, err
}

// exactFloat is the largest n such that a float64 holds all integers up to n.
const exactFloat = 1 << 53

// ToFloat converts a number to a float64, and a decimal or text to the nearest float64. For a
// decimal beyond the range it returns an infinity and an error.
func ToFloat(v any) (float64, error) {
	switch f := v.(type) {
	case float64:
		if math.IsNaN(f) {
			return 0, errors.New("it is not a number (NaN), which cannot be ordered")
		}
		return f, nil
	case float32:
		return ToFloat(float64(f))
	case decimal.Decimal:
		n := f.Float64()
		if math.IsInf(n, 0) {
			return n, beyondFloat(f.String())
		}
		return n, nil
	case string:
		return parseFloat(f)
	}
	n, u, ok := integer(v)
	switch {
	case !ok:
		return 0, wrongType(v, "a number")
	case u != 0 || n > exactFloat || n < -exactFloat:
		return 0, fmt.Errorf("%v is beyond ±2^53, where a float64 cannot hold every integer: declare it an int", v)
	}
	return float64(n), nil
}

func parseFloat(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, beyondFloat(text)
	case err != nil || strings.ContainsAny(text, "xX_"):
		return 0, fmt.Errorf("%q is not a number", shorten(text))
	case math.IsNaN(f):
		return 0, errors.New("NaN cannot be ordered")
	}
	return f, nil
}

func beyondFloat(text string) error {
	return fmt.Errorf("%s is beyond the range of a float64", shorten(text))
}

// FloatBits returns bits that sort as floats do: it inverts the sign bit of the IEEE 754
// representation, and all bits of negative numbers. -0 equals 0.
func FloatBits(f float64) uint64 {
	bits := math.Float64bits(f + 0)
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}

// FloatFromBits is the inverse of FloatBits.
func FloatFromBits(bits uint64) float64 {
	if bits>>63 != 0 {
		return math.Float64frombits(bits &^ (1 << 63))
	}
	return math.Float64frombits(^bits)
}

func shorten(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
