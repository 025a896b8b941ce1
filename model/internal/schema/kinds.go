package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"retwis/index/decimal"
	"retwis/internal/ordered"
)

// kind defines how the text of a field is interpreted. It is part of the stored schema, so that
// a program without the Go type can compute index entries.
type kind string

const (
	KindString   kind = "string"   // any bytes
	kindBytes    kind = "bytes"    // any bytes; base64 in a JSON list
	kindBool     kind = "bool"     // 1 or 0
	kindInt      kind = "int"      // decimal
	kindUint     kind = "uint"     // decimal
	kindFloat    kind = "float"    // decimal, shortest exact form
	kindTime     kind = "time"     // RFC 3339, UTC
	kindUnix     kind = "unix"     // whole seconds since 1970
	kindDuration kind = "duration" // 1h30m0s
	kindDecimal  kind = "decimal"  // 28.44
	KindJSON     kind = "json"     // slices, maps, structs
)

// Column returns the column type that sorts values of a kind, or "" if they have no order.
func (k kind) Column() ordered.Type {
	switch k {
	case KindString, kindBytes:
		return ordered.String
	case kindBool:
		return ordered.Bool
	case kindInt, kindUnix, kindDuration:
		return ordered.Int
	case kindUint:
		return ordered.Uint
	case kindFloat:
		return ordered.Float
	case kindTime:
		return ordered.Time
	case kindDecimal:
		return ordered.Decimal
	case KindJSON:
	}
	return ""
}

// Digits of a decimal in an index: total, and after the point.
const (
	decimalDigits = 36
	decimalScale  = 9
)

// column returns the column for the values of a field.
func (k kind) column(field string, desc bool) ordered.Column {
	c := ordered.Column{Name: columnName(field), Type: k.Column(), Desc: desc}
	if k == kindDecimal {
		c.Digits, c.Scale = decimalDigits, decimalScale
	}
	return c
}

// decimalText returns the shortest text of a decimal, which is the same for equal numbers.
func decimalText(text string) (string, error) {
	d, err := decimal.Parse(text)
	if err != nil {
		return "", err
	}
	if text = d.String(); strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0", nil
	}
	return text, nil
}

// Value parses the text of a field into a value for its column.
func (k kind) Value(name, text string) (any, error) {
	switch k {
	case KindString, kindBytes:
		return text, nil
	case kindDuration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("%w: column %s: %q is not a duration such as 1h30m", ErrValue, name, Shorten(text))
		}
		return int64(d), nil
	}
	return k.column(name, false).Parse(text)
}

// elements returns the distinct texts of the elements of a JSON list, given their kind.
func elements(text string, element kind) ([]string, error) {
	var raw []json.RawMessage
	if err := unmarshalJSON(text, &raw); err != nil {
		return nil, fmt.Errorf("not a JSON list: %w", err)
	}
	texts := make([]string, 0, len(raw))
	seen := make(map[string]bool, len(raw))
	for i, r := range raw {
		s, err := fromJSON(r, element)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i+1, err)
		}
		if !seen[s] {
			seen[s] = true
			texts = append(texts, s)
		}
	}
	return texts, nil
}

// References returns the ids in a field that is a Ref or a list of Refs.
func (f *Field) References(text string) ([]string, error) {
	if f.Kind != KindJSON {
		return slices.DeleteFunc([]string{text}, func(id string) bool { return id == "" }), nil
	}
	ids, err := elements(text, f.Element)
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" }), err
}

// fromJSON converts a JSON value to the text of a kind.
func fromJSON(raw json.RawMessage, k kind) (string, error) {
	switch k {
	case KindString, kindTime, kindDuration, kindDecimal:
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case kindBytes:
		var b []byte
		err := json.Unmarshal(raw, &b)
		return string(b), err
	case kindBool:
		var b bool
		err := json.Unmarshal(raw, &b)
		return boolText(b), err
	case KindJSON:
		return string(raw), nil
	}
	var n json.Number
	if err := json.Unmarshal(raw, &n); err != nil {
		return "", err
	}
	return n.String(), nil
}

// boolText returns the stored text of a bool.
func boolText(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// columnName returns the name of a column for errors. Package ordered rejects the name id.
func columnName(field string) string {
	if field == "id" {
		return "id_"
	}
	return field
}
