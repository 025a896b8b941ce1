package record

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"retwis/model/internal/rows"
	"retwis/model/internal/schema"
)

// edit is an Update or Patch of a record, or an Incr in a model with computed fields.
type edit struct {
	id string
	f  func(ptr any, now int64) error
	// patched holds the numbers of the fields that Patch sets; nil: an Update. The old values
	// of these fields need not be readable, and no other field is written.
	patched   []int
	unchecked bool      // skip validation
	timed     bool      // a patched field depends on the time of the server
	addition  *addition // Incr; f is not used
}

// Update applies f to a record, repeatedly if other writers interfere, and returns the record
// as written.
func (o *Objects) Update(ctx context.Context, id string, f func(ptr any) error) (ptr any, err error) {
	return o.edit(ctx, &edit{id: id, f: func(ptr any, _ int64) error { return f(ptr) }})
}

// Patch sets fields of a record, and returns the record as written.
func (o *Objects) Patch(ctx context.Context, id string, values map[string]any) (ptr any, err error) {
	e := &edit{id: id, patched: []int{}}
	for name := range values {
		n := o.Declaration.Schema.Number(name)
		switch {
		case n < 0 || n >= len(o.Declaration.GoFields):
			return nil, o.Declaration.Unknown(name)
		case n == o.Declaration.Schema.Version:
			return nil, fmt.Errorf("%w: %s is the version, which the store sets", schema.ErrValue, name)
		case o.Declaration.Schema.Counters[n]:
			return nil, fmt.Errorf("%w: %s is a counter: use Incr", schema.ErrValue, name)
		case n == o.Declaration.Schema.Created || n == o.Declaration.Schema.Updated:
			return nil, fmt.Errorf("%w: %s is a time that the store sets", schema.ErrValue, name)
		}
		e.patched = append(e.patched, n)
	}
	if o.Declaration.Schema.Expires >= 0 {
		_, e.timed = values[o.Declaration.Schema.Names[o.Declaration.Schema.Expires]].(time.Duration)
	}
	e.f = func(ptr any, now int64) error { return o.assign(ptr, now, values) }
	return o.edit(ctx, e)
}

// edit applies an edit, with retries after conflicts.
func (o *Objects) edit(ctx context.Context, e *edit) (ptr any, err error) {
	if err := o.CheckID(e.id); err != nil {
		return nil, err
	}
	err = retry(ctx, func() error {
		return WithClock(func() error {
			record, err := o.editOnce(ctx, e)
			ptr = record
			return err
		})
	})
	return ptr, err
}

// editOnce is one attempt of edit.
func (o *Objects) editOnce(ctx context.Context, e *edit) (ptr any, err error) {
	stored, err := o.Table.Rows.Read(ctx, e.id)
	if err != nil {
		return nil, err
	}
	record, c, err := o.edited(stored, e)
	if c == nil || err != nil {
		return ptrOf(record), err
	}
	if o.Declaration.Schema.Version >= 0 {
		c.expected = "v" + strconv.FormatInt(o.storedVersion(stored), 10)
		if v := stored[o.Declaration.Schema.Version]; v.OK {
			c.expected = "v" + v.Value
		}
	} else {
		checked := o.checked(e)
		c.checked = o.Declaration.Schema.NamesOf(checked)
		c.byContent = e.patched != nil && o.Declaration.Validate == nil && o.Table.determined()
		c.expected = "d" + rows.DigestOf(stored, checked)
	}
	return ptrOf(record), o.Table.put(ctx, c)
}

// ptrOf returns a pointer to a record, or nil for the zero Value.
func ptrOf(record reflect.Value) any {
	if !record.IsValid() {
		return nil
	}
	return record.Addr().Interface()
}

// checked returns the fields that must not have changed since they were read. Update and
// Validate may depend on any field; Patch depends only on fields with index entries.
func (o *Objects) checked(e *edit) []int {
	if e.patched != nil && o.Declaration.Validate == nil {
		return slices.DeleteFunc(slices.Clone(o.Table.Rows.Relevant), func(i int) bool { return o.Declaration.Schema.Counters[i] })
	}
	var all []int
	for i, counter := range o.Declaration.Schema.Counters {
		if !counter {
			all = append(all, i)
		}
	}
	return all
}

// edited applies an edit to a stored record. It returns the record and the change, which is nil
// if there is none.
func (o *Objects) edited(stored []schema.Text, e *edit) (reflect.Value, *change, error) {
	readable := stored
	if e.patched != nil {
		readable = slices.Clone(stored)
		for _, field := range e.patched {
			readable[field] = schema.Text{}
		}
		if o.Declaration.Schema.Version >= 0 {
			readable[o.Declaration.Schema.Version] = schema.Text{}
		}
	}
	record := o.Declaration.NewRecord()
	if err := o.Declaration.Decode(o.Table.Layout.Of(e.id).Record(e.id), e.id, readable, record); err != nil {
		return record, nil, err
	}
	if e.addition != nil {
		c, err := o.added(stored, record, e)
		return record, c, err
	}
	before := stored
	if e.patched == nil {
		before = o.Declaration.Reencoded(record)
	}
	now := o.Table.now(e.id)
	if err := e.f(record.Addr().Interface(), now); err != nil {
		return record, nil, err
	}
	if id := o.Declaration.IdOf(record); id != e.id {
		return record, nil, fmt.Errorf("%w: the function of Update changed the id from %q to %q", schema.ErrValue, schema.Shorten(e.id), schema.Shorten(id))
	}
	c, err := o.difference(stored, before, record, e, now)
	if c != nil && err == nil && !e.unchecked {
		err = o.Declaration.Check(record)
	}
	return record, c, err
}

// storedVersion returns the version of a stored record, or 0 for a model without versions.
func (o *Objects) storedVersion(stored []schema.Text) int64 {
	if o.Declaration.Schema.Version < 0 {
		return 0
	}
	n, _ := strconv.ParseInt(stored[o.Declaration.Schema.Version].Value, 10, 64) // 0 if absent or invalid
	return n
}

// difference returns the change that writes the fields of a record that differ from before: the
// encoding of the decoded record or, for Patch, the stored fields. Parts of a stored value that
// the Go type does not have are therefore kept if the field does not change. difference returns
// nil if no field differs. It also resets the fields of the record that the caller cannot
// change.
func (o *Objects) difference(stored, before []schema.Text, record reflect.Value, e *edit, now int64) (*change, error) {
	version := o.storedVersion(stored)
	o.Declaration.SetVersion(record, version)
	for i := range o.Declaration.Schema.Names {
		if o.Declaration.Schema.Kept(i) || i == o.Declaration.Schema.Updated {
			if err := o.takeField(e.id, i, stored[i], record); err != nil {
				return nil, err
			}
		}
	}
	fields, err := o.Declaration.Encode(record)
	if err != nil {
		return nil, err
	}
	patched := func(i int) bool { return e.patched == nil || slices.Contains(e.patched, i) }
	changed := make([]bool, len(o.Declaration.Schema.Names))
	for i := range changed {
		changed[i] = fields[i] != before[i] && (patched(i) || i == o.Declaration.Schema.Version) && !o.Declaration.Schema.Kept(i) && i != o.Declaration.Schema.Updated
	}
	if !slices.Contains(changed, true) {
		return nil, nil
	}
	o.Declaration.SetVersion(record, version+1)
	o.Declaration.Stamp(record, now, false)
	if fields, err = o.Declaration.Encode(record); err != nil {
		return nil, err
	}
	c := &change{id: e.id, operation: "save"}
	o.expect(c, stored)
	if o.Declaration.Schema.Timed() || e.timed {
		c.now = now
	}
	for i, name := range o.Declaration.Schema.Names {
		setByStore := i == o.Declaration.Schema.Version || i == o.Declaration.Schema.Updated || i == o.Declaration.Schema.Expires && o.Declaration.Schema.TTL > 0
		// A Patch also writes equal values, since another Patch may have changed them
		// meanwhile.
		writes := changed[i] || setByStore && fields[i] != stored[i] || e.patched != nil && patched(i)
		switch {
		case !writes || o.Declaration.Schema.Kept(i):
			fields[i] = stored[i]
		case fields[i].OK:
			c.set = append(c.set, name, fields[i].Value)
		default:
			c.remove = append(c.remove, name)
		}
	}
	if err := o.Table.pack(c, fields); err != nil {
		return nil, err
	}
	if len(c.set) == 0 {
		c.set = []string{rows.EmptyField, ""}
	}
	return c, nil
}

// expect sets the expected entries of a change, and the fields that the content depends on and
// that other writers change without a new version.
func (o *Objects) expect(c *change, stored []schema.Text) {
	c.stored = o.Table.knownOf(stored)
	for i, counter := range o.Declaration.Schema.Counters {
		touched := i == o.Declaration.Schema.Expires && o.Declaration.Schema.Version >= 0 // Touch does not change the version
		if (counter || touched) && slices.Contains(o.Table.Rows.Relevant, i) {
			c.watched, c.watchedText = append(c.watched, i), append(c.watchedText, stored[i])
		}
	}
}

// assign sets fields to values of their types or equivalents. nil clears the field. A duration
// for expires is relative to now.
func (o *Objects) assign(ptr any, now int64, values map[string]any) error {
	record := reflect.ValueOf(ptr).Elem()
	for name, value := range values {
		number := o.Declaration.Schema.Number(name)
		if ttl, ok := value.(time.Duration); ok && number == o.Declaration.Schema.Expires {
			o.Declaration.SetTime(record, number, now+ttl.Milliseconds())
			continue
		}
		f := &o.Declaration.GoFields[number]
		if err := schema.Assign(f.Of(record), f.Target != nil, value); err != nil {
			return fmt.Errorf("%w: %s: %w", schema.ErrValue, f.GoName, err)
		}
	}
	return nil
}
