package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/model/internal/rows"
	"retwis/model/internal/schema"
)

// Objects reads and writes the records of a table as Go structs. Its methods take pointers to
// structs; a Store adds only the type.
type Objects struct {
	Declaration *schema.Declaration
	Table       *Table
}

// NewObjects opens the table of a declaration and publishes its schema.
func NewObjects(ctx context.Context, t *Table, d *schema.Declaration) (*Objects, error) {
	o := &Objects{d, t}
	t.Compute = o.recompute
	if d.Checks() {
		t.Validate = o.validate
	}
	t.Rows.Relevant = t.relevantFields()
	return o, t.Registry.Open(ctx)
}

// CheckID returns an error for an id that no record can have: other data may have its key.
func (o *Objects) CheckID(id string) error {
	if err := o.Declaration.CheckID(id); err != nil {
		return err
	}
	return o.Table.checkIsID(id)
}

// checkIsID returns ErrNotFound for an id that no record can have.
func (t *Table) checkIsID(id string) error {
	if t.Layout.IsID(id) {
		return nil
	}
	return fmt.Errorf("%w: id %q: the ids of this model come from Options.IDs, %s", schema.ErrNotFound, schema.Shorten(id), t.Options.IDs)
}

// recompute checks a stored record, and sets its computed fields.
func (o *Objects) recompute(id string, fields []schema.Text) error {
	record := o.Declaration.NewRecord()
	if err := o.Declaration.Decode(o.Table.Layout.Of(id).Record(id), id, fields, record); err != nil {
		return err
	}
	return o.Declaration.Compute(record, fields)
}

// validate reports whether a stored record is valid.
func (o *Objects) validate(id string, fields []schema.Text) error {
	record := o.Declaration.NewRecord()
	if err := o.Declaration.Decode(o.Table.Layout.Of(id).Record(id), id, fields, record); err != nil {
		return err
	}
	return o.Declaration.Check(record)
}

// Create writes a new record, and sets its id and version.
func (o *Objects) Create(ctx context.Context, ptr any) error {
	record := reflect.ValueOf(ptr).Elem()
	own, err := o.newRecordID(record)
	if err == nil {
		err = o.Declaration.Check(record)
	}
	if err != nil {
		return err
	}
	given := o.copied(record)
	for {
		id := own
		if own == "" {
			if id, err = o.Table.ids.take(ctx, idBlock); err != nil {
				return err
			}
		}
		err = WithClock(func() error {
			record.Set(given)
			return o.createAs(ctx, record, id)
		})
		if !errors.Is(err, errExists) {
			return err
		} else if own != "" {
			return takenID(own)
		}
		// The counter was reset, or another program created a record with this id: take the
		// next id.
	}
}

// createAs writes a new record with an id.
func (o *Objects) createAs(ctx context.Context, record reflect.Value, id string) error {
	c, err := o.creation(record, id, o.Table.now(id))
	if err != nil {
		return err
	}
	return o.Table.put(ctx, c)
}

// copied returns a copy of a record for another attempt.
func (o *Objects) copied(record reflect.Value) reflect.Value {
	c := o.Declaration.NewRecord()
	c.Set(record)
	return c
}

// now returns the time of the server of a record.
func (t *Table) now(id string) int64 {
	if !t.Layout.Spread() {
		return t.clocks[0].now()
	}
	return t.clockOf(t.Layout.Of(id)).now()
}

// creation returns the change that writes a new record with an id, and sets the id.
func (o *Objects) creation(record reflect.Value, id string, now int64) (*change, error) {
	if err := o.Declaration.CheckID(id); err != nil {
		return nil, err
	}
	if err := o.Declaration.SetID(record, id); err != nil {
		return nil, fmt.Errorf("%w: id %q: %w", schema.ErrValue, id, err)
	}
	o.Declaration.SetVersion(record, 1)
	o.Declaration.Stamp(record, now, true)
	return o.written(record, &change{operation: "create", id: id, now: now})
}

// written completes a change that writes a whole record. In an existing record, counters and
// the time of creation are kept. If the change expects +, the script increments the stored
// version.
func (o *Objects) written(record reflect.Value, c *change) (*change, error) {
	fields, err := o.Declaration.Encode(record)
	if err != nil {
		return nil, err
	}
	if err := o.Table.pack(c, fields); err != nil {
		return nil, err
	}
	if !o.Declaration.Schema.Timed() {
		c.now = 0
	}
	c.set = make([]string, 0, 2*len(o.Declaration.Schema.Names))
	for i, name := range o.Declaration.Schema.Names {
		stays := c.operation != "create" && (o.Declaration.Schema.Kept(i) || i == o.Declaration.Schema.Version && c.expected == "+")
		if stays {
			c.returned = append(c.returned, i)
			if slices.Contains(o.Table.Rows.Relevant, i) {
				stored := fields[i]
				if i == o.Declaration.Schema.Version { // the content has the next version
					stored = versionText(o.Declaration.VersionOf(record) - 1)
				}
				c.watched, c.watchedText = append(c.watched, i), append(c.watchedText, stored)
			}
		}
		switch {
		case stays && fields[i].OK:
			c.setNew = append(c.setNew, name, fields[i].Value)
		case stays:
		case fields[i].OK:
			c.set = append(c.set, name, fields[i].Value)
		default:
			c.remove = append(c.remove, name)
		}
	}
	if c.operation == "save" {
		c.setNew = nil
	}
	if len(c.set) == 0 {
		c.set = []string{rows.EmptyField, ""}
	}
	return c, nil
}

// versionText returns the stored text of a version. Version 0 is not stored.
func versionText(n int64) schema.Text {
	if n == 0 {
		return schema.Text{}
	}
	return schema.Text{Value: strconv.FormatInt(n, 10), OK: true}
}

// Get reads a record into a zero struct.
func (o *Objects) Get(ctx context.Context, id string, ptr any) error {
	if err := o.Table.checkIsID(id); err != nil {
		return err
	}
	return o.parseInto(ctx, id, o.Table.Rows.Do(ctx, id, false), reflect.ValueOf(ptr).Elem())
}

// GetMany calls add with a pointer to each existing record, or the error of an unreadable record.
func (o *Objects) GetMany(ctx context.Context, ids []string, add func(ptr any, err error)) error {
	if slices.ContainsFunc(ids, func(id string) bool { return !o.Table.Layout.IsID(id) }) {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !o.Table.Layout.IsID(id) })
	}
	for chunk := range slices.Chunk(ids, FetchMany) {
		for i, r := range o.Table.Rows.DoMany(ctx, chunk) {
			record := o.Declaration.NewRecord()
			err := o.parseInto(ctx, chunk[i], r, record)
			if errors.Is(err, schema.ErrNotFound) {
				continue
			}
			var recordErr *schema.RecordError
			if err != nil && !errors.As(err, &recordErr) {
				return err
			}
			add(record.Addr().Interface(), err)
		}
	}
	return nil
}

// parseInto reads a record from a reply.
func (o *Objects) parseInto(ctx context.Context, id string, r rueidis.RedisResult, into reflect.Value) error {
	var buf [32]schema.Text
	stored := buf[:]
	if len(o.Declaration.Schema.Fields) > len(buf) {
		stored = make([]schema.Text, len(o.Declaration.Schema.Fields))
	}
	known, err := o.Table.Rows.Parse(id, r, stored)
	if err == nil && !known {
		err = o.Table.Rows.Absent(ctx, id)
	}
	if err != nil {
		return err
	}
	return o.Declaration.Decode(o.Table.Layout.Of(id).RecordPrefix+id, id, stored, into)
}

// FetchMany is the number of records read in one pipeline.
const FetchMany = 500

// Save overwrites an existing record, and sets its version, counters and times.
func (o *Objects) Save(ctx context.Context, ptr any) error {
	record := reflect.ValueOf(ptr).Elem()
	id := o.Declaration.IdOf(record)
	if err := o.CheckID(id); err != nil {
		return err
	}
	if err := o.Declaration.Check(record); err != nil {
		return err
	}
	given := o.copied(record)
	expected := ""
	if o.Declaration.Schema.Version >= 0 {
		expected = "v" + strconv.FormatInt(o.Declaration.VersionOf(record), 10)
	}
	return WithClock(func() error {
		record.Set(given)
		return o.replace(ctx, record, id, expected)
	})
}

// replace overwrites an existing record.
func (o *Objects) replace(ctx context.Context, record reflect.Value, id, expected string) error {
	if expected != "+" {
		o.Declaration.SetVersion(record, o.Declaration.VersionOf(record)+1)
	}
	for range maxApplied {
		now := o.Table.now(id)
		o.Declaration.Stamp(record, now, false)
		c, err := o.written(record, &change{operation: "save", id: id, expected: expected, now: now})
		if err != nil {
			return err
		}
		err = o.Table.put(ctx, c)
		var watched *watchedError
		if !errors.As(err, &watched) {
			return cmp.Or(err, o.take(c, record))
		}
		if err := o.takeWatched(c, watched, record); err != nil {
			return err
		}
	}
	return o.Table.Outcome(id, "CONFLICT")
}

// Put creates or overwrites a record, and sets its version, counters and times.
func (o *Objects) Put(ctx context.Context, ptr any) error {
	record := reflect.ValueOf(ptr).Elem()
	id := o.Declaration.IdOf(record)
	if id == "" {
		return o.Create(ctx, ptr)
	}
	if err := o.checkPut(record, id); err != nil {
		return err
	}
	given := o.copied(record)
	return retry(ctx, func() error {
		return WithClock(func() error {
			record.Set(given)
			return o.putOnce(ctx, record, id)
		})
	})
}

// checkPut returns an error for a record that Put must refuse.
func (o *Objects) checkPut(record reflect.Value, id string) error {
	if err := o.Declaration.CheckID(id); err != nil {
		return err
	}
	if o.Table.Options.IDs == schema.Counter {
		if err := checkCallerID(id); err != nil {
			return err
		}
	}
	if !o.Table.Layout.IsID(id) {
		return fmt.Errorf("%w: id %q: the ids of this model come from Options.IDs, %s", schema.ErrValue, schema.Shorten(id), o.Table.Options.IDs)
	}
	return o.Declaration.Check(record)
}

// putOnce is one attempt of Put.
func (o *Objects) putOnce(ctx context.Context, record reflect.Value, id string) error {
	c, err := o.putting(record, id, o.Table.now(id))
	if err != nil {
		return err
	}
	err = o.Table.put(ctx, c)
	var watched *watchedError
	if !errors.As(err, &watched) {
		return cmp.Or(err, o.take(c, record))
	}
	// The record exists, and its index entries depend on watched fields.
	if err := o.takeWatched(c, watched, record); err != nil {
		return err
	}
	if err = o.replace(ctx, record, id, "+"); errors.Is(err, schema.ErrNotFound) {
		err = o.Table.Outcome(id, "CONFLICT") // deleted concurrently
	}
	return err
}

// putting returns the change of Put, with the values of a new record.
func (o *Objects) putting(record reflect.Value, id string, now int64) (*change, error) {
	o.Declaration.SetVersion(record, 1)
	o.Declaration.Stamp(record, now, true)
	c := &change{operation: "put", id: id, now: now}
	if o.Declaration.Schema.Version >= 0 {
		c.expected = "+"
	}
	return o.written(record, c)
}

// take sets the fields of a struct that a write has kept to their stored values.
func (o *Objects) take(c *change, record reflect.Value) error {
	if c.operation == "put" && len(c.values) == 0 {
		return nil // a new record
	}
	if len(c.values) != len(c.returned) {
		return schema.ErrReply(nil)
	}
	for i, number := range c.returned {
		if err := o.takeField(c.id, number, c.values[i], record); err != nil {
			return err
		}
	}
	return nil
}

// takeWatched sets the watched fields to their stored values.
func (o *Objects) takeWatched(c *change, watched *watchedError, record reflect.Value) error {
	if len(watched.values) != len(c.watched) {
		return schema.ErrReply(nil)
	}
	for i, number := range c.watched {
		if err := o.takeField(c.id, number, watched.values[i], record); err != nil {
			return err
		}
		if number == o.Declaration.Schema.Version {
			o.Declaration.SetVersion(record, o.Declaration.VersionOf(record)+1)
		}
	}
	return nil
}

// takeField sets a field of a struct to its stored value.
func (o *Objects) takeField(id string, number int, stored schema.Text, record reflect.Value) error {
	f := &o.Declaration.GoFields[number]
	f.Of(record).SetZero()
	if !stored.OK {
		return nil
	}
	if err := f.Decode(f.Of(record), stored.Value); err != nil {
		return &schema.RecordError{ID: id, Field: f.Stored, Err: fmt.Errorf("%w: key %q, field %s: %w", schema.ErrCorrupt, o.Table.Layout.Of(id).Record(id), f.Stored, err)}
	}
	return nil
}

// Incr adds n to a counter of a record and returns the sum.
func (o *Objects) Incr(ctx context.Context, id, field string, n int64) (int64, error) {
	number := o.Declaration.Schema.Number(field)
	switch {
	case number < 0 || number >= len(o.Declaration.GoFields):
		return 0, o.Declaration.Unknown(field)
	case !o.Declaration.Schema.Counters[number]:
		return 0, fmt.Errorf("%w: %s is not a counter: declare it `redis:\"%s,counter\"`", schema.ErrValue, field, field)
	}
	if err := o.CheckID(id); err != nil {
		return 0, err
	}
	if len(o.Declaration.Schema.Fields) > len(o.Declaration.Schema.Names) {
		a := &addition{field: &o.Declaration.GoFields[number], n: n}
		_, err := o.edit(ctx, &edit{id: id, addition: a})
		if err != nil && !errors.Is(err, schema.ErrBound) {
			return 0, err
		}
		return a.sum, err
	}
	return o.Table.incr(ctx, id, &o.Declaration.GoFields[number], n)
}
