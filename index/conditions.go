package index

import (
	"slices"

	"retwis/index/internal/conditions"
)

// Condition is a condition on the value of a column. An entry must satisfy all conditions of a
// query. For the values that a column accepts, see Type.
type Condition struct{ condition conditions.Condition }

func condition(column string, op conditions.Op, values ...any) Condition {
	return Condition{conditions.Condition{Column: column, Op: op, Values: values}}
}

// conditionsOf converts conditions for the planner.
func conditionsOf(all []Condition) []conditions.Condition {
	planned := make([]conditions.Condition, len(all))
	for i, c := range all {
		planned[i] = c.condition
	}
	return planned
}

// Eq matches values equal to value.
func Eq(column string, value any) Condition { return condition(column, conditions.In, value) }

// In matches any of the values; without values it matches nothing.
func In(column string, values ...any) Condition {
	return condition(column, conditions.In, slices.Clone(values)...)
}

// Between matches values from low to high, inclusive.
func Between(column string, low, high any) Condition {
	return condition(column, conditions.Between, low, high)
}

// AtLeast matches values greater than or equal to low.
func AtLeast(column string, low any) Condition { return condition(column, conditions.AtLeast, low) }

// Above matches values greater than low.
func Above(column string, low any) Condition { return condition(column, conditions.Above, low) }

// AtMost matches values less than or equal to high.
func AtMost(column string, high any) Condition { return condition(column, conditions.AtMost, high) }

// Below matches values less than high.
func Below(column string, high any) Condition { return condition(column, conditions.Below, high) }

// Prefix matches strings or bytes that start with a prefix.
func Prefix(column, prefix string) Condition { return condition(column, conditions.Prefix, prefix) }
