package schema

// Operator is the comparison of a condition.
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

// Exact reports whether an operator asks for single values.
func (o Operator) Exact() bool { return o == OpEq || o == OpIn }
