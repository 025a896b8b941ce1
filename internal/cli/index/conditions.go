package index

import (
	"retwis/index"
	"retwis/internal/cli/shell"
)

// where returns a condition as an index takes it.
func where(c shell.Condition) index.Condition {
	switch c.Operator {
	case "..":
		switch {
		case c.Low == nil:
			return index.AtMost(c.Column, c.High)
		case c.High == nil:
			return index.AtLeast(c.Column, c.Low)
		}
		return index.Between(c.Column, c.Low, c.High)
	case "*":
		return index.Prefix(c.Column, c.Low.(string))
	case ">":
		return index.Above(c.Column, c.Low)
	case ">=":
		return index.AtLeast(c.Column, c.Low)
	case "<":
		return index.Below(c.Column, c.Low)
	case "<=":
		return index.AtMost(c.Column, c.Low)
	}
	return index.Eq(c.Column, c.Low)
}

// wheres returns conditions as an index takes them.
func wheres(conditions []shell.Condition) []index.Condition {
	var all []index.Condition
	for _, c := range conditions {
		all = append(all, where(c))
	}
	return all
}
