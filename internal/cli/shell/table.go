package shell

import (
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// Table prints rows with aligned columns, some hundred at a time.
type Table struct {
	Out   io.Writer
	Right []bool // these columns are numbers
	rows  [][]string
}

// tableRows is how many rows are aligned with each other.
const tableRows = 500

func (t *Table) Add(cells ...string) error {
	for i := range cells {
		cells[i] = ForTerminal(cells[i])
	}
	t.rows = append(t.rows, cells)
	if len(t.rows) < tableRows {
		return nil
	}
	return t.Flush()
}

func (t *Table) Flush() error {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	var text strings.Builder
	for _, row := range t.rows {
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-uniseg.StringWidth(cell))
			right := i < len(t.Right) && t.Right[i]
			if i > 0 {
				text.WriteString("  ")
			}
			if right {
				text.WriteString(space)
			}
			text.WriteString(cell)
			if !right && i < len(row)-1 {
				text.WriteString(space)
			}
		}
		text.WriteByte('\n')
	}
	t.rows = t.rows[:0]
	_, err := io.WriteString(t.Out, text.String())
	return err
}
