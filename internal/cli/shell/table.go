package shell

import (
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// table prints rows with aligned columns, tableRows at a time.
type table struct {
	out   io.Writer
	right []bool // right-aligned columns
	rows  [][]string
}

// tableRows is the number of rows aligned with each other.
const tableRows = 500

func (t *table) add(cells ...string) error {
	for i := range cells {
		cells[i] = ForTerminal(cells[i])
	}
	t.rows = append(t.rows, cells)
	if len(t.rows) < tableRows {
		return nil
	}
	return t.flush()
}

func (t *table) flush() error {
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
			right := i < len(t.right) && t.right[i]
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
	_, err := io.WriteString(t.out, text.String())
	return err
}
