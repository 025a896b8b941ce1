package bulk

import "retwis/bulk/internal/input"

// Template describes the command to send for a record: "HSET user:{id} name {name}".
//
// It is split into words like a line of redis-cli, so that {name} is one argument
// whatever it contains. {field} is a field of the record, {#} the number of the record,
// starting at 1; {{ and }} are literal braces. Filters after a | change a value, from left
// to right:
//
//	lower, upper, trim   as their names say, in UTF-8
//	int                  an integer of 64 bits; otherwise the record is an error
//	float                a finite number; otherwise the record is an error
//	default:TEXT         TEXT if the field is missing or empty
//
// In "user:{{{id}}}" the outer braces are a hash tag, which keeps the keys of one user
// in one slot of a Cluster.
type Template struct{ parsed *input.Template }

// ParseTemplate parses a template. The error names the column.
func ParseTemplate(text string) (*Template, error) {
	t, err := input.ParseTemplate(text)
	if err != nil {
		return nil, err
	}
	return &Template{t}, nil
}

// String returns the source of the template.
func (t *Template) String() string { return t.parsed.String() }

// Fields returns the names of the fields that the template uses, each once.
func (t *Template) Fields() []string { return t.parsed.Fields() }

// Append appends the command for record number n in Redis' protocol. field returns the
// value of a field, or false if the record does not have it.
func (t *Template) Append(dst []byte, n int64, field func(name string) ([]byte, bool)) ([]byte, error) {
	return t.parsed.Append(dst, n, field)
}
