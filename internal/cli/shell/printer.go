package shell

import (
	"bufio"
	"cmp"
	"encoding/json"
)

// Printer prints results: aligned for people, or a line of JSON each.
type Printer struct {
	out   *bufio.Writer
	json  *json.Encoder // nil: for people
	table table
}

// NewPrinter returns a printer. Columns for which right is set are aligned to the
// right, as numbers are.
func (c *Command) NewPrinter(right ...bool) *Printer {
	p := &Printer{out: bufio.NewWriter(c.Stdout)}
	p.table = table{out: p.out, right: right}
	if c.JSON {
		p.json = NewEncoder(p.out)
	}
	return p
}

// Row prints a row for people only, such as the names of the columns. Without cells there is
// no row.
func (p *Printer) Row(cells ...string) error {
	if p.json != nil || len(cells) == 0 {
		return nil
	}
	return p.table.add(cells...)
}

// Print prints a result: v as JSON, or the cells for people.
func (p *Printer) Print(v any, cells ...string) error {
	if p.json != nil {
		return p.json.Encode(v)
	}
	return p.table.add(cells...)
}

// End prints what is left to print.
func (p *Printer) End() error { return cmp.Or(p.table.flush(), p.out.Flush()) }
