package space

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"retwis/index/space"
	"retwis/internal/cli/shell"
)

// pointField is something that is shown behind the values of a point.
type pointField struct {
	name  string
	value any
}

// pointPrinter prints points: a table for people, or a line of JSON each.
type pointPrinter struct {
	out    io.Writer
	names  []string
	json   bool
	headed bool // the names of the dimensions are printed
	table  shell.Table
}

func newPointPrinter(out io.Writer, x *space.Index, json bool) *pointPrinter {
	names := dimNames(x)
	return &pointPrinter{out: out, names: names, json: json, table: shell.Table{Out: out, Right: append([]bool{false}, slices.Repeat([]bool{true}, len(names)+1)...)}}
}

func (p *pointPrinter) print(e space.Entry, more ...pointField) error {
	fields := []pointField{{"id", e.ID}}
	for i, v := range e.Values {
		fields = append(fields, pointField{p.names[i], v})
	}
	fields = append(fields, more...)
	if p.json {
		return p.line(fields)
	}
	head, cells := make([]string, len(fields)), make([]string, len(fields))
	for i, f := range fields {
		head[i], cells[i] = f.name, fmt.Sprint(f.value)
		switch v := f.value.(type) {
		case float64:
			cells[i] = strconv.FormatFloat(v, 'f', -1, 64)
		case time.Time:
			cells[i] = v.Format(time.RFC3339Nano)
		}
	}
	if !p.headed {
		p.headed = true
		if err := p.table.Add(head...); err != nil {
			return err
		}
	}
	return p.table.Add(cells...)
}

// line prints {"id":"90","x":75,"y":200}.
func (p *pointPrinter) line(fields []pointField) error {
	var line []byte
	for i, f := range fields {
		before := byte(',')
		if i == 0 {
			before = '{'
		}
		line = append(shell.AppendJSON(append(line, before), f.name), ':')
		if d, ok := f.value.(float64); ok && math.IsInf(d, 0) {
			f.value = nil // farther than a float64 can say
		}
		line = shell.AppendJSON(line, f.value)
	}
	_, err := p.out.Write(append(line, '}', '\n'))
	return err
}

func (p *pointPrinter) end() error {
	if p.json {
		return nil
	}
	return p.table.Flush()
}
