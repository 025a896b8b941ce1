package shell

import (
	"bufio"
	"cmp"
	"encoding/json"
)

// Printer prints results: as an aligned table for people, or as JSON lines.
type Printer struct {
	out   *bufio.Writer
	json  *json.Encoder // nil for a table
	table table
}

// NewPrinter returns a printer. Columns for which right is set are right-aligned, like numbers.
func (c *Command) NewPrinter(right ...bool) *Printer {
	p := &Printer{out: bufio.NewWriter(c.Stdout)}
	p.table = table{out: p.out, right: right}
	if c.JSON {
		p.json = NewEncoder(p.out)
	}
	return p
}

// Row prints a row of the table that is not printed as JSON, such as the header. Without cells, Row
// prints nothing.
func (p *Printer) Row(cells ...string) error {
	if p.json != nil || len(cells) == 0 {
		return nil
	}
	return p.table.add(cells...)
}

// Print prints a result: v as JSON, or the cells in a table.
func (p *Printer) Print(v any, cells ...string) error {
	if p.json != nil {
		return p.json.Encode(v)
	}
	return p.table.add(cells...)
}

// End flushes the printer.
func (p *Printer) End() error { return cmp.Or(p.table.flush(), p.out.Flush()) }
