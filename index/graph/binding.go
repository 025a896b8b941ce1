package graph

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"retwis/index/graph/internal/entries"
)

// Binding is an answer to a Query: the name of each variable.
type Binding struct {
	vars  []string
	names []string
}

// Vars returns the variables, in the order of Query.Select. The caller must not modify them.
func (b Binding) Vars() []string { return b.vars }

// Get returns the name of a variable, or "" for a variable that is not selected.
func (b Binding) Get(variable string) string {
	if i := slices.Index(b.vars, variable); i >= 0 {
		return b.names[i]
	}
	return ""
}

// MarshalJSON returns an object with a member for each variable, in order.
func (b Binding) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // the caller's encoder decides
	out.WriteByte('{')
	for i, v := range b.vars {
		if i > 0 {
			out.WriteByte(',')
		}
		for j, text := range [2]string{v, b.names[i]} {
			if j > 0 {
				out.WriteByte(':')
			}
			if err := e.Encode(text); err != nil {
				return nil, err
			}
			out.Truncate(out.Len() - 1) // the line feed
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// key returns a string that only an equal binding has.
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
