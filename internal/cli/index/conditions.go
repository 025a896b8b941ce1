package index

import (
	"retwis/index"
	"retwis/internal/cli/shell"
)

var where = shell.Conditions[index.Condition]{
	Eq: index.Eq, AtLeast: index.AtLeast, AtMost: index.AtMost, Above: index.Above, Below: index.Below,
	Between: index.Between, Prefix: index.Prefix,
}

// wheres returns conditions as an index takes them.
func wheres(conditions []shell.Condition) []index.Condition {
	var all []index.Condition
	for _, c := range conditions {
		all = append(all, where.Of(c))
	}
	return all
}
