package bulk

import "retwis/bulk/internal/command"

// database is the database that all connections have selected.
type database struct {
	selected int
	known    map[int]bool        // databases that are known to exist
	within   []command.Selection // of the transaction in flight; no other command is in flight with it
}

// selectDB records that all connections have selected a database, which therefore exists.
func (d *database) selectDB(db int) {
	d.selected = db
	if d.known == nil {
		d.known = make(map[int]bool)
	}
	d.known[db] = true
}

// during returns the database in which a command in flight is executed.
func (d *database) during(no int64) int {
	db := d.selected
	for _, s := range d.within {
		if s.No < no {
			db = s.DB
		}
	}
	return db
}
