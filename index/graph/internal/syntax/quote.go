package syntax

import (
	"fmt"
	"strings"
)

// String formats the term for Parse.
func (t Term) String() string {
	switch t.Kind {
	case Name:
		return Quote(t.Text)
	case Variable:
		return "?" + t.Text
	case Path:
		return Quote(t.Text) + t.length()
	case Anything:
	}
	return "*"
}

// length formats the length of a path.
func (t Term) length() string {
	switch {
	case t.Min == 1 && t.Max == 0:
		return "+"
	case t.Max == 0:
		return fmt.Sprintf("*%d..", t.Min)
	case t.Min == t.Max:
		return fmt.Sprintf("*%d", t.Min)
	}
	return fmt.Sprintf("*%d..%d", t.Min, t.Max)
}

// Quote formats a name for Parse.
func Quote(name string) string {
	if plain(name) {
		return name
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(name) + `"`
}

// plain reports whether Parse reads a name without quotes.
func plain(name string) bool {
	if name == "" || name == "*" || isOperator(name) || strings.HasSuffix(name, ".") || strings.ContainsAny(name, " \t\n\r") {
		return false
	}
	_, steps := cutSteps(name)
	return name[0] != '?' && name[0] != '"' && steps == "" && lookalike(name, true) == ""
}
