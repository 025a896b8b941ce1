package shell

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"retwis/index"
	"retwis/index/decimal"
)

// Condition is a condition on a column, as typed by the user: room=56, price=10..30, name=Ma*,
// price>10.
type Condition struct {
	Column    string
	Operator  string // = == .. * > >= < <=
	Low, High any    // High is set only for "..", where nil means unbounded
}

// Conditions holds the constructors of a package's condition type C.
type Conditions[C any] struct {
	Eq, AtLeast, AtMost, Above, Below func(column string, value any) C
	Between                           func(column string, low, high any) C
	Prefix                            func(column, prefix string) C
}

// New converts a condition to C.
func (m Conditions[C]) New(c Condition) C {
	switch c.Operator {
	case "..":
		switch {
		case c.Low == nil:
			return m.AtMost(c.Column, c.High)
		case c.High == nil:
			return m.AtLeast(c.Column, c.Low)
		}
		return m.Between(c.Column, c.Low, c.High)
	case "*":
		return m.Prefix(c.Column, c.Low.(string))
	case ">":
		return m.Above(c.Column, c.Low)
	case ">=":
		return m.AtLeast(c.Column, c.Low)
	case "<":
		return m.Below(c.Column, c.Low)
	case "<=":
		return m.AtMost(c.Column, c.Low)
	}
	return m.Eq(c.Column, c.Low)
}

// operators lists the operators, the longer operators first.
var operators = [...]string{"==", ">=", "<=", ">", "<", "="}

// ParseConditions parses conditions on the given columns. All errors are usage errors.
func ParseConditions(args []string, columns []index.Column) ([]Condition, error) {
	var all []Condition
	for _, arg := range args {
		c, err := parseCondition(arg, columns)
		if err != nil {
			return nil, Usage(errors.New(OneLine(err)))
		}
		all = append(all, c)
	}
	return all, nil
}

func parseCondition(arg string, columns []index.Column) (Condition, error) {
	at := strings.IndexAny(arg, "=<>")
	if at < 1 {
		return Condition{}, fmt.Errorf("%q is not a condition: write COLUMN=VALUE, COLUMN=LOW..HIGH or COLUMN>=LOW", arg)
	}
	c := Condition{Column: arg[:at]}
	for _, o := range operators {
		if strings.HasPrefix(arg[at:], o) {
			c.Operator = o
			break
		}
	}
	value := arg[at+len(c.Operator):]
	i := slices.IndexFunc(columns, func(o index.Column) bool { return o.Name == c.Column })
	if i < 0 {
		var names []string
		for _, o := range columns {
			names = append(names, o.Name)
		}
		return Condition{}, fmt.Errorf("%q: there is no column %q: the index has %s", arg, c.Column, strings.Join(names, ", "))
	}
	return c.with(columns[i], value)
}

// with returns c with its value set.
func (c Condition) with(column index.Column, value string) (Condition, error) {
	text := column.Type == index.String || column.Type == index.Bytes
	low, high, ranged := strings.Cut(value, "..")
	var err error
	switch {
	case c.Operator == "=" && ranged:
		c.Operator = ".."
		if low != "" {
			c.Low, err = column.Parse(low)
		}
		if high != "" && err == nil {
			c.High, err = column.Parse(high)
		}
		if c.Low == nil && c.High == nil && err == nil {
			err = fmt.Errorf("%s=.. matches every value: leave it out", column.Name)
		}
		if err == nil && c.Low != nil && c.High != nil && compareValues(c.Low, c.High) > 0 {
			err = fmt.Errorf("column %s: %s ends before it begins", column.Name, value)
		}
	case c.Operator == "=" && text && strings.HasSuffix(value, "*"):
		c.Operator, c.Low = "*", strings.TrimSuffix(value, "*")
	default:
		c.Low, err = column.Parse(value)
	}
	return c, err
}

// compareValues compares two values of a column.
func compareValues(a, b any) int {
	switch a := a.(type) {
	case string:
		return cmp.Compare(a, b.(string))
	case decimal.Decimal:
		return a.Cmp(b.(decimal.Decimal))
	case bool:
		if a && !b.(bool) {
			return 1
		}
	case int64:
		return cmp.Compare(a, b.(int64))
	case uint64:
		return cmp.Compare(a, b.(uint64))
	case float64:
		return cmp.Compare(a, b.(float64))
	case *big.Int:
		return a.Cmp(b.(*big.Int))
	case time.Time:
		return a.Compare(b.(time.Time))
	case []byte:
		return bytes.Compare(a, b.([]byte))
	}
	return 0
}
