package model

import (
	"fmt"
	"slices"
)

// Set is a field whose values are a Redis set of its own, not a part of the
// record: for many or often changed members. It holds nothing in Go; see
// Store.Set. It is deleted with its record.
type Set struct{}

// List is a field whose values are a Redis list of its own; see Store.List.
type List struct{}

func (Set) collection() string  { return "set" }
func (List) collection() string { return "list" }

// collection is any of them.
type collection interface{ collection() string }

func (d *declaration) addCollection(t tag, _ collection) error {
	if len(t.options) > 0 {
		return fmt.Errorf("a Set or List takes no options, not %q", t.options[0])
	}
	if d.number(t.name) >= 0 || slices.Contains(d.collections, t.name) {
		return fmt.Errorf("another field is called %q too", t.name)
	}
	d.collections = append(d.collections, t.name)
	return nil
}
