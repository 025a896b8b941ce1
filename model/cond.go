package model

import (
	"retwis/model/internal/query"
	"retwis/model/internal/schema"
)

// Cond is a condition of a query. A condition on a list holds if any of its elements
// fits. A record without a value fits no condition on that field, except within Not. If
// only a composite index serves a field, records that lack any of its fields never
// match; such an index is used only if the other conditions, or the order, exclude these
// records anyway.
//
// Values are of the field's type, or mean the same: any integer for any number, a string
// for what is stored as text, an id, as text or an integer, for a Ref.
type Cond = query.Cond

// Eq asks for one value.
func Eq(field string, value any) Cond { return query.On(schema.OpEq, field, value) }

// In asks for any of some values, at most 1000; a query has at most 2000 values, of
// 256 KB together.
func In[V any](field string, values ...V) Cond {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v
	}
	return query.On(schema.OpIn, field, all...)
}

// Between asks for values from low to high, both included.
func Between(field string, low, high any) Cond { return query.On(schema.OpBetween, field, low, high) }

// AtLeast asks for a value and all greater ones.
func AtLeast(field string, low any) Cond { return query.On(schema.OpAtLeast, field, low) }

// AtMost asks for a value and all smaller ones.
func AtMost(field string, high any) Cond { return query.On(schema.OpAtMost, field, high) }

// Above asks for greater values.
func Above(field string, low any) Cond { return query.On(schema.OpAbove, field, low) }

// Below asks for smaller values.
func Below(field string, high any) Cond { return query.On(schema.OpBelow, field, high) }

// Prefix asks for text that begins with a prefix.
func Prefix(field, prefix string) Cond { return query.On(schema.OpPrefix, field, prefix) }

// Not asks for records that do not fit a condition, including those without a value.
func Not(cond Cond) Cond { return query.Join(schema.OpNot, cond) }

// And asks for records that fit all conditions; without any, every record fits.
func And(conds ...Cond) Cond { return query.Join(schema.OpAnd, conds...) }

// Or asks for records that fit any of the conditions; without any, no record fits.
func Or(conds ...Cond) Cond { return query.Join(schema.OpOr, conds...) }
