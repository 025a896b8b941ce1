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
	table Table
}

// NewPrinter returns a printer. Columns for which right is set are aligned to the
// right, as numbers are.
func (c *Command) NewPrinter(right ...bool) *Printer {
	p := &Printer{out: bufio.NewWriter(c.Stdout)}
	p.table = Table{Out: p.out, Right: right}
	if c.JSON {
		p.json = NewEncoder(p.out)
	}
	return p
}

// Header prints the names of the columns for people.
func (p *Printer) Header(names ...string) error {
	if p.json != nil {
		return nil
	}
	return p.table.Add(names...)
}

// Print prints a result: v as JSON, or the cells for people.
func (p *Printer) Print(v any, cells ...string) error {
	if p.json != nil {
		return p.json.Encode(v)
	}
	return p.table.Add(cells...)
}

// End prints what is left to print.
func (p *Printer) End() error { return cmp.Or(p.table.Flush(), p.out.Flush()) }
