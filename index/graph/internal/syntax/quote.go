package syntax

import "strings"

// Quote formats a name for Parse.
func Quote(name string) string {
	if plain(name) {
		return name
	}
	return inQuotes(name)
}

// inQuotes formats a name in double quotes.
func inQuotes(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(name) + `"`
}

// plain reports whether Parse reads a name without quotes.
func plain(name string) bool {
	if strings.ContainsAny(name, " \t\n\r") {
		return false
	}
	if name == "" || name == "*" || name == "<>" || isOperator(name) || strings.HasSuffix(name, ".") {
		return false
	}
	if name[0] == '<' {
		return strings.IndexByte(name, '>') == len(name)-1
	}
	if strings.ContainsAny(name, pathBytes) && !isURL(name) {
		return false
	}
	_, steps := cutSteps(name)
	return name[0] != '?' && name[0] != '"' && name[0] != '^' && steps == "" && lookalike(name, true) == ""
}
