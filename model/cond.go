package model

import (
	"retwis/model/internal/query"
	"retwis/model/internal/schema"
)

// Cond is a condition of a query. A condition on a list matches if any element matches. A
// record without a value for a field matches no condition on that field, except within Not. If
// a field is only in a composite index, records that lack any field of that index never match;
// such an index is used only if the other conditions, or the order, exclude these records
// anyway.
//
// Values have the type of the field or an equivalent: any integer for a number, a string for a
// field stored as text, an id as text or integer for a Ref.
type Cond = query.Cond

// Eq matches values equal to value.
func Eq(field string, value any) Cond { return query.On(schema.OpEq, field, value) }

// In matches any of at most 1000 values. A query has at most 2000 values, with 256 KB in total.
func In[V any](field string, values ...V) Cond {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v
	}
	return query.On(schema.OpIn, field, all...)
}

// Between matches values from low to high, inclusive.
func Between(field string, low, high any) Cond { return query.On(schema.OpBetween, field, low, high) }

// AtLeast matches values greater than or equal to low.
func AtLeast(field string, low any) Cond { return query.On(schema.OpAtLeast, field, low) }

// AtMost matches values less than or equal to high.
func AtMost(field string, high any) Cond { return query.On(schema.OpAtMost, field, high) }

// Above matches values greater than low.
func Above(field string, low any) Cond { return query.On(schema.OpAbove, field, low) }

// Below matches values less than high.
func Below(field string, high any) Cond { return query.On(schema.OpBelow, field, high) }

// Prefix matches text that starts with prefix.
func Prefix(field, prefix string) Cond { return query.On(schema.OpPrefix, field, prefix) }

// Not matches records that do not match a condition, including records without a value.
func Not(cond Cond) Cond { return query.Join(schema.OpNot, cond) }

// And matches records that match all conditions; without conditions, every record matches.
func And(conds ...Cond) Cond { return query.Join(schema.OpAnd, conds...) }

// Or matches records that match any of the conditions; without conditions, no record matches.
func Or(conds ...Cond) Cond { return query.Join(schema.OpOr, conds...) }
