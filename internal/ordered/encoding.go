package ordered

import (
	_ "embed"
	"fmt"
)

// Encoding encodes lists of values, one for each of its columns. The order of the
// bytes is that of the lists.
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

// AppendAll appends the bytes of a value for each column.
func (e Encoding) AppendAll(b []byte, values []any) ([]byte, error) {
	var err error
	for i := range e {
		if b, err = e[i].Append(b, values[i]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// After returns what follows the bytes of all columns.
func (e Encoding) After(s string) (string, error) {
	var err error
	for i := range e {
		if _, s, err = e[i].Cut(s); err != nil {
			return "", err
		}
	}
	return s, nil
}

// Values decodes the values of all columns and returns what follows them. The error
// names the column.
func (e Encoding) Values(s string) (values []any, rest string, err error) {
	values = make([]any, len(e))
	for i := range e {
		if values[i], s, err = e[i].Next(s); err != nil {
			return nil, "", fmt.Errorf("column %s: %w", e[i].Name, err)
		}
	}
	return values, s, nil
}

// Next decodes the value that s begins with, and returns what follows it.
func (k *Codec) Next(s string) (v any, rest string, err error) {
	encoded, rest, err := k.Cut(s)
	if err == nil {
		v, err = k.Value(encoded)
	}
	return v, rest, err
}

// LuaLess is the source of a Lua function less(a, b) that compares bytes, for
// scripts: Lua's comparison follows the locale of the server.
//
//go:embed less.lua
var LuaLess string
