package model

// operator is what a condition asks for.
type operator string

const (
	opEq      operator = "="
	opIn      operator = "in"
	opBetween operator = "between"
	opAtLeast operator = ">="
	opAtMost  operator = "<="
	opAbove   operator = ">"
	opBelow   operator = "<"
	opPrefix  operator = "begins with"
	opNot     operator = "not"
	opAnd     operator = "and"
	opOr      operator = "or"
)

// exact tells whether a condition asks for single values.
func (o operator) exact() bool { return o == opEq || o == opIn }
