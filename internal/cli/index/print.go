package index

import (
	"io"
	"math"
	"math/big"

	"retwis/index"
	"retwis/internal/cli/shell"
)

// entryPrinter prints entries: a table for people, or a line of JSON each.
type entryPrinter struct {
	out     io.Writer
	columns []index.Column
	json    bool
	cursor  bool
	headed  bool // the names of the columns are printed
	table   shell.Table
}

func newEntryPrinter(out io.Writer, columns []index.Column, json, cursor bool) *entryPrinter {
	p := &entryPrinter{out: out, columns: columns, json: json, cursor: cursor, table: shell.Table{Out: out, Right: []bool{false}}}
	for _, c := range columns {
		switch c.Type {
		case index.Int, index.Uint, index.Float, index.BigInt, index.Decimal:
			p.table.Right = append(p.table.Right, true)
		default:
			p.table.Right = append(p.table.Right, false)
		}
	}
	return p
}

func (p *entryPrinter) print(e found) error {
	if p.json {
		return p.line(e)
	}
	if !p.headed {
		p.headed = true
		head := []string{"id"}
		for _, c := range p.columns {
			head = append(head, c.Name)
		}
		if p.cursor {
			head = append(head, "cursor")
		}
		if err := p.table.Add(head...); err != nil {
			return err
		}
	}
	cells := []string{e.ID}
	for i, v := range e.Values {
		cells = append(cells, p.columns[i].Format(v))
	}
	if p.cursor {
		cells = append(cells, e.cursor)
	}
	return p.table.Add(cells...)
}

// line prints {"id":"90","room":56,"price":"28.44"}.
func (p *entryPrinter) line(e found) error {
	line := []byte(`{"id":`)
	line = shell.AppendJSON(line, e.ID)
	for i, v := range e.Values {
		line = append(line, ',')
		line = shell.AppendJSON(line, p.columns[i].Name)
		line = append(line, ':')
		switch n := v.(type) {
		case *big.Int: // which most readers of JSON would round
			v = n.String()
		case float64:
			if math.IsInf(n, 0) {
				v = p.columns[i].Format(n)
			}
		}
		line = shell.AppendJSON(line, v)
	}
	if p.cursor {
		line = append(line, `,"cursor":`...)
		line = shell.AppendJSON(line, e.cursor)
	}
	_, err := p.out.Write(append(line, '}', '\n'))
	return err
}

func (p *entryPrinter) end() error {
	if p.json {
		return nil
	}
	return p.table.Flush()
}
