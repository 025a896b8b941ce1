package model

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/redis/rueidis"
)

// objects writes and reads the records of a table as Go structs. Its methods take
// pointers to these, so that a Store adds nothing but the type.
type objects struct {
	*declaration
	t *table
}

// newObjects opens the table of a declaration and publishes its schema.
func newObjects(ctx context.Context, t *table, d *declaration) (*objects, error) {
	o := &objects{d, t}
	t.compute = o.recompute
	t.relevant = t.relevantFields()
	return o, t.enrol(ctx)
}

// recompute checks a stored record, and fills in its computed fields.
func (o *objects) recompute(id string, fields []text) error {
	record := o.newRecord()
	if err := o.decode(o.t.of(id).of(id), id, fields, record); err != nil {
		return err
	}
	return o.declaration.compute(record, fields)
}

// create writes a new record, and sets its id and version.
func (o *objects) create(ctx context.Context, ptr any) error {
	record := reflect.ValueOf(ptr).Elem()
	own := o.idOf(record)
	switch {
	case own != "" && o.t.opt.IDs != Own:
		return fmt.Errorf("%w: %s is %q: new records get theirs from Options.IDs, %s; leave it empty", ErrValue, o.id.goName, shortened(own), o.t.opt.IDs)
	case own == "" && o.t.opt.IDs == Own:
		return fmt.Errorf("%w: %s is empty: with model.Own the caller gives the id", ErrValue, o.id.goName)
	}
	o.setVersion(record, 1)
	next, err := o.t.newID(ctx, own)
	for {
		if err != nil {
			return err
		}
		var given *givenID
		switch err = o.createAs(ctx, record, next); {
		case errors.As(err, &given):
			next, err = o.t.given(given.id)
		case errors.Is(err, errExists) && own == "":
			// The counter fell back, or another program made the record: take
			// the next id.
			next, err = o.t.newID(ctx, "")
		case errors.Is(err, errExists):
			return &TakenError{Field: "id", Value: own, Owner: own}
		default:
			if err != nil {
				o.t.unused(next)
			}
			return err
		}
	}
}

// createAs writes a new record with an id.
func (o *objects) createAs(ctx context.Context, record reflect.Value, next newID) error {
	if err := o.checkID(next.id); err != nil {
		return err
	}
	if err := o.setID(record, next.id); err != nil {
		return fmt.Errorf("%w: id %q: %w", ErrValue, next.id, err)
	}
	c, err := o.written(record, next.id)
	if err != nil {
		return err
	}
	c.operation, c.expected = "create", next.after
	if next.after != "" {
		c.operation = "next"
	}
	return o.t.put(ctx, c)
}

// written returns the change that writes a whole record.
func (o *objects) written(record reflect.Value, id string) (*change, error) {
	fields, err := o.encode(record)
	if err != nil {
		return nil, err
	}
	c := &change{id: id}
	if c.content, c.entries, err = o.t.packed(fields); err != nil {
		return nil, err
	}
	c.set = make([]string, 0, 2*len(o.names))
	for i, name := range o.names {
		if fields[i].ok {
			c.set = append(c.set, name, fields[i].s)
		} else {
			c.remove = append(c.remove, name)
		}
	}
	if len(c.set) == 0 {
		c.set = []string{emptyField, ""}
	}
	return c, nil
}

// get reads a record into a zero struct.
func (o *objects) get(ctx context.Context, id string, ptr any) error {
	return o.parseInto(ctx, id, o.t.do(ctx, id, false), reflect.ValueOf(ptr).Elem())
}

// getMany calls add with a pointer to each record that exists, or the error of one
// that cannot be read.
func (o *objects) getMany(ctx context.Context, ids []string, add func(ptr any, err error)) error {
	for chunk := range slices.Chunk(ids, fetchMany) {
		for i, r := range o.t.doMany(ctx, chunk) {
			record := o.newRecord()
			err := o.parseInto(ctx, chunk[i], r, record)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			var of *RecordError
			if err != nil && !errors.As(err, &of) {
				return err
			}
			add(record.Addr().Interface(), err)
		}
	}
	return nil
}

// parseInto reads a record from a reply.
func (o *objects) parseInto(ctx context.Context, id string, r rueidis.RedisResult, into reflect.Value) error {
	var room [32]text
	stored := room[:]
	if len(o.fields) > len(room) {
		stored = make([]text, len(o.fields))
	}
	known, err := o.t.parse(id, r, stored)
	if err == nil && !known {
		err = o.t.absent(ctx, id)
	}
	if err != nil {
		return err
	}
	return o.decode(o.t.of(id).record+id, id, stored, into)
}

// fetchMany is how many records are read in one pipeline.
const fetchMany = 500

// save writes a whole record that exists, and sets its version and counters.
func (o *objects) save(ctx context.Context, ptr any) error {
	record := reflect.ValueOf(ptr).Elem()
	id := o.idOf(record)
	if err := o.checkID(id); err != nil {
		return err
	}
	version := o.versionOf(record)
	o.setVersion(record, version+1)
	c, err := o.written(record, id)
	if err != nil {
		return err
	}
	o.leaveCounters(c)
	c.operation = "save"
	if o.version >= 0 {
		c.expected = "v" + strconv.FormatInt(version, 10)
	}
	for i, is := range o.counters {
		if is {
			c.shown = append(c.shown, i)
		}
	}
	if err := o.t.put(ctx, c); err != nil {
		return err
	}
	return o.takeCounters(c, record)
}

// takeCounters sets the counters of a saved struct to their stored values.
func (o *objects) takeCounters(c *change, record reflect.Value) error {
	for i, number := range c.shown {
		f := &o.goFields[number]
		f.of(record).SetZero()
		if i >= len(c.values) || !c.values[i].ok {
			continue
		}
		if err := f.decode(f.of(record), c.values[i].s); err != nil {
			return fmt.Errorf("%w: key %q, field %s: %w", ErrCorrupt, o.t.of(c.id).of(c.id), f.stored, err)
		}
	}
	return nil
}

// leaveCounters removes the counters from a change.
func (o *objects) leaveCounters(c *change) {
	var set []string
	for i := 0; i < len(c.set); i += 2 {
		if n := o.number(c.set[i]); n < 0 || !o.counters[n] {
			set = append(set, c.set[i], c.set[i+1])
		}
	}
	c.set = set
	if len(c.set) == 0 {
		c.set = []string{emptyField, ""}
	}
	c.remove = slices.DeleteFunc(c.remove, func(name string) bool { return o.counters[o.number(name)] })
}

// update applies f to a record until no other writer interferes.
func (o *objects) update(ctx context.Context, id string, f func(ptr any) error) error {
	if err := o.checkID(id); err != nil {
		return err
	}
	return retry(ctx, func() error { return o.updateOnce(ctx, id, nil, f) })
}

// updateOnce is one attempt of update. The overwritten fields need not be readable.
func (o *objects) updateOnce(ctx context.Context, id string, overwritten []int, f func(ptr any) error) error {
	stored, err := o.t.read(ctx, id)
	if err != nil {
		return err
	}
	readable := stored
	if len(overwritten) > 0 {
		readable = slices.Clone(stored)
		for _, field := range overwritten {
			readable[field] = text{}
		}
	}
	record := o.newRecord()
	if err := o.decode(o.t.of(id).of(id), id, readable, record); err != nil {
		return err
	}
	if err := f(record.Addr().Interface()); err != nil {
		return err
	}
	if now := o.idOf(record); now != id {
		return fmt.Errorf("%w: the function of Update changed the id from %q to %q", ErrValue, shortened(id), shortened(now))
	}
	return o.rewrite(ctx, stored, record, id)
}

// storedVersion returns the version of a stored record, 0 for a model without
// versions.
func (o *objects) storedVersion(stored []text) int64 {
	if o.version < 0 {
		return 0
	}
	n, _ := strconv.ParseInt(stored[o.version].s, 10, 64) // none, or none that we wrote: 0
	return n
}

// rewrite writes the fields of a record that differ from the stored ones, unless
// another writer has changed the record since.
func (o *objects) rewrite(ctx context.Context, stored []text, record reflect.Value, id string) error {
	version := o.storedVersion(stored)
	o.setVersion(record, version)
	fields, err := o.encode(record)
	if err != nil {
		return err
	}
	c := &change{id: id, operation: "save", expected: o.t.expectation(stored)}
	changed := false
	for i, name := range o.names {
		if o.counters[i] {
			fields[i] = stored[i]
		}
		now := fields[i]
		if now == stored[i] {
			continue
		}
		changed = true
		switch {
		case i == o.version:
		case now.ok:
			c.set = append(c.set, name, now.s)
		default:
			c.remove = append(c.remove, name)
		}
	}
	if !changed {
		return nil
	}
	if o.version >= 0 {
		next := strconv.FormatInt(version+1, 10)
		fields[o.version] = text{next, true}
		c.set = append(c.set, o.names[o.version], next)
	}
	if c.content, c.entries, err = o.t.packed(fields); err != nil {
		return err
	}
	if len(c.set) == 0 {
		c.set = []string{emptyField, ""}
	}
	return o.t.put(ctx, c)
}

// patch sets some fields of a record.
func (o *objects) patch(ctx context.Context, id string, values map[string]any) error {
	var overwritten []int
	if o.version >= 0 {
		overwritten = append(overwritten, o.version)
	}
	for name := range values {
		n := o.number(name)
		switch {
		case n < 0 || n >= len(o.goFields):
			return o.unknown(name)
		case n == o.version:
			return fmt.Errorf("%w: %s is the version, which the store sets", ErrValue, name)
		case o.counters[n]:
			return fmt.Errorf("%w: %s is a counter: use Incr", ErrValue, name)
		}
		overwritten = append(overwritten, n)
	}
	if err := o.checkID(id); err != nil {
		return err
	}
	return retry(ctx, func() error {
		return o.updateOnce(ctx, id, overwritten, func(ptr any) error { return o.assign(ptr, values) })
	})
}

// assign sets fields to values of their types, or ones that mean the same. A nil
// value clears the field.
func (o *objects) assign(ptr any, values map[string]any) error {
	record := reflect.ValueOf(ptr).Elem()
	for name, value := range values {
		f := &o.goFields[o.number(name)]
		if err := assign(f.of(record), f.target != nil, value); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrValue, f.goName, err)
		}
	}
	return nil
}

// incr adds n to a counter of a record and returns the sum.
func (o *objects) incr(ctx context.Context, id, field string, n int64) (int64, error) {
	number := o.number(field)
	switch {
	case number < 0 || number >= len(o.goFields):
		return 0, o.unknown(field)
	case !o.counters[number]:
		return 0, fmt.Errorf("%w: %s is not a counter: declare it `redis:\"%s,counter\"`", ErrValue, field, field)
	}
	if err := o.checkID(id); err != nil {
		return 0, err
	}
	return o.t.incr(ctx, id, field, n, o.goFields[number].bits)
}

// clearRef removes the references of a field to a target from a record, and reports
// whether there were any.
func (o *objects) clearRef(ctx context.Context, f *goField, id, target string) (bool, error) {
	cleared := false
	err := o.update(ctx, id, func(ptr any) error {
		cleared = clearRefs(f.of(reflect.ValueOf(ptr).Elem()), target)
		return nil
	})
	return cleared && err == nil, err
}

// clearRefs removes the references to a target from a value: a Ref, or a pointer
// to one or a list of them.
func clearRefs(v reflect.Value, target string) bool {
	cleared := false
	switch v.Kind() {
	case reflect.Struct:
		if ref, ok := v.Addr().Interface().(encoding.TextMarshaler); ok {
			text, err := ref.MarshalText()
			cleared = err == nil && string(text) == target
		}
		if cleared {
			v.SetZero()
		}
	case reflect.Pointer:
		cleared = !v.IsNil() && clearRefs(v.Elem(), target)
		if cleared && v.Type().Elem().Kind() == reflect.Struct {
			v.SetZero()
		}
	case reflect.Array:
		for i := range v.Len() {
			cleared = clearRefs(v.Index(i), target) || cleared
		}
	case reflect.Slice:
		left := reflect.MakeSlice(v.Type(), 0, v.Len())
		for i := range v.Len() {
			if clearRefs(v.Index(i), target) {
				cleared = true
			} else {
				left = reflect.Append(left, v.Index(i))
			}
		}
		if cleared {
			v.Set(left)
		}
	}
	return cleared
}
