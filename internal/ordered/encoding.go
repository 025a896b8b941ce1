package ordered

import (
	_ "embed"
	"fmt"
)

// Encoding encodes lists of values, one value per column. The bytes sort as the lists do.
type Encoding []Codec

// NewEncoding returns the encoding of a list of columns.
func NewEncoding(columns ...Column) (Encoding, error) { return newEncoding(columns, false) }

// NewReadable returns the tutorial's encoding as text, as in 0056:0028.44:, which
// has no floats, big integers or descending columns.
func NewReadable(columns ...Column) (Encoding, error) { return newEncoding(columns, true) }

func newEncoding(columns []Column, readable bool) (Encoding, error) {
	e := make(Encoding, len(columns))
	for i, c := range columns {
		var err error
		if e[i], err = newCodec(c, readable); err != nil {
			return nil, fmt.Errorf("column %d, %s: %w", i+1, c.Name, err)
		}
	}
	return e, nil
}

// AppendAll appends the encoding of one value per column.
func (e Encoding) AppendAll(b []byte, values []any) ([]byte, error) {
	var err error
	for i := range e {
		if b, err = e[i].Append(b, values[i]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// After returns the rest of s after the bytes of all columns.
func (e Encoding) After(s string) (string, error) {
	var err error
	for i := range e {
		if _, s, err = e[i].Cut(s); err != nil {
			return "", err
		}
	}
	return s, nil
}

// Values decodes the values of all columns and returns the rest of s. Errors name the column.
func (e Encoding) Values(s string) (values []any, rest string, err error) {
	values = make([]any, len(e))
	for i := range e {
		if values[i], s, err = e[i].Next(s); err != nil {
			return nil, "", fmt.Errorf("column %s: %w", e[i].Name, err)
		}
	}
	return values, s, nil
}

// Next decodes the value at the start of s and returns the rest.
func (k *Codec) Next(s string) (v any, rest string, err error) {
	encoded, rest, err := k.Cut(s)
	if err == nil {
		v, err = k.Value(encoded)
	}
	return v, rest, err
}

// LuaLess is the source of the Lua function less(a, b), which compares bytes. Lua's operator <
// depends on the locale of the server.
//
//go:embed less.lua
var LuaLess string
