package index

import (
	"math"
	"math/big"

	"retwis/index"
	"retwis/internal/cli/shell"
)

// columns are the columns of an index, with methods to format its entries and parse its records.
type columns []index.Column

// Columns implements shell.Entries.
func (c columns) Columns() []shell.Column {
	all := make([]shell.Column, len(c))
	for i, column := range c {
		all[i].Name = column.Name
		switch column.Type {
		case index.Int, index.Uint, index.Float, index.BigInt, index.Decimal:
			all[i].Right = true
		}
	}
	return all
}

// Format implements shell.Entries.
func (c columns) Format(column int, v any) (text string, json any) {
	text = c[column].Format(v)
	switch v := v.(type) {
	case *big.Int: // most JSON decoders would round a large number
		return text, text
	case float64:
		if math.IsInf(v, 0) {
			return text, text
		}
	}
	return text, v
}

// parse parses the values of all columns.
func (c columns) parse(texts []string) ([]any, error) {
	values := make([]any, len(c))
	for i, column := range c {
		var err error
		if values[i], err = column.Parse(texts[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}
