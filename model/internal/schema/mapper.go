package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Encode encodes a struct as texts: the stored fields, then the computed fields.
func (d *Declaration) Encode(record reflect.Value) ([]Text, error) {
	all := make([]Text, len(d.Schema.Fields))
	for i := range d.GoFields {
		f := &d.GoFields[i]
		t, err := f.encode(f.Of(record))
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrValue, f.GoName, err)
		}
		if all[i] = t; len(t.Value) > maxField {
			return nil, fmt.Errorf("%w: %s has %d bytes: a field holds at most %d", ErrValue, f.GoName, len(t.Value), maxField)
		}
	}
	return all, d.Compute(record, all)
}

// Reencoded encodes the stored fields of a decoded struct. A field that cannot be encoded gets
// a text that equals no other.
func (d *Declaration) Reencoded(record reflect.Value) []Text {
	all := make([]Text, len(d.GoFields))
	for i := range d.GoFields {
		f := &d.GoFields[i]
		t, err := f.encode(f.Of(record))
		if err != nil {
			t = Text{Value: "?"} // OK is false
		}
		all[i] = t
	}
	return all
}

// maxField is the maximum length of a field in bytes, the limit of a Redis string.
const maxField = 512 << 20

// Compute sets the computed fields.
func (d *Declaration) Compute(record reflect.Value, all []Text) error {
	for i := range d.computes {
		c := &d.computes[i]
		result, err := call(c.name, c.compute, record.Addr().Interface())
		if err != nil {
			return err
		}
		t, err := c.encode(reflect.ValueOf(result).Elem())
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrValue, c.name, err)
		}
		all[len(d.GoFields)+i] = t
	}
	return nil
}

// call runs the function of a computed field. A panic becomes an error of the record.
func call(name string, compute func(record any) any, record any) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: the computed index %s panicked: %v", ErrValue, name, p)
		}
	}()
	return compute(record), nil
}

// Decode fills a zero struct from the stored texts.
func (d *Declaration) Decode(key, id string, fields []Text, into reflect.Value) error {
	if err := d.ID.Decode(d.ID.Of(into), id); err != nil {
		return &RecordError{id, d.ID.Stored, fmt.Errorf("%w: key %q: the id: %w", ErrCorrupt, key, err)}
	}
	for i := range d.GoFields {
		if !fields[i].OK {
			continue
		}
		f := &d.GoFields[i]
		if err := f.Decode(f.Of(into), fields[i].Value); err != nil {
			return &RecordError{id, f.Stored, fmt.Errorf("%w: key %q, field %s: %w", ErrCorrupt, key, f.Stored, err)}
		}
	}
	return nil
}

// NewRecord returns a zero struct.
func (d *Declaration) NewRecord() reflect.Value { return reflect.New(d.GoType).Elem() }

// Unknown returns the error for an unknown field name, with a hint.
func (d *Declaration) Unknown(name string) error {
	hint := ""
	switch {
	case d.Schema.Number(name) >= 0:
		hint = ": it is computed"
	case slices.Contains(d.Schema.Collections, name):
		hint = ": it is a Set or List, which is stored outside the record"
	case d.Schema.Index(name) != nil:
		hint = ": it is an index; query its fields"
	case name == "id" || name == d.ID.Stored:
		hint = ": it is the id, which Get and GetMany take, and which never changes"
	default:
		for i := range d.GoFields {
			if d.GoFields[i].GoName == name {
				hint = fmt.Sprintf(": it is stored as %q", d.GoFields[i].Stored)
			}
		}
	}
	return fmt.Errorf("%w: no field is called %q%s", ErrValue, Shorten(name), hint)
}

// IdOf returns the id in a struct, or "" if it is not set.
func (d *Declaration) IdOf(record reflect.Value) string {
	v := d.ID.Of(record)
	if v.IsZero() {
		return ""
	}
	t, err := d.ID.encode(v)
	if err != nil {
		return ""
	}
	return t.Value
}

// SetID sets the id in a struct.
func (d *Declaration) SetID(record reflect.Value, id string) error {
	return d.ID.Decode(d.ID.Of(record), id)
}

// VersionOf returns the version in a struct, or 0 for a model without versions.
func (d *Declaration) VersionOf(record reflect.Value) int64 {
	if d.Schema.Version < 0 {
		return 0
	}
	return d.GoFields[d.Schema.Version].Of(record).Int()
}

// SetVersion sets the version in a struct, if the model has versions.
func (d *Declaration) SetVersion(record reflect.Value, version int64) {
	if d.Schema.Version >= 0 {
		d.GoFields[d.Schema.Version].Of(record).SetInt(version)
	}
}

// SetTime sets a field to a time in milliseconds, or in whole seconds for the option unix.
func (d *Declaration) SetTime(record reflect.Value, field int, ms int64) {
	f := &d.GoFields[field]
	if f.Kind == kindUnix {
		if field == d.Schema.Expires {
			ms += 999 // round up
		}
		ms -= ms % 1000
	}
	at, v := time.UnixMilli(ms).UTC(), f.Of(record)
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.ValueOf(&at))
	} else {
		v.Set(reflect.ValueOf(at))
	}
}

// Stamp sets the times of a record for a write: the time of the last write, the time of
// creation if the record is new and has none, and the time of expiry if it has none.
func (d *Declaration) Stamp(record reflect.Value, now int64, isNew bool) {
	zero := func(field int) bool {
		v := d.GoFields[field].Of(record)
		t, ok := v.Interface().(time.Time)
		return ok && t.IsZero() || v.Kind() == reflect.Pointer && v.IsNil()
	}
	if d.Schema.Created >= 0 && isNew && zero(d.Schema.Created) {
		d.SetTime(record, d.Schema.Created, now)
	}
	if d.Schema.Updated >= 0 {
		d.SetTime(record, d.Schema.Updated, now)
	}
	if d.Schema.TTL > 0 && zero(d.Schema.Expires) {
		d.SetTime(record, d.Schema.Expires, now+d.Schema.TTL.Milliseconds())
	}
}

// EncodeField returns the stored text of a field.
func (d *Declaration) EncodeField(record reflect.Value, field int) (Text, error) {
	f := &d.GoFields[field]
	return f.encode(f.Of(record))
}

// CheckID returns an error for an invalid id. A zero byte is invalid, since it ends the id in a
// claim.
func (d *Declaration) CheckID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: the id is empty", ErrValue)
	case len(id) > maxID:
		return fmt.Errorf("%w: the id has %d bytes: at most %d are allowed", ErrValue, len(id), maxID)
	case strings.Contains(id, "\x00"):
		return fmt.Errorf("%w: id %q has a zero byte", ErrValue, Shorten(id))
	case d.ID.Kind == kindInt || d.ID.Kind == kindUint:
		var n string
		if i, err := strconv.ParseInt(id, 10, 64); err == nil {
			n = strconv.FormatInt(i, 10)
		} else if u, err := strconv.ParseUint(id, 10, 64); err == nil {
			n = strconv.FormatUint(u, 10)
		}
		if n != id {
			return fmt.Errorf("%w: id %q is not an integer", ErrNotFound, Shorten(id))
		}
	}
	return nil
}
