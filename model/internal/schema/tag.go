package schema

import (
	"fmt"
	"slices"
	"strings"
)

// tag is the struct tag of a field: `redis:"name,option,…"`.
type tag struct {
	name    string
	options []string          // options without their values
	values  map[string]string // values by option
}

// valued returns the options that have a value, as in max=100.
func valued() []string { return []string{"min", "max", "ttl"} }

// tagOptions returns the options after the name.
func tagOptions() []string {
	return []string{
		"id", "version", "expires", "ttl", "created", "updated", // the role of the field
		"index", "range", "unique", "caseinsensitive", // its indexes
		"counter", "unix", // how it is stored
		"required", "min", "max", // validation rules
		optionExists,                                     // the referenced record must exist
		string(Restrict), string(Cascade), string(Clear), // what happens when the referenced record is deleted
	}
}

// parseTag parses a struct tag. The default name is the name of the Go field in lower case.
func parseTag(text, goName string) (tag, error) {
	name, rest, more := strings.Cut(text, ",")
	t := tag{name: name, values: map[string]string{}}
	if name == "" {
		t.name = strings.ToLower(goName)
	}
	if err := checkFieldName(t.name); err != nil {
		return t, err
	}
	if more {
		t.options = strings.Split(rest, ",")
	}
	for i, o := range t.options {
		option, value, has := strings.Cut(o, "=")
		if needs := slices.Contains(valued(), option); has != needs && slices.Contains(tagOptions(), option) {
			if needs {
				return t, fmt.Errorf("%q needs a value: write %s=%s", o, option, map[string]string{"ttl": "24h", "min": "100", "max": "100"}[option])
			}
			return t, fmt.Errorf("%q has a value, and %s takes none", o, option)
		}
		if has && slices.Contains(tagOptions(), option) {
			t.options[i], t.values[option] = option, value
			o = option
		}
		if !slices.Contains(tagOptions(), o) {
			return t, fmt.Errorf("%q is not an option: use %s", o, strings.Join(tagOptions(), ", "))
		}
		if slices.Contains(t.options[:i], o) {
			return t, fmt.Errorf("the option %q appears twice", o)
		}
	}
	return t, t.checkTogether()
}

// checkTogether refuses options that contradict or duplicate each other.
func (t *tag) checkTogether() error {
	for _, pair := range []struct {
		a, b, why string
	}{
		{"index", "range", "range includes index: leave index out"},
		{"index", "unique", "unique includes index: leave index out"},
		{"id", "version", "one field cannot be both"},
		{"id", "expires", "one field cannot be both"},
		{"version", "expires", "one field cannot be both"},
		{"id", "counter", "one field cannot be both"},
		{"version", "counter", "one field cannot be both"},
		{"counter", "index", "a counter is indexed by range, which includes index"},
		{"counter", "unique", "a counter cannot be unique"},
		{"created", "id", "one field cannot be both"},
		{"created", "version", "one field cannot be both"},
		{"created", "expires", "one field cannot be both"},
		{"created", "updated", "one field cannot be both"},
		{"created", "required", "the store sets it: leave required out"},
		{"created", "unique", "records can be created at the same time"},
		{"updated", "id", "one field cannot be both"},
		{"updated", "version", "one field cannot be both"},
		{"updated", "expires", "one field cannot be both"},
		{"updated", "required", "the store sets it: leave required out"},
		{"updated", "unique", "records can be updated at the same time"},
		{"ttl", "required", "the store sets the time: leave required out"},
		{"id", "index", "records are found by their id without an index"},
		{"id", "range", "records are found by their id without an index"},
		{"id", "unique", "an id is always unique"},
		{string(Restrict), string(Cascade), "one of them is enough"},
		{string(Restrict), string(Clear), "one of them is enough"},
		{string(Cascade), string(Clear), "one of them is enough"},
		{string(Clear), "required", "a required reference cannot be removed: use restrict or cascade"},
	} {
		if t.has(pair.a) && t.has(pair.b) {
			return fmt.Errorf("%s and %s: %s", pair.a, pair.b, pair.why)
		}
	}
	if t.has("caseinsensitive") && !t.has("index") && !t.has("range") && !t.has("unique") {
		return fmt.Errorf("caseinsensitive needs an index: add index, range or unique")
	}
	return nil
}

// optionExists is the option of a Ref whose record must exist.
const optionExists = "exists"

// has reports whether the tag has an option.
func (t *tag) has(option string) bool { return slices.Contains(t.options, option) }

// checkFieldName refuses names that are ambiguous within a declaration or a key.
func checkFieldName(name string) error {
	if len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}) || name == "" {
		return fmt.Errorf("%q is not a name for a field: use from 1 to 64 letters, digits, - and _", Shorten(name))
	}
	return nil
}

// OnDelete selects what happens to a reference when its record is deleted.
type OnDelete string

// The rules for references, as options in the tag of a Ref.
const (
	Restrict OnDelete = "restrict" // the record cannot be deleted
	Cascade  OnDelete = "cascade"  // the referring record is also deleted
	Clear    OnDelete = "clear"    // the reference is removed
)
