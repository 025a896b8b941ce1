package graph

// batchRows is the number of rows that pass a step together.
const batchRows = 1000

// sink filters the rows of a step and passes them to the next step in batches.
type sink struct {
	step *planStep
	vars []string // of the columns
	next func(rows [][]string) error
	rows [][]string
	slab slab
}

// add adds a row. The sink owns the row.
func (o *sink) add(row []string) error {
	if len(o.step.filters) > 0 {
		b := Binding{vars: o.vars, names: row}
		for _, f := range o.step.filters {
			if !f.keep(b) {
				return nil
			}
		}
	}
	o.rows = append(o.rows, row)
	if len(o.rows) < batchRows {
		return nil
	}
	return o.flush()
}

func (o *sink) flush() error {
	rows := o.rows
	o.rows = nil
	return o.next(rows)
}

// slab allocates rows in blocks.
type slab struct{ free []string }

// copy returns a copy of a row.
func (b *slab) copy(row []string) []string {
	if len(b.free) < len(row) {
		b.free = make([]string, max(len(row), 1)*64)
	}
	to := b.free[:len(row):len(row)]
	b.free = b.free[len(row):]
	copy(to, row)
	return to
}
