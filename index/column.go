package index

import (
	"fmt"
	"strconv"
	"strings"

	"retwis/internal/ordered"
)

// Type is the type of a column's values.
type Type string

// The types of columns, with the Go types of the values they return.
//
// A column accepts values of its Go type and text that Column.Parse reads. Number columns accept
// every Go number that they hold exactly: a Decimal of scale 2 accepts 28, 28.44 and "28.440",
// but not 28.444. Any other value is refused with ErrValue.
const (
	String  Type = "string"  // string, any bytes
	Bytes   Type = "bytes"   // []byte
	Bool    Type = "bool"    // bool, false first
	Int     Type = "int"     // int64
	Uint    Type = "uint"    // uint64
	Float   Type = "float"   // float64 without NaN; -0 is 0
	Time    Type = "time"    // time.Time in UTC, to the nanosecond
	BigInt  Type = "bigint"  // *big.Int of a declared width
	Decimal Type = "decimal" // decimal.Decimal with a declared number of digits
)

// Column is one column of a Composite.
type Column struct {
	Name string // letters, digits, - and _, but not id
	Type Type
	// Digits is the maximum number of decimal digits of an Int, Uint or Decimal, before and
	// after the point. Default: 19, 20 and 18, respectively; 19 digits hold every int64, and 20
	// every uint64.
	Digits int
	// Scale is the number of digits of a Decimal after the point.
	Scale int
	// Bits is the width of a BigInt including its sign, a multiple of 8. Default: 256.
	Bits int
	// Desc sorts the column in descending order.
	Desc bool
}

// Limits of a declaration.
const (
	maxColumns = 32
	maxName    = 64
)

// String formats the column as ParseColumns reads it.
func (c Column) String() string {
	text := c.Name + ":" + string(c.Type)
	switch {
	case c.Type == Decimal && c.Digits == ordered.DefaultDecimal:
		text += fmt.Sprintf("(%d)", c.Scale)
	case c.Type == Decimal:
		text += fmt.Sprintf("(%d,%d)", c.Digits, c.Scale)
	case c.Type == Int && c.Digits != ordered.DefaultInt, c.Type == Uint && c.Digits != ordered.DefaultUint:
		text += fmt.Sprintf("(%d)", c.Digits)
	case c.Type == BigInt:
		text += fmt.Sprintf("(%d)", c.Bits)
	}
	if c.Desc {
		text += " desc"
	}
	return text
}

// Parse parses a value as found in a file or hash field: 56, 28.44, true, 2026-11-21T10:00:00Z
// or 2026-11-21. It returns a value of the column's Go type, or ErrValue.
func (c Column) Parse(text string) (any, error) { return c.ordered().Parse(text) }

// Format formats a value of the column as text that Parse reads.
func (c Column) Format(v any) string { return c.ordered().Format(v) }

// ordered converts the column for package ordered.
func (c Column) ordered() ordered.Column {
	return ordered.Column{Name: c.Name, Type: ordered.Type(c.Type), Digits: c.Digits, Scale: c.Scale, Bits: c.Bits, Desc: c.Desc}
}

// ParseColumns parses a declaration such as
//
//	room:int,price:decimal(2),name:string desc
//
// decimal(2) has 18 digits, 2 of them after the point; decimal(30,2) has 30 digits; int(4) has
// at most 4 digits; bigint(512) has 512 bits.
func ParseColumns(text string) ([]Column, error) {
	var columns []Column
	for _, part := range splitColumns(text) {
		c, err := parseColumn(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("index: column %d, %q: %w", len(columns)+1, part, err)
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// splitColumns splits text at commas outside parentheses.
func splitColumns(text string) []string {
	var all []string
	depth, begin := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				all = append(all, text[begin:i])
				begin = i + 1
			}
		}
	}
	return append(all, text[begin:])
}

// parseColumn parses one column of a declaration.
func parseColumn(text string) (Column, error) {
	name, rest, ok := strings.Cut(text, ":")
	if !ok {
		return Column{}, fmt.Errorf("write NAME:TYPE, as in price:decimal(2)")
	}
	c := Column{Name: name}
	kind, numbers, bracket := strings.Cut(rest, "(")
	order := ""
	if bracket {
		if numbers, order, ok = strings.Cut(numbers, ")"); !ok {
			return Column{}, fmt.Errorf("missing closing parenthesis")
		}
	} else {
		kind, order, _ = strings.Cut(strings.TrimSpace(kind), " ")
	}
	c.Type = Type(strings.TrimSpace(kind))
	if bracket {
		if err := c.setNumbers(numbers); err != nil {
			return Column{}, err
		}
	}
	switch order = strings.TrimSpace(order); order {
	case "", "asc":
	case "desc":
		c.Desc = true
	default:
		return Column{}, fmt.Errorf("%q is not an order: use asc or desc", order)
	}
	return c.normalize()
}

// setNumbers parses the numbers in parentheses after the type and sets the column's widths.
func (c *Column) setNumbers(text string) error {
	var numbers []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			return fmt.Errorf("%q is not a number", part)
		}
		numbers = append(numbers, n)
	}
	switch {
	case c.Type == Decimal && len(numbers) == 1:
		c.Scale = numbers[0]
	case c.Type == Decimal && len(numbers) == 2:
		c.Digits, c.Scale = numbers[0], numbers[1]
	case (c.Type == Int || c.Type == Uint) && len(numbers) == 1:
		c.Digits = numbers[0]
	case c.Type == BigInt && len(numbers) == 1:
		c.Bits = numbers[0]
	default:
		return fmt.Errorf("%s does not take the parameters (%s)", c.Type, text)
	}
	if c.Digits == 0 && (c.Type == Int || c.Type == Uint) || c.Bits == 0 && c.Type == BigInt || c.Digits == 0 && len(numbers) == 2 {
		return fmt.Errorf("the width is 0")
	}
	return nil
}

// normalize validates a column and sets the defaults.
func (c Column) normalize() (Column, error) {
	if err := checkName(c.Name); err != nil {
		return c, err
	}
	o, err := c.ordered().Normalize()
	c.Digits, c.Bits = o.Digits, o.Bits
	return c, err
}

// checkName refuses names that would be ambiguous in a declaration or a command.
func checkName(name string) error {
	if name == "" || len(name) > maxName || name == "id" {
		return fmt.Errorf("%q is not a name for a column: use from 1 to %d letters, digits, - and _, but not id", name, maxName)
	}
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_') {
			return fmt.Errorf("%q is not a name for a column: use letters, digits, - and _", name)
		}
	}
	return nil
}
