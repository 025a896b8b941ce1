package bulk

import (
	"fmt"

	"retwis/internal/keys"
)

// checker refuses commands that make no sense in a load, or not there where they
// stand, before anything of them is sent.
type checker struct {
	finder
	cluster    bool
	keys       [][]byte    // of the current command
	open       int64       // the number of the MULTI that is not ended, or 0
	tx         int         // the slot of the transaction, -1: it has no key yet
	txFar      bool        // it has keys of several slots, or nobody knows which
	selections []selection // of the transaction
}

// checked is what is known of a command that may be sent.
type checked struct {
	*spec
	slot   int  // of its keys; -1: it has none
	across bool // it has keys of several slots, and the server is no Cluster
}

// check looks at command number no. slots says whether it matters where its keys are.
func (c *checker) check(f *Frame, no int64, slots bool) (checked, error) {
	s := c.find(f)
	got := checked{spec: s, slot: -1}
	switch s.kind {
	case refused:
		if ofConnection(s.name, f) {
			break
		}
		return got, fmt.Errorf("%s makes no sense in a load: %s", s.name, nonsense(s.name))
	case begins:
		if c.open != 0 {
			return got, fmt.Errorf("MULTI within the transaction that begins with command %d", c.open)
		}
		c.open, c.tx, c.txFar, c.selections = no, -1, false, nil
	case executes:
		if c.open == 0 {
			return got, fmt.Errorf("%s without MULTI", s.name)
		}
		c.open = 0
		got.slot, got.across = c.tx, c.txFar
	case selects:
		db, ok := atoi(f.Arg(f.Len() - 1))
		if !ok || f.Len() != 2 {
			return got, fmt.Errorf("SELECT takes the number of a database")
		}
		if c.open != 0 {
			c.selections = append(c.selections, selection{no, db})
		}
	case everywhere:
		if c.open != 0 && c.cluster {
			return got, fmt.Errorf("%s within the transaction that begins with command %d: put it outside, as it is for all servers of a Cluster", s.name, c.open)
		}
		c.txFar = true
	case plain, unknown:
		if s.kind == unknown {
			c.txFar = true
		}
		if slots || s.keys == streamKeys {
			return c.place(got, f)
		}
	}
	return got, nil
}

// place finds the slot of a command.
func (c *checker) place(got checked, f *Frame) (checked, error) {
	var err error
	if c.keys, err = got.findKeys(c.keys[:0], f); err != nil {
		return got, err
	}
	for i, key := range c.keys {
		at := keys.Slot(key)
		if i > 0 && at != got.slot {
			if c.cluster {
				return got, fmt.Errorf("%s: the keys %q and %q are of two slots, which a Cluster keeps apart: give them a common {tag}",
					got.name, shorten(c.keys[0], 40), shorten(key, 40))
			}
			got.across = true
		}
		if i == 0 {
			got.slot = at
		}
	}
	if c.open != 0 && len(c.keys) > 0 {
		if c.tx >= 0 && c.tx != got.slot && c.cluster {
			return got, fmt.Errorf("%s: the key %q is of another slot than the keys before it in the transaction that begins with command %d, "+
				"and a Cluster keeps them apart: give them a common {tag}", got.name, shorten(c.keys[0], 40), c.open)
		}
		c.txFar = c.txFar || got.across || c.tx >= 0 && c.tx != got.slot
		c.tx = got.slot
	}
	return got, nil
}

// end refuses an input that ends within a transaction.
func (c *checker) end() error {
	if c.open != 0 {
		return fmt.Errorf("the input ends within the transaction that begins with command %d: EXEC is missing", c.open)
	}
	return nil
}

// at words an error about command number no.
func at(p place, no int64, err error) error {
	return &InputError{Offset: p.Offset, Line: p.Line, Msg: fmt.Sprintf("command %d: %v", no, err)}
}
