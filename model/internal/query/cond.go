package query

import "retwis/model/internal/schema"

// Cond is a condition of a query.
type Cond struct {
	op     schema.Operator
	field  string
	values []any
	conds  []Cond
}

// Eq asks for one value.
func Eq(field string, value any) Cond { return on(schema.OpEq, field, value) }

// In asks for any of some values.
func In(field string, values []any) Cond { return on(schema.OpIn, field, values...) }

// Between asks for values from low to high, both included.
func Between(field string, low, high any) Cond { return on(schema.OpBetween, field, low, high) }

// AtLeast asks for a value and all greater ones.
func AtLeast(field string, low any) Cond { return on(schema.OpAtLeast, field, low) }

// AtMost asks for a value and all smaller ones.
func AtMost(field string, high any) Cond { return on(schema.OpAtMost, field, high) }

// Above asks for greater values.
func Above(field string, low any) Cond { return on(schema.OpAbove, field, low) }

// Below asks for smaller values.
func Below(field string, high any) Cond { return on(schema.OpBelow, field, high) }

// Prefix asks for text that begins with a prefix.
func Prefix(field, prefix string) Cond { return on(schema.OpPrefix, field, prefix) }

// Not asks for records that do not fit a condition.
func Not(cond Cond) Cond { return Cond{op: schema.OpNot, conds: []Cond{cond}} }

// And asks for records that fit all conditions.
func And(conds []Cond) Cond { return Cond{op: schema.OpAnd, conds: conds} }

// Or asks for records that fit any of the conditions.
func Or(conds []Cond) Cond { return Cond{op: schema.OpOr, conds: conds} }

func on(op schema.Operator, field string, values ...any) Cond {
	return Cond{op: op, field: field, values: values}
}
