package index

import "fmt"

// Encoding turns lists of values into bytes whose order is that of the lists, as
// a Composite does, for those who keep such bytes in a Lexical or a sorted set of
// their own. The bytes of a value are never the beginning of those of another, so
// that what stands behind them, an id, can be told from them.
type Encoding struct{ codecs []codec }

// NewEncoding returns the encoding of a list of columns.
func NewEncoding(columns ...Column) (*Encoding, error) {
	e := &Encoding{codecs: make([]codec, len(columns))}
	for i, c := range columns {
		c, err := c.settled()
		if err == nil {
			e.codecs[i], err = newCodec(c, false)
		}
		if err != nil {
			return nil, fmt.Errorf("index: column %d: %w", i+1, err)
		}
	}
	return e, nil
}

// Append appends the bytes of a value of a column, counted from 0. A value that
// the column cannot hold is an ErrValue.
func (e *Encoding) Append(b []byte, column int, v any) ([]byte, error) {
	return e.codecs[column].append(b, v)
}

// AppendPrefix appends what the bytes of all values of a String or Bytes column
// with a prefix begin with.
func (e *Encoding) AppendPrefix(b []byte, column int, prefix string) []byte {
	return append(b, e.codecs[column].prefix(prefix)...)
}

// Cut undoes Append: it returns the value of a column that s begins with, and
// the bytes behind it.
func (e *Encoding) Cut(column int, s string) (v any, rest string, err error) {
	k := &e.codecs[column]
	text, rest, err := k.cut(s)
	if err != nil {
		return nil, "", err
	}
	v, err = k.value(text)
	return v, rest, err
}

// Ending tells how to find the end of a column without this package, in a script:
// it has so many bytes or, where width is 0, ends with the first place at which
// the two bytes of terminator stand.
func (e *Encoding) Ending(column int) (width int, terminator string) {
	return e.codecs[column].width, e.codecs[column].escape()
}

// LuaLess is the source of a Lua function less(a, b) that compares such bytes,
// for scripts that look at them: Lua's own comparison follows the locale of the
// server.
func LuaLess() string { return lessLua }
