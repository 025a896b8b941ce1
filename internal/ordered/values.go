package ordered

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"retwis/index/decimal"
)

func toText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	}
	return "", wrongType(v, "a string")
}

func toBool(v any) (bool, error) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case string:
		return parseBool(v)
	}
	return false, wrongType(v, "a bool")
}

func parseBool(text string) (bool, error) {
	switch text {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is not true or false", shorten(text))
}

// ToTime converts a time.Time, or text such as 2026-11-21T10:00:00Z or 2026-11-21, to a time.Time.
func ToTime(v any) (time.Time, error) {
	switch v := v.(type) {
	case time.Time:
		return v, nil
	case string:
		return parseTime(v)
	}
	return time.Time{}, wrongType(v, "a time.Time")
}

func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			if tooFine(text) {
				return time.Time{}, fmt.Errorf("%s has more than 9 digits of a second", shorten(text))
			}
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time such as 2026-11-21T10:00:00Z or 2026-11-21", shorten(text))
}

// tooFine reports whether a time has a fraction of a nanosecond, which time.Parse drops.
func tooFine(text string) bool {
	at := strings.IndexAny(text, ".,")
	if at < 0 {
		return false
	}
	digits := text[at+1:]
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end]
	}
	return len(digits) > 9 && strings.Trim(digits[9:], "0") != ""
}

// Int64 returns the value of an Int, or of a Decimal in units of its last digit. If the number does
// not fit into an int64, the error wraps ErrRange.
func (c Column) Int64(v any) (int64, error) {
	if c.Type == Int {
		return c.toInt(v)
	}
	d, err := c.toDecimal(v)
	if err != nil {
		return 0, err
	}
	n, ok := d.Int64()
	if !ok {
		return 0, fmt.Errorf("%s is %w of a decimal", shorten(d.String()), ErrRange)
	}
	return n, nil
}

// toInt returns the value of an Int column.
func (c Column) toInt(v any) (int64, error) {
	n, u, ok := integer(v)
	if !ok {
		d, err := anyInteger(v)
		if err != nil {
			return 0, err
		}
		if n, ok = d.Int64(); !ok {
			return 0, fmt.Errorf("%s is %w of an int, from -2^63 to 2^63-1", shorten(d.String()), ErrRange)
		}
	}
	switch {
	case u != 0:
		return 0, fmt.Errorf("%d is %w of an int: declare it a uint or a bigint", u, ErrRange)
	case c.Digits != 0 && !fits(n, c.Digits):
		return 0, fmt.Errorf("%d has more than %d digits", n, c.Digits)
	}
	return n, nil
}

// fits reports whether n has at most digits digits.
func fits(n int64, digits int) bool {
	if digits >= DefaultInt {
		return true
	}
	limit := int64(1)
	for range digits {
		limit *= 10
	}
	return n < limit && n > -limit
}

// toUint returns the value of a Uint column.
func (c Column) toUint(v any) (uint64, error) {
	n, u, ok := integer(v)
	if !ok {
		d, err := anyInteger(v)
		if err != nil {
			return 0, err
		}
		if n, ok = d.Int64(); !ok {
			big := d.Units()
			if !big.IsUint64() {
				return 0, fmt.Errorf("%s is %w of a uint, from 0 to 2^64-1", shorten(d.String()), ErrRange)
			}
			u = big.Uint64()
		}
	}
	switch {
	case n < 0:
		return 0, fmt.Errorf("%d is negative: declare it an int", n)
	case u == 0:
		u = uint64(n)
	}
	if c.Digits != 0 && len(strconv.FormatUint(u, 10)) > c.Digits {
		return 0, fmt.Errorf("%d has more than %d digits", u, c.Digits)
	}
	return u, nil
}

// toDecimal returns the value of a Decimal column at its scale.
func (c Column) toDecimal(v any) (decimal.Decimal, error) {
	d, err := Number(v, "a number such as 28.44")
	if err != nil {
		return d, err
	}
	return rescale(d, c.Scale)
}

// Parse parses a value as found in a file or hash field: 56, 28.44, true, 2026-11-21T10:00:00Z
// or 2026-11-21. The result has the Go type that decoding returns.
func (c Column) Parse(text string) (any, error) {
	v, err := c.parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: column %s: %w", ErrValue, c.Name, err)
	}
	return v, nil
}

func (c Column) parse(text string) (any, error) {
	switch c.Type {
	case String:
		return text, nil
	case Bytes:
		return []byte(text), nil
	case Bool:
		return parseBool(text)
	case Int:
		c.Digits = 0 // encoding checks the digits
		return c.toInt(text)
	case Uint:
		c.Digits = 0
		return c.toUint(text)
	case Float:
		return parseFloat(text)
	case Time:
		return parseTime(text)
	case Decimal:
		return c.toDecimal(text)
	}
	d, err := anyInteger(text)
	if err != nil {
		return nil, err
	}
	return d.Units(), nil
}

// Format formats a value of the column as text that Parse reads.
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

// Describe formats a value for a report, with quoted text and hexadecimal bytes.
func (c Column) Describe(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case []byte:
		return hex.EncodeToString(v)
	}
	return c.Format(v)
}
