package model

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// encode writes a struct as texts: the stored fields, then the computed ones.
func (d *declaration) encode(record reflect.Value) ([]text, error) {
	all := make([]text, len(d.fields))
	for i := range d.goFields {
		f := &d.goFields[i]
		t, err := f.encode(f.of(record))
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrValue, f.goName, err)
		}
		if all[i] = t; len(t.s) > maxField {
			return nil, fmt.Errorf("%w: %s has %d bytes: a field holds at most %d", ErrValue, f.goName, len(t.s), maxField)
		}
	}
	return all, d.compute(record, all)
}

// maxField is how many bytes a field holds: the limit of a Redis string.
const maxField = 512 << 20

// compute fills the computed fields.
func (d *declaration) compute(record reflect.Value, all []text) error {
	for i := range d.computes {
		c := &d.computes[i]
		result, err := call(c.name, c.of, record.Addr().Interface())
		if err != nil {
			return err
		}
		t, err := c.encode(reflect.ValueOf(result).Elem())
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrValue, c.name, err)
		}
		all[len(d.goFields)+i] = t
	}
	return nil
}

// call runs a function of the application. A panic becomes an error of the record.
func call(name string, compute func(record any) any, record any) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: the computed index %s panicked: %v", ErrValue, name, p)
		}
	}()
	return compute(record), nil
}

// decode fills a zero struct from the stored texts.
func (d *declaration) decode(key, id string, fields []text, into reflect.Value) error {
	if err := d.id.decode(d.id.of(into), id); err != nil {
		return &RecordError{id, d.id.stored, fmt.Errorf("%w: key %q: the id: %w", ErrCorrupt, key, err)}
	}
	for i := range d.goFields {
		if !fields[i].ok {
			continue
		}
		f := &d.goFields[i]
		if err := f.decode(f.of(into), fields[i].s); err != nil {
			return &RecordError{id, f.stored, fmt.Errorf("%w: key %q, field %s: %w", ErrCorrupt, key, f.stored, err)}
		}
	}
	return nil
}

// newRecord returns a zero struct.
func (d *declaration) newRecord() reflect.Value { return reflect.New(d.goType).Elem() }

// unknown returns the error for a name that no field has, with a hint.
func (d *declaration) unknown(name string) error {
	hint := ""
	switch {
	case d.number(name) >= 0:
		hint = ": it is computed"
	case slices.Contains(d.collections, name):
		hint = ": it is a Set or List, which is stored outside the record"
	case d.index(name) != nil:
		hint = ": it is an index; query its fields"
	case name == "id" || name == d.id.stored:
		hint = ": it is the id, which Get and GetMany take, and which never changes"
	default:
		for i := range d.goFields {
			if d.goFields[i].goName == name {
				hint = fmt.Sprintf(": it is stored as %q", d.goFields[i].stored)
			}
		}
	}
	return fmt.Errorf("%w: no field is called %q%s", ErrValue, shortened(name), hint)
}

// idOf returns the id in a struct, or "" if it is not set.
func (d *declaration) idOf(record reflect.Value) string {
	v := d.id.of(record)
	if v.IsZero() {
		return ""
	}
	t, err := d.id.encode(v)
	if err != nil {
		return ""
	}
	return t.s
}

func (d *declaration) setID(record reflect.Value, id string) error {
	return d.id.decode(d.id.of(record), id)
}

// versionOf returns the version in a struct, 0 for a model without versions.
func (d *declaration) versionOf(record reflect.Value) int64 {
	if d.version < 0 {
		return 0
	}
	return d.goFields[d.version].of(record).Int()
}

func (d *declaration) setVersion(record reflect.Value, version int64) {
	if d.version >= 0 {
		d.goFields[d.version].of(record).SetInt(version)
	}
}

// maxID is how many bytes an id has at most.
const maxID = 256

// checkID refuses what cannot be an id. A zero byte separates the id in a claim.
func (d *declaration) checkID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: the id is empty", ErrValue)
	case len(id) > maxID:
		return fmt.Errorf("%w: the id has %d bytes: at most %d are allowed", ErrValue, len(id), maxID)
	case strings.Contains(id, "\x00"):
		return fmt.Errorf("%w: id %q has a zero byte", ErrValue, shortened(id))
	case d.id.kind == kindInt || d.id.kind == kindUint:
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
