package command

import (
	"fmt"

	"retwis/bulk/resp"
	"retwis/internal/redis/keys"
)

// Checker rejects commands that a load cannot send at all, or not at their place in the input,
// before any part of the command is sent.
type Checker struct {
	// Cluster rejects commands with keys in several slots, as a Cluster does.
	Cluster bool
	// Open is the number of the last MULTI without EXEC, or 0.
	Open int64
	// Selections lists the SELECTs of the current transaction.
	Selections []Selection

	cache
	keys      [][]byte // keys of the current command
	txSlot    int      // slot of the transaction; -1: no key yet
	txCrosses bool     // the transaction has keys in several slots, or unknown keys
}

// Selection is a SELECT in a transaction.
type Selection struct {
	No int64 // number of the command
	DB int
}

// Checked describes a command that was checked.
type Checked struct {
	*Spec
	Slot      int  // slot of its keys; -1: no keys
	CrossSlot bool // its keys are in several slots, and the server is not a Cluster
}

// Check checks command number no. slots reports whether the caller needs the slot of the command.
func (c *Checker) Check(f *resp.Frame, no int64, slots bool) (Checked, error) {
	s := c.Spec(f)
	got := Checked{Spec: s, Slot: -1}
	switch s.Kind {
	case Rejected:
		if isHandshake(s.Name, f) {
			break
		}
		return got, fmt.Errorf("%s makes no sense in a load: %s", s.Name, whyRejected(s.Name))
	case Multi:
		if c.Open != 0 {
			return got, fmt.Errorf("MULTI within the transaction that begins with command %d", c.Open)
		}
		c.Open, c.txSlot, c.txCrosses, c.Selections = no, -1, false, nil
	case Exec:
		if c.Open == 0 {
			return got, fmt.Errorf("%s without MULTI", s.Name)
		}
		c.Open = 0
		got.Slot, got.CrossSlot = c.txSlot, c.txCrosses
	case Select:
		db, ok := Atoi(f.Arg(f.Len() - 1))
		if !ok || f.Len() != 2 {
			return got, fmt.Errorf("SELECT takes a database number")
		}
		if c.Open != 0 {
			c.Selections = append(c.Selections, Selection{no, db})
		}
	case AllNodes:
		if c.Open != 0 && c.Cluster {
			return got, fmt.Errorf("%s within the transaction that begins with command %d: put it outside, because it goes to all servers of a Cluster", s.Name, c.Open)
		}
		c.txCrosses = true
	case Plain, Unknown:
		if s.Kind == Unknown {
			c.txCrosses = true
		}
		if slots || s.keys == streamKeys {
			return c.place(got, f)
		}
	}
	return got, nil
}

// place determines the slot of a command.
func (c *Checker) place(got Checked, f *resp.Frame) (Checked, error) {
	var err error
	if c.keys, err = got.AppendKeys(c.keys[:0], f); err != nil {
		return got, err
	}
	for i, key := range c.keys {
		slot := keys.Slot(key)
		if i > 0 && slot != got.Slot {
			if c.Cluster {
				return got, fmt.Errorf("%s: the keys %q and %q are in different slots, which a Cluster does not allow: give them a common {tag}",
					got.Name, resp.Shorten(c.keys[0], 40), resp.Shorten(key, 40))
			}
			got.CrossSlot = true
		}
		if i == 0 {
			got.Slot = slot
		}
	}
	if c.Open != 0 && len(c.keys) > 0 {
		if c.txSlot >= 0 && c.txSlot != got.Slot && c.Cluster {
			return got, fmt.Errorf("%s: the key %q is in a different slot than the earlier keys of the transaction that begins with command %d, "+
				"which a Cluster does not allow: give them a common {tag}", got.Name, resp.Shorten(c.keys[0], 40), c.Open)
		}
		c.txCrosses = c.txCrosses || got.CrossSlot || c.txSlot >= 0 && c.txSlot != got.Slot
		c.txSlot = got.Slot
	}
	return got, nil
}

// PlaceKeys determines the slot of an unknown command on a Cluster, given its keys.
func (c *Checker) PlaceKeys(got Checked, found [][]byte) (Checked, error) {
	for i, key := range found {
		slot := keys.Slot(key)
		if i > 0 && slot != got.Slot {
			return got, fmt.Errorf("%s: its keys are in different slots, which a Cluster does not allow: give them a common {tag}", got.Name)
		}
		got.Slot = slot
	}
	return got, nil
}

// End rejects an input that ends within a transaction.
func (c *Checker) End() error {
	if c.Open != 0 {
		return fmt.Errorf("the input ends within the transaction that begins with command %d: EXEC is missing", c.Open)
	}
	return nil
}
