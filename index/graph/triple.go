package graph

import (
	"fmt"
	"strings"

	"retwis/index"
	"retwis/index/graph/internal/entries"
	"retwis/internal/redis/scan"
)

// MaxName is the maximum length of a name, in bytes.
const MaxName = entries.MaxName

// Triple is a fact: a subject, a predicate and an object.
type Triple struct{ S, P, O string }

// Cursor returns the position of the triple in the results of any pattern, for
// index.Page.After.
func (t Triple) Cursor() string { return scan.EncodeCursor(t.id()) }

// id returns the entry that identifies a triple.
func (t Triple) id() string { return spo.entry(t.escaped()) }

// check validates the names of a triple.
func (t Triple) check() error {
	for i, name := range [3]string{t.S, t.P, t.O} {
		if problem := nameError(i, name); problem != "" {
			return fmt.Errorf("%w: %s", index.ErrValue, problem)
		}
	}
	return nil
}

// nameError describes a name that is empty or too long, or returns "".
func nameError(part int, name string) string {
	if len(name) > 0 && len(name) <= MaxName {
		return ""
	}
	return fmt.Sprintf("the %s has %d bytes: it must have from 1 to %d", [3]string{"subject", "predicate", "object"}[part], len(name), MaxName)
}

// part returns the part for a letter of an order.
func (t Triple) part(letter byte) string {
	switch letter {
	case 's':
		return t.S
	case 'p':
		return t.P
	}
	return t.O
}

// set sets the part for a letter of an order.
func (t *Triple) set(letter byte, name string) {
	switch letter {
	case 's':
		t.S = name
	case 'p':
		t.P = name
	default:
		t.O = name
	}
}

// escaped returns the triple with its names escaped for an entry.
func (t Triple) escaped() Triple {
	return Triple{entries.Escape(t.S), entries.Escape(t.P), entries.Escape(t.O)}
}

// tripleOrder is an order of the parts of a triple. Its entries in the sorted set begin with
// its name.
type tripleOrder string

// The orders. A graph with Options.Compact has spo, pos and osp.
const (
	spo tripleOrder = "spo"
	sop tripleOrder = "sop"
	pso tripleOrder = "pso"
	pos tripleOrder = "pos"
	osp tripleOrder = "osp"
	ops tripleOrder = "ops"
)

// ordersOf returns the orders of a graph. The first order that serves a pattern yields the
// triples of the pattern by subject, then predicate, then object.
func ordersOf(compact bool) []tripleOrder {
	if compact {
		return []tripleOrder{spo, pos, osp}
	}
	return []tripleOrder{spo, sop, pso, pos, osp, ops}
}

// entry returns the entry of a triple whose names are escaped.
func (o tripleOrder) entry(t Triple) string {
	return string(o) + ":" + t.part(o[0]) + ":" + t.part(o[1]) + ":" + t.part(o[2])
}

// parseEntry is the inverse of tripleOrder.entry. It returns false for any other string.
func parseEntry(entry string) (tripleOrder, Triple, bool) {
	o, rest, ok := strings.Cut(entry, ":")
	if !ok {
		return "", Triple{}, false
	}
	order := tripleOrder(o)
	switch order {
	case spo, sop, pso, pos, osp, ops:
	default:
		return "", Triple{}, false
	}
	var t Triple
	if !t.parse(o, rest) || t.check() != nil {
		return "", Triple{}, false
	}
	return order, t, true
}

// parse sets the parts for letters of an order from their escaped text.
func (t *Triple) parse(letters, text string) bool {
	for i := range len(letters) {
		name, rest, more, ok := entries.CutName(text)
		if !ok || more != (i < len(letters)-1) {
			return false
		}
		t.set(letters[i], name)
		text = rest
	}
	return true
}
