package bulk

import "retwis/bulk/internal/command"

// database tracks the database that all connections have selected.
type database struct {
	selected   int
	known      map[int]bool        // databases that are known to exist
	selections []command.Selection // SELECTs in the transaction in flight; nothing else is in flight
}

// selectDB records that all connections have selected a database, which therefore exists.
func (d *database) selectDB(db int) {
	d.selected = db
	if d.known == nil {
		d.known = make(map[int]bool)
	}
	d.known[db] = true
}

// during returns the database in which a command in flight, number no, is executed.
func (d *database) during(no int64) int {
	db := d.selected
	for _, s := range d.selections {
		if s.No < no {
			db = s.DB
		}
	}
	return db
}
