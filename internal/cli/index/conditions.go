package index

import (
	"retwis/index"
	"retwis/internal/cli/shell"
)

var conditions = shell.Conditions[index.Condition]{
	Eq: index.Eq, AtLeast: index.AtLeast, AtMost: index.AtMost, Above: index.Above, Below: index.Below,
	Between: index.Between, Prefix: index.Prefix,
}

// conditionsOf converts conditions to conditions of package index.
func conditionsOf(typed []shell.Condition) []index.Condition {
	var all []index.Condition
	for _, c := range typed {
		all = append(all, conditions.New(c))
	}
	return all
}
