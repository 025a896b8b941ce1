package index

import (
	"fmt"
	"strconv"
	"strings"
)

// Type is what the values of a column are.
type Type string

// The types of columns, and the Go values that they take and give.
const (
	String  Type = "string"  // string, any bytes
	Bytes   Type = "bytes"   // []byte
	Bool    Type = "bool"    // bool, false first
	Int     Type = "int"     // int64; takes every Go integer
	Uint    Type = "uint"    // uint64; takes every Go integer
	Float   Type = "float"   // float64 without NaN; -0 is 0
	Time    Type = "time"    // time.Time, to the nanosecond; gives UTC
	BigInt  Type = "bigint"  // *big.Int of declared bits; takes every Go integer
	Decimal Type = "decimal" // string, as in "28.44", of declared digits; takes integers too
)

// Column is one column of a Composite.
type Column struct {
	Name string
	Type Type
	// Digits is how many decimal digits an Int, Uint or Decimal has at most, in
	// all. Default: 19, 20 and 18, which is all of an int64 and a uint64.
	Digits int
	// Scale is how many digits of a Decimal stand behind the point.
	Scale int
	// Bits is the width of a BigInt, sign included: a multiple of 8.
	Bits int
	// Desc puts the greatest value first.
	Desc bool
}

// Bounds of a declaration.
const (
	maxColumns = 32
	maxName    = 64
	maxDigits  = 1000
	maxBits    = 4096

	defaultDecimal = 18
	defaultInt     = 19
	defaultUint    = 20
	defaultBits    = 256
)

// String is the column as ParseColumns reads it.
func (c Column) String() string {
	text := c.Name + ":" + string(c.Type)
	switch {
	case c.Type == Decimal && c.Digits == defaultDecimal:
		text += fmt.Sprintf("(%d)", c.Scale)
	case c.Type == Decimal:
		text += fmt.Sprintf("(%d,%d)", c.Digits, c.Scale)
	case c.Type == Int && c.Digits != defaultInt, c.Type == Uint && c.Digits != defaultUint:
		text += fmt.Sprintf("(%d)", c.Digits)
	case c.Type == BigInt:
		text += fmt.Sprintf("(%d)", c.Bits)
	}
	if c.Desc {
		text += " desc"
	}
	return text
}

// ParseColumns reads a declaration such as
//
//	room:int,price:decimal(2),name:string desc
//
// decimal(2) has two digits behind the point and 18 in all, decimal(30,2) has 30
// in all, int(4) has at most four, bigint(512) so many bits.
func ParseColumns(text string) ([]Column, error) {
	var columns []Column
	for _, one := range splitColumns(text) {
		c, err := parseColumn(strings.TrimSpace(one))
		if err != nil {
			return nil, fmt.Errorf("index: column %d, %q: %w", len(columns)+1, one, err)
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// splitColumns splits at the commas that are not within parentheses.
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

func parseColumn(text string) (Column, error) {
	name, rest, ok := strings.Cut(text, ":")
	if !ok {
		return Column{}, fmt.Errorf("write NAME:TYPE, as in price:decimal(2)")
	}
	c := Column{Name: name}
	word, numbers, bracket := strings.Cut(rest, "(")
	order := ""
	if bracket {
		if numbers, order, ok = strings.Cut(numbers, ")"); !ok {
			return Column{}, fmt.Errorf("the parenthesis is not closed")
		}
	} else {
		word, order, _ = strings.Cut(strings.TrimSpace(word), " ")
	}
	c.Type = Type(strings.TrimSpace(word))
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
	return c.settled()
}

// setNumbers reads what stands in parentheses behind a type.
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
		return fmt.Errorf("%s takes no (%s)", c.Type, text)
	}
	if c.Digits == 0 && (c.Type == Int || c.Type == Uint) || c.Bits == 0 && c.Type == BigInt || c.Digits == 0 && len(numbers) == 2 {
		return fmt.Errorf("the width is 0")
	}
	return nil
}

// settled checks a column and fills in the defaults.
func (c Column) settled() (Column, error) {
	if err := checkName(c.Name); err != nil {
		return c, err
	}
	switch c.Type {
	case Int:
		c.Digits = orDefault(c.Digits, defaultInt)
		if c.Digits < 1 || c.Digits > defaultInt {
			return c, fmt.Errorf("an int has from 1 to %d digits, not %d", defaultInt, c.Digits)
		}
	case Uint:
		c.Digits = orDefault(c.Digits, defaultUint)
		if c.Digits < 1 || c.Digits > defaultUint {
			return c, fmt.Errorf("a uint has from 1 to %d digits, not %d", defaultUint, c.Digits)
		}
	case Decimal:
		c.Digits = orDefault(c.Digits, defaultDecimal)
		if c.Digits < 1 || c.Digits > maxDigits || c.Scale < 0 || c.Scale > c.Digits {
			return c, fmt.Errorf("a decimal has from 1 to %d digits, and no more than these behind the point: not (%d,%d)", maxDigits, c.Digits, c.Scale)
		}
	case BigInt:
		c.Bits = orDefault(c.Bits, defaultBits)
		if c.Bits < 8 || c.Bits > maxBits || c.Bits%8 != 0 {
			return c, fmt.Errorf("a bigint has from 8 to %d bits, a multiple of 8, not %d", maxBits, c.Bits)
		}
	case String, Bytes, Bool, Float, Time:
	default:
		return c, fmt.Errorf("%q is not a type: use string, bytes, bool, int, uint, float, time, bigint or decimal", c.Type)
	}
	return c, nil
}

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// checkName refuses names that could not be told from what stands around them in
// a declaration or a command.
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
