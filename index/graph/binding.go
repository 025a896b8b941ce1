package graph

import (
	"slices"
	"strings"

	"retwis/index/graph/internal/entries"
)

// Binding is an answer to a Query: it binds each variable to a name.
type Binding struct {
	vars  []string
	names []string
}

// Vars returns the variables, in the order of Query.Select. The caller must not modify them.
func (b Binding) Vars() []string { return b.vars }

// Get returns the name bound to a variable, or "" if the variable is not selected.
func (b Binding) Get(variable string) string {
	if i := slices.Index(b.vars, variable); i >= 0 {
		return b.names[i]
	}
	return ""
}

// key returns a string that is unique to the binding.
func (b Binding) key() string {
	if len(b.names) == 1 {
		return b.names[0]
	}
	var key strings.Builder
	for _, name := range b.names {
		key.WriteString(entries.Escape(name))
		key.WriteByte(':')
	}
	return key.String()
}
