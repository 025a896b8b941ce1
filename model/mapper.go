package model

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// mapper turns structs into stored records and back.
type mapper[T any] struct{ *declaration }

// encode writes a struct as texts, the computed ones behind the stored ones.
func (m mapper[T]) encode(record *T) ([]text, error) {
	v := reflect.ValueOf(record).Elem()
	all := make([]text, len(m.fields))
	for i := range m.goFields {
		f := &m.goFields[i]
		t, err := f.encode(f.of(v))
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrValue, f.goName, err)
		}
		if all[i] = t; len(t.s) > maxField {
			return nil, fmt.Errorf("%w: %s has %d bytes: a field holds at most %d", ErrValue, f.goName, len(t.s), maxField)
		}
	}
	return all, m.compute(record, all)
}

// maxField is how many bytes a field holds: what a Redis string does.
const maxField = 512 << 20

// compute fills the computed fields.
func (m mapper[T]) compute(record *T, all []text) error {
	for i := range m.computes {
		c := &m.computes[i]
		result, err := call(c.name, c.of, record)
		if err != nil {
			return err
		}
		t, err := c.encode(reflect.ValueOf(result).Elem())
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrValue, c.name, err)
		}
		all[len(m.goFields)+i] = t
	}
	return nil
}

// decode fills a zero struct with what is stored.
func (m mapper[T]) decode(key, id string, fields []text, into *T) error {
	v := reflect.ValueOf(into).Elem()
	if err := m.id.decode(m.id.of(v), id); err != nil {
		return &RecordError{id, m.id.stored, fmt.Errorf("%w: key %q: the id: %w", ErrCorrupt, key, err)}
	}
	for i := range m.goFields {
		if !fields[i].ok {
			continue
		}
		f := &m.goFields[i]
		if err := f.decode(f.of(v), fields[i].s); err != nil {
			return &RecordError{id, f.stored, fmt.Errorf("%w: key %q, field %s: %w", ErrCorrupt, key, f.stored, err)}
		}
	}
	return nil
}

// unknown says that no field has a name, and what has it.
func (m mapper[T]) unknown(name string) error {
	hint := ""
	switch {
	case m.number(name) >= 0:
		hint = ": it is computed"
	case slices.Contains(m.collections, name):
		hint = ": it is a Set or List, which is kept beside the record"
	case m.index(name) != nil:
		hint = ": it is an index; ask for the fields that it has"
	case name == "id" || name == m.id.stored:
		hint = ": it is the id, which Get and GetMany take, and which stays"
	default:
		for i := range m.goFields {
			if m.goFields[i].goName == name {
				hint = fmt.Sprintf(": it is stored as %q", m.goFields[i].stored)
			}
		}
	}
	return fmt.Errorf("%w: no field is called %q%s", ErrValue, shortened(name), hint)
}

// idOf is the id within a struct, or nothing where it is not set.
func (m mapper[T]) idOf(record *T) string {
	v := m.id.of(reflect.ValueOf(record).Elem())
	if v.IsZero() {
		return ""
	}
	t, err := m.id.encode(v)
	if err != nil {
		return ""
	}
	return t.s
}

func (m mapper[T]) setID(record *T, id string) error {
	return m.id.decode(m.id.of(reflect.ValueOf(record).Elem()), id)
}

// versionOf is the version within a struct, 0 where it has none.
func (m mapper[T]) versionOf(record *T) int64 {
	if m.version < 0 {
		return 0
	}
	f := &m.goFields[m.version]
	return f.of(reflect.ValueOf(record).Elem()).Int()
}

func (m mapper[T]) setVersion(record *T, version int64) {
	if m.version >= 0 {
		f := &m.goFields[m.version]
		f.of(reflect.ValueOf(record).Elem()).SetInt(version)
	}
}

// maxID is how many bytes an id has at most.
const maxID = 256

// checkID refuses what cannot be an id. A zero byte ends it in a claim.
func (m mapper[T]) checkID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: the id is empty", ErrValue)
	case len(id) > maxID:
		return fmt.Errorf("%w: the id has %d bytes: at most %d are allowed", ErrValue, len(id), maxID)
	case strings.Contains(id, "\x00"):
		return fmt.Errorf("%w: id %q has a zero byte", ErrValue, shortened(id))
	case m.id.kind == kindInt || m.id.kind == kindUint:
		var n string
		if i, err := strconv.ParseInt(id, 10, 64); err == nil {
			n = strconv.FormatInt(i, 10)
		} else if u, err := strconv.ParseUint(id, 10, 64); err == nil {
			n = strconv.FormatUint(u, 10)
		}
		if n != id {
			return fmt.Errorf("%w: id %q is not an integer", ErrNotFound, shortened(id))
		}
	}
	return nil
}
