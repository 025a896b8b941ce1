package graph

import (
	"fmt"
	"strings"

	"retwis/index"
	"retwis/index/graph/rdf"
	"retwis/internal/scan"
)

// MaxName is the maximum length of a name, in bytes.
const MaxName = rdf.MaxName

// Triple is a fact: a subject, a predicate and an object.
type Triple struct{ S, P, O string }

// Cursor is the place of the triple in the answer to any pattern, for
// index.Page.After.
func (t Triple) Cursor() string { return scan.EncodeCursor(t.id()) }

// id is the entry by which a triple is known.
func (t Triple) id() string { return SPO.entry(t.escaped()) }

// check tells what is wrong with the names of a triple.
func (t Triple) check() error {
	for i, name := range [3]string{t.S, t.P, t.O} {
		if len(name) == 0 || len(name) > MaxName {
			return fmt.Errorf("%w: the %s has %d bytes: it must have from 1 to %d", index.ErrValue, partName(i), len(name), MaxName)
		}
	}
	return nil
}

// partName names a part of a triple for people.
func partName(i int) string { return [3]string{"subject", "predicate", "object"}[i] }

// part returns the part that a letter of an order means.
func (t Triple) part(letter byte) string {
	switch letter {
	case 's':
		return t.S
	case 'p':
		return t.P
	}
	return t.O
}

// set is the other way round.
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

// escaped returns the triple as its names stand in an entry.
func (t Triple) escaped() Triple { return Triple{escape(t.S), escape(t.P), escape(t.O)} }

// Order is an order of the parts of a triple. In the set each has entries of
// its own, which begin with its name.
type Order string

// The orders. A graph with Options.Compact keeps SPO, POS and OSP.
const (
	SPO Order = "spo"
	SOP Order = "sop"
	PSO Order = "pso"
	POS Order = "pos"
	OSP Order = "osp"
	OPS Order = "ops"
)

// kept are the orders that a graph keeps. Of those that serve a pattern the
// first is the one whose answer is by subject, then predicate, then object.
func kept(compact bool) []Order {
	if compact {
		return []Order{SPO, POS, OSP}
	}
	return []Order{SPO, SOP, PSO, POS, OSP, OPS}
}

// entry returns the entry of a triple whose names are escaped.
func (o Order) entry(t Triple) string {
	return string(o) + ":" + t.part(o[0]) + ":" + t.part(o[1]) + ":" + t.part(o[2])
}

// parseEntry undoes entry. It takes nothing that entry does not make.
func parseEntry(entry string) (Order, Triple, bool) {
	o, rest, ok := strings.Cut(entry, ":")
	if !ok {
		return "", Triple{}, false
	}
	order := Order(o)
	switch order {
	case SPO, SOP, PSO, POS, OSP, OPS:
	default:
		return "", Triple{}, false
	}
	var t Triple
	if !t.parse(o, rest) || t.check() != nil {
		return "", Triple{}, false
	}
	return order, t, true
}

// parse reads the parts that some letters mean, as they stand in an entry.
func (t *Triple) parse(letters, text string) bool {
	for i := range len(letters) {
		name, rest, more, ok := cutName(text)
		if !ok || more != (i < len(letters)-1) {
			return false
		}
		t.set(letters[i], name)
		text = rest
	}
	return true
}

// escape writes a name so that it can stand in an entry. Escaped names are in
// the order of the names: the second byte of ";:" and ";;" is that of the name.
func escape(name string) string {
	if strings.IndexByte(name, ':') < 0 && strings.IndexByte(name, ';') < 0 {
		return name
	}
	var out strings.Builder
	out.Grow(len(name) + 8)
	for i := range len(name) {
		if c := name[i]; c == ':' || c == ';' {
			out.WriteByte(';')
		}
		out.WriteByte(name[i])
	}
	return out.String()
}

// cutName reads an escaped name up to the colon behind it, or to the end, and
// tells whether there was a colon.
func cutName(text string) (name, rest string, more, ok bool) {
	end := strings.IndexByte(text, ':')
	if semicolon := strings.IndexByte(text, ';'); semicolon < 0 || 0 <= end && end < semicolon {
		if end < 0 {
			return text, "", false, true
		}
		return text[:end], text[end+1:], true, true
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ':':
			return out.String(), text[i+1:], true, true
		case ';':
			i++
			if i == len(text) || text[i] != ':' && text[i] != ';' {
				return "", "", false, false
			}
		}
		out.WriteByte(text[i])
	}
	return out.String(), "", false, true
}
