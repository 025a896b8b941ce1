package index

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
	"retwis/internal/cli/shell"
)

// condition is a condition on a column: room=56, price=10..30, name=Ma*, price>10.
type condition struct {
	column    string
	operator  string // = == .. * > >= < <=
	low, high any    // high is for ".." alone, where nil is open
}

// operators holds the operators, the longer ones first.
var operators = [...]string{"==", ">=", "<=", ">", "<", "="}

// parseConditions reads conditions as they are typed. An error is wrong usage.
func parseConditions(args []string, columns []index.Column) ([]condition, error) {
	var all []condition
	for _, arg := range args {
		c, err := parseCondition(arg, columns)
		if err != nil {
			return nil, shell.Usage(errors.New(shell.OneLine(err)))
		}
		all = append(all, c)
	}
	return all, nil
}

func parseCondition(arg string, columns []index.Column) (condition, error) {
	at := strings.IndexAny(arg, "=<>")
	if at < 1 {
		return condition{}, fmt.Errorf("%q is not a condition: write COLUMN=VALUE, COLUMN=LOW..HIGH or COLUMN>=LOW", arg)
	}
	c := condition{column: arg[:at]}
	for _, o := range operators {
		if strings.HasPrefix(arg[at:], o) {
			c.operator = o
			break
		}
	}
	value := arg[at+len(c.operator):]
	i := slices.IndexFunc(columns, func(o index.Column) bool { return o.Name == c.column })
	if i < 0 {
		var names []string
		for _, o := range columns {
			names = append(names, o.Name)
		}
		return condition{}, fmt.Errorf("%q: there is no column %q: the index has %s", arg, c.column, strings.Join(names, ", "))
	}
	return c.with(columns[i], value)
}

// with returns c with its value.
func (c condition) with(column index.Column, value string) (condition, error) {
	text := column.Type == index.String || column.Type == index.Bytes
	low, high, ranged := strings.Cut(value, "..")
	var err error
	switch {
	case c.operator == "=" && ranged:
		c.operator = ".."
		if low != "" {
			c.low, err = column.Parse(low)
		}
		if high != "" && err == nil {
			c.high, err = column.Parse(high)
		}
		if c.low == nil && c.high == nil && err == nil {
			err = fmt.Errorf("%s=.. matches every value: leave it out", column.Name)
		}
		if err == nil && c.low != nil && c.high != nil && compareValues(c.low, c.high) > 0 {
			err = fmt.Errorf("column %s: %s ends before it begins", column.Name, value)
		}
	case c.operator == "=" && text && strings.HasSuffix(value, "*"):
		c.operator, c.low = "*", strings.TrimSuffix(value, "*")
	default:
		c.low, err = column.Parse(value)
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

// where returns the condition as an index takes it.
func (c condition) where() index.Condition {
	switch c.operator {
	case "..":
		switch {
		case c.low == nil:
			return index.AtMost(c.column, c.high)
		case c.high == nil:
			return index.AtLeast(c.column, c.low)
		}
		return index.Between(c.column, c.low, c.high)
	case "*":
		return index.Prefix(c.column, c.low.(string))
	case ">":
		return index.Above(c.column, c.low)
	case ">=":
		return index.AtLeast(c.column, c.low)
	case "<":
		return index.Below(c.column, c.low)
	case "<=":
		return index.AtMost(c.column, c.low)
	}
	return index.Eq(c.column, c.low)
}

// wheres returns conditions as an index takes them.
func wheres(conditions []condition) []index.Condition {
	var all []index.Condition
	for _, c := range conditions {
		all = append(all, c.where())
	}
	return all
}
