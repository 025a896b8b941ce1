package model

import "slices"

// Cond is a condition of a query. A condition on a list holds where any of its
// elements fits. A record without a value fits no condition on that field, but
// for Not. An index on several fields answers a condition on one of them if all
// records are in it, or the query takes only those that are: by conditions on the
// fields that can be absent, or an order of them.
//
// Values are those of the field's type, or ones that mean the same: any integer
// for any number, a string for what is stored as text, an id, as text or an
// integer, for a Ref.
type Cond struct {
	op     operator
	field  string
	values []any
	conds  []Cond
}

// Eq asks for one value.
func Eq(field string, value any) Cond {
	return Cond{op: opEq, field: field, values: []any{value}}
}

// In asks for any of some values, of 1000 at most; a query has 2000 values at most,
// and 256 KB of them.
func In[V any](field string, values ...V) Cond {
	c := Cond{op: opIn, field: field, values: make([]any, len(values))}
	for i, v := range values {
		c.values[i] = v
	}
	return c
}

// Between asks for values from low to high, both included.
func Between(field string, low, high any) Cond {
	return Cond{op: opBetween, field: field, values: []any{low, high}}
}

// AtLeast asks for a value and all that are greater.
func AtLeast(field string, low any) Cond {
	return Cond{op: opAtLeast, field: field, values: []any{low}}
}

// AtMost asks for a value and all that are less.
func AtMost(field string, high any) Cond {
	return Cond{op: opAtMost, field: field, values: []any{high}}
}

// Above asks for values that are greater.
func Above(field string, low any) Cond {
	return Cond{op: opAbove, field: field, values: []any{low}}
}

// Below asks for values that are less.
func Below(field string, high any) Cond {
	return Cond{op: opBelow, field: field, values: []any{high}}
}

// Prefix asks for text that begins with some other.
func Prefix(field, prefix string) Cond {
	return Cond{op: opPrefix, field: field, values: []any{prefix}}
}

// Not asks for records that a condition does not fit, among them those without a
// value.
func Not(cond Cond) Cond { return Cond{op: opNot, conds: []Cond{cond}} }

// And asks for records that all conditions fit. Of none, it fits every record.
func And(conds ...Cond) Cond { return Cond{op: opAnd, conds: slices.Clone(conds)} }

// Or asks for records that any of the conditions fits. Of none, it fits no record.
func Or(conds ...Cond) Cond { return Cond{op: opOr, conds: slices.Clone(conds)} }
