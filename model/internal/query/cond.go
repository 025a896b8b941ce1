package query

import (
	"slices"

	"retwis/model/internal/schema"
)

// Cond is a condition of a query.
type Cond struct {
	op     schema.Operator
	field  string
	values []any
	conds  []Cond
}

// On returns a condition on a field.
func On(op schema.Operator, field string, values ...any) Cond {
	return Cond{op: op, field: field, values: values}
}

// Join returns the conjunction, disjunction or negation of conditions.
func Join(op schema.Operator, conds ...Cond) Cond {
	return Cond{op: op, conds: slices.Clone(conds)}
}
