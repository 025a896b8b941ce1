package index

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"
)

func wrongType(v any, want string) error { return fmt.Errorf("it is %T, not %s", v, want) }

func toText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	}
	return "", wrongType(v, "a string")
}

// integer returns any Go integer: as an int64, or as a uint64 where it is greater
// than all of these.
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
	}
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid():
		return 0, 0, false
	case r.CanInt():
		if r.Type() == reflect.TypeFor[time.Duration]() {
			return 0, 0, false
		}
		return r.Int(), 0, true
	case r.CanUint():
		return integer(r.Uint())
	}
	return 0, 0, false
}

func (k *codec) int(v any) (int64, error) {
	n, u, ok := integer(v)
	switch {
	case !ok:
		return 0, wrongType(v, "an integer")
	case u != 0:
		return 0, fmt.Errorf("%d is greater than %d: declare it a uint or a bigint", u, math.MaxInt64)
	case !fits(n, k.Digits):
		return 0, fmt.Errorf("%d has more than %d digits", n, k.Digits)
	}
	return n, nil
}

// fits tells whether a number has at most so many digits.
func fits(n int64, digits int) bool {
	if digits >= defaultInt {
		return true
	}
	limit := int64(1)
	for range digits {
		limit *= 10
	}
	return n < limit && n > -limit
}

func (k *codec) uint(v any) (uint64, error) {
	n, u, ok := integer(v)
	switch {
	case !ok:
		return 0, wrongType(v, "an integer")
	case n < 0:
		return 0, fmt.Errorf("%d is negative: declare it an int", n)
	case u == 0:
		u = uint64(n)
	}
	if len(strconv.FormatUint(u, 10)) > k.Digits {
		return 0, fmt.Errorf("%d has more than %d digits", u, k.Digits)
	}
	return u, nil
}

// exactFloat is the greatest integer up to which every one is a float64.
const exactFloat = 1 << 53

func toFloat(v any) (float64, error) {
	switch f := v.(type) {
	case float64:
		if math.IsNaN(f) {
			return 0, errors.New("it is not a number (NaN), and has no place in an order")
		}
		return f, nil
	case float32:
		return toFloat(float64(f))
	}
	n, u, ok := integer(v)
	switch {
	case !ok:
		return 0, wrongType(v, "a float64")
	case u != 0 || n > exactFloat || n < -exactFloat:
		return 0, fmt.Errorf("%v is beyond ±2^53, where a float64 cannot tell integers apart: declare it an int", v)
	}
	return float64(n), nil
}

// big returns the value of a BigInt, or of a Decimal in units of its last digit.
func (k *codec) big(v any) (*big.Int, error) {
	n, err := k.unbounded(v)
	if err != nil {
		return nil, err
	}
	if n.Cmp(k.low) < 0 || n.Cmp(k.high) > 0 {
		if k.Type == BigInt {
			return nil, fmt.Errorf("it has more than %d bits", k.Bits)
		}
		return nil, fmt.Errorf("%s has more than %d digits before the point", decimalText(n, k.Scale), k.Digits-k.Scale)
	}
	return n, nil
}

func (k *codec) unbounded(v any) (*big.Int, error) {
	var n *big.Int
	if b, ok := v.(*big.Int); ok && b != nil {
		n = b
	} else if i, u, ok := integer(v); ok {
		if n = big.NewInt(i); u != 0 {
			n.SetUint64(u)
		}
	}
	switch text, isText := v.(string); {
	case n != nil && k.Scale == 0:
		return n, nil
	case n != nil:
		return new(big.Int).Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(k.Scale)), nil)), nil
	case k.Type == Decimal && isText:
		return parseDecimal(text, k.Scale, k.Digits)
	case k.Type == Decimal:
		return nil, wrongType(v, `a decimal: write it as text, as in "28.44"`)
	}
	return nil, wrongType(v, "an integer")
}

// parseDecimal reads a number as so many units of its last digit.
func parseDecimal(text string, scale, digits int) (*big.Int, error) {
	s := text
	negative := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	whole, fraction, point := strings.Cut(s, ".")
	if whole == "" && fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" || point && fraction == "" {
		return nil, fmt.Errorf("%q is not a number such as 28.44", shortened(text))
	}
	whole = strings.TrimLeft(whole, "0")
	if len(whole) > digits-scale {
		return nil, fmt.Errorf("%s has more than %d digits before the point", shortened(text), digits-scale)
	}
	if len(fraction) > scale && strings.Trim(fraction[scale:], "0") != "" {
		return nil, fmt.Errorf("%s has more than %d digits behind the point", shortened(text), scale)
	}
	fraction = fraction[:min(len(fraction), scale)]
	n := new(big.Int)
	if s := whole + fraction + strings.Repeat("0", scale-len(fraction)); s != "" {
		n.SetString(s, 10)
	}
	if negative {
		n.Neg(n)
	}
	return n, nil
}

// decimalText words a number of units of the last digit.
func decimalText(n *big.Int, scale int) string {
	digits := new(big.Int).Abs(n).String()
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	sign := ""
	if n.Sign() < 0 {
		sign = "-"
	}
	if scale == 0 {
		return sign + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}

func shortened(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// Parse reads a value of the column from text, as it stands in a file or in the
// field of a hash: 56, 28.44, true, 2026-11-21T10:00:00Z or 2026-11-21.
func (c Column) Parse(text string) (any, error) {
	v, err := c.parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: column %s: %w", ErrValue, c.Name, err)
	}
	return v, nil
}

func (c Column) parse(text string) (any, error) {
	switch c.Type {
	case String, Decimal:
		return text, nil
	case Bytes:
		return []byte(text), nil
	case Bool:
		switch text {
		case "true", "1":
			return true, nil
		case "false", "0":
			return false, nil
		}
		return nil, fmt.Errorf("%q is not true or false", shortened(text))
	case Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not %s", shortened(text), outOf(err, "an int, from -2^63 to 2^63-1", "an integer"))
		}
		return n, nil
	case Uint:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not %s", shortened(text), outOf(err, "a uint, from 0 to 2^64-1", "an integer from 0 on"))
		}
		return n, nil
	case Float:
		return parseFloat(text)
	case Time:
		for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
			if t, err := time.Parse(layout, text); err == nil {
				return t.UTC(), nil
			}
		}
		return nil, fmt.Errorf("%q is not a time such as 2026-11-21T10:00:00Z or 2026-11-21", shortened(text))
	}
	n, ok := new(big.Int), len(text) <= maxBits
	if ok {
		n, ok = n.SetString(text, 10)
	}
	if !ok {
		return nil, fmt.Errorf("%q is not an integer", shortened(text))
	}
	return n, nil
}

// outOf words why a number could not be read.
func outOf(err error, outside, otherwise string) string {
	if errors.Is(err, strconv.ErrRange) {
		return outside
	}
	return otherwise
}

func parseFloat(text string) (any, error) {
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return nil, fmt.Errorf("%s is beyond the range of a float64", shortened(text))
	case err != nil || strings.ContainsAny(text, "xX_"):
		return nil, fmt.Errorf("%q is not a number", shortened(text))
	case math.IsNaN(f):
		return nil, errors.New("NaN has no place in an order")
	}
	return f, nil
}

// Format words a value of the column so that Parse reads it.
func (c Column) Format(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// described words a value in a report.
func (c Column) described(v any) string {
	switch v := v.(type) {
	case string:
		if c.Type == Decimal {
			return v
		}
		return strconv.Quote(v)
	case []byte:
		return hex.EncodeToString(v)
	}
	return c.Format(v)
}
