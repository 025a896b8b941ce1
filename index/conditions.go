package index

import (
	"slices"

	"retwis/index/internal/conditions"
)

// Condition is a condition on the value of a column. All conditions of a query must
// hold. Values follow the rule of Type.
type Condition struct{ condition conditions.Condition }

func condition(column string, op conditions.Op, values ...any) Condition {
	return Condition{conditions.Condition{Column: column, Op: op, Values: values}}
}

// conditionsOf returns conditions as they are planned.
func conditionsOf(all []Condition) []conditions.Condition {
	planned := make([]conditions.Condition, len(all))
	for i, c := range all {
		planned[i] = c.condition
	}
	return planned
}

// Eq matches one value.
func Eq(column string, value any) Condition { return condition(column, conditions.In, value) }

// In matches any of some values; without values, nothing.
func In(column string, values ...any) Condition {
	return condition(column, conditions.In, slices.Clone(values)...)
}

// Between matches the values from low to high, both included.
func Between(column string, low, high any) Condition {
	return condition(column, conditions.Between, low, high)
}

// AtLeast matches low and all greater values.
func AtLeast(column string, low any) Condition { return condition(column, conditions.AtLeast, low) }

// Above matches all values greater than low.
func Above(column string, low any) Condition { return condition(column, conditions.Above, low) }

// AtMost matches high and all smaller values.
func AtMost(column string, high any) Condition { return condition(column, conditions.AtMost, high) }

// Below matches all values smaller than high.
func Below(column string, high any) Condition { return condition(column, conditions.Below, high) }

// Prefix matches the strings, or bytes, that begin with a prefix.
func Prefix(column, prefix string) Condition { return condition(column, conditions.Prefix, prefix) }
