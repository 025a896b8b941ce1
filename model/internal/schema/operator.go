package schema

// operator is what a condition asks for.
type Operator string

const (
	OpEq      Operator = "="
	OpIn      Operator = "in"
	OpBetween Operator = "between"
	OpAtLeast Operator = ">="
	OpAtMost  Operator = "<="
	OpAbove   Operator = ">"
	OpBelow   Operator = "<"
	OpPrefix  Operator = "begins with"
	OpNot     Operator = "not"
	OpAnd     Operator = "and"
	OpOr      Operator = "or"
)

// exact tells whether a condition asks for single values.
func (o Operator) Exact() bool { return o == OpEq || o == OpIn }
