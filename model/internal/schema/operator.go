package schema

// Operator is the comparison of a condition.
type Operator string

// The operators of conditions, with their names in errors and plans.
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

// Compares reports whether an operator compares values with bounds.
func (o Operator) Compares() bool {
	return o == OpBetween || o == OpAtLeast || o == OpAtMost || o == OpAbove || o == OpBelow
}

// Exact reports whether an operator matches single values.
func (o Operator) Exact() bool { return o == OpEq || o == OpIn }
