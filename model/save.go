package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Save writes a whole record that is there already, and returns it with its next
// version. Fields of the record that the struct does not know stay; counters are
// left alone, and returned as they are stored. Where the model has a version, and the record another one by now,
// it returns ErrConflict; without a version the last writer wins. It returns
// ErrNotFound where there is no such record, and a *TakenError as Create does. One
// script; of a record that is stored as JSON it is read before.
func (s *Store[T]) Save(ctx context.Context, record T) (T, error) {
	saved, err := s.save(ctx, record)
	return saved, s.wrap(err)
}

func (s *Store[T]) save(ctx context.Context, record T) (T, error) {
	id := s.idOf(&record)
	if err := s.checkID(id); err != nil {
		return record, err
	}
	if s.t.opt.Encoding == JSON {
		return s.saveJSON(ctx, record, id)
	}
	saved := record
	s.setVersion(&saved, s.versionOf(&record)+1)
	c, err := s.written(&saved, id)
	if err != nil {
		return record, err
	}
	s.leaveCounters(c)
	c.operation = "save"
	if s.version >= 0 {
		c.expected = "v" + strconv.FormatInt(s.versionOf(&record), 10)
	}
	for i, is := range s.t.counters {
		if is {
			c.shown = append(c.shown, i)
		}
	}
	if err := s.t.put(ctx, c); err != nil {
		return record, err
	}
	return saved, s.takeCounters(c, &saved)
}

// takeCounters puts the counters as they are stored into a record that was saved.
func (s *Store[T]) takeCounters(c *change, record *T) error {
	v := reflect.ValueOf(record).Elem()
	for i, number := range c.shown {
		f := &s.goFields[number]
		f.of(v).SetZero()
		if i >= len(c.values) || !c.values[i].ok {
			continue
		}
		if err := f.decode(f.of(v), c.values[i].s); err != nil {
			return fmt.Errorf("%w: key %q, field %s: %w", ErrCorrupt, s.t.of(c.id).of(c.id), f.stored, err)
		}
	}
	return nil
}

// leaveCounters takes the counters out of what is written.
func (s *Store[T]) leaveCounters(c *change) {
	var kept []string
	for i := 0; i < len(c.set); i += 2 {
		if n := s.number(c.set[i]); n < 0 || !s.t.counters[n] {
			kept = append(kept, c.set[i], c.set[i+1])
		}
	}
	c.set = kept
	if len(c.set) == 0 {
		c.set = []string{emptyField, ""}
	}
	c.remove = slices.DeleteFunc(c.remove, func(name string) bool { return s.t.counters[s.number(name)] })
}

// saveJSON replaces what the struct knows in the JSON of a record.
func (s *Store[T]) saveJSON(ctx context.Context, record T, id string) (T, error) {
	saved := record
	s.setVersion(&saved, s.versionOf(&record)+1)
	err := s.retry(ctx, func() error {
		stored, err := s.t.read(ctx, id)
		if err != nil {
			return err
		}
		if s.version >= 0 && storedVersion(&stored, s.version) != s.versionOf(&record) {
			return &moved{id}
		}
		return s.rewrite(ctx, &stored, &saved, id)
	})
	if err != nil {
		return record, err
	}
	return saved, nil
}

// moved is a conflict that trying again does not solve. It is an ErrConflict.
type moved struct{ id string }

func (m *moved) Error() string        { return fmt.Sprintf("%v: id %q", ErrConflict, shortened(m.id)) }
func (m *moved) Is(target error) bool { return target == ErrConflict }

func storedVersion(r *row, field int) int64 {
	n, _ := strconv.ParseInt(r.fields[field].s, 10, 64) // none, or none that we wrote: 0
	return n
}

// Update reads a record, calls f with it and writes what f changed, again where
// another writer came between: f may be called more than once, and should do
// nothing else. An error of f ends it, with nothing written; so do ErrNotFound and a
// *TakenError. Two round trips where nobody comes between; one where f changes
// nothing.
func (s *Store[T]) Update(ctx context.Context, id string, f func(*T) error) error {
	err := s.checkID(id)
	if err == nil {
		err = s.retry(ctx, func() error { return s.update(ctx, id, nil, f) })
	}
	return s.wrap(err)
}

// update is one attempt of Update. What f overwrites need not be readable.
func (s *Store[T]) update(ctx context.Context, id string, overwritten []int, f func(*T) error) error {
	stored, err := s.t.read(ctx, id)
	if err != nil {
		return err
	}
	if err := stored.damage(overwritten); err != nil {
		return err
	}
	record := new(T)
	readable := stored.fields
	if len(overwritten) > 0 {
		readable = slices.Clone(readable)
		for _, field := range overwritten {
			readable[field] = text{}
		}
	}
	if err := s.decode(s.t.of(id).of(id), id, readable, record); err != nil {
		return err
	}
	if err := f(record); err != nil {
		return err
	}
	if now := s.idOf(record); now != id {
		return fmt.Errorf("%w: the function of Update changed the id from %q to %q", ErrValue, shortened(id), shortened(now))
	}
	s.setVersion(record, storedVersionOf(s, &stored))
	return s.rewrite(ctx, &stored, record, id)
}

// storedVersionOf is the version of a row, 0 where the model has none.
func storedVersionOf[T any](s *Store[T], r *row) int64 {
	if s.version < 0 {
		return 0
	}
	return storedVersion(r, s.version)
}

// rewrite writes those fields of a record that are not as they are stored, if
// it is still as it was read.
func (s *Store[T]) rewrite(ctx context.Context, stored *row, record *T, id string) error {
	fields, err := s.encode(record)
	if err != nil {
		return err
	}
	c := &change{id: id, operation: "save", expected: s.t.expectation(stored)}
	changed := false
	for i, name := range s.t.names {
		now := fields[i]
		if s.t.counters[i] {
			now = stored.fields[i]
			fields[i] = now
		}
		if now == stored.fields[i] && stored.unread[i] == nil {
			continue
		}
		changed = true
		switch {
		case i == s.version:
		case now.ok:
			c.set = append(c.set, name, now.s)
		default:
			c.remove = append(c.remove, name)
		}
	}
	if !changed {
		return nil
	}
	if s.version >= 0 {
		next := strconv.FormatInt(storedVersion(stored, s.version)+1, 10)
		fields[s.version] = text{next, true}
		c.set = append(c.set, s.t.names[s.version], next)
	}
	if c.content, c.entries, err = s.t.packed(fields); err != nil {
		return err
	}
	if s.t.opt.Encoding == JSON {
		if c.json, err = s.t.document(&row{fields: fields, others: stored.others}); err != nil {
			return err
		}
	} else if len(c.set) == 0 {
		c.set = []string{emptyField, ""}
	}
	return s.t.put(ctx, c)
}

// retry tries again after a conflict, a moment later each time.
func (s *Store[T]) retry(ctx context.Context, f func() error) error {
	for attempt := 0; ; attempt++ {
		err := f()
		var final *moved
		if !errors.Is(err, ErrConflict) || errors.As(err, &final) {
			return err
		}
		if wait(ctx, attempt) != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// wait waits before another attempt: not at all before the first two, then up to
// a random, growing time of 50 ms at most.
func wait(ctx context.Context, attempt int) error {
	if attempt < 2 {
		return ctx.Err()
	}
	most := time.Millisecond << min(attempt-2, 5)
	return sleep(ctx, rand.N(min(most, 50*time.Millisecond))+1)
}

// sleep waits for a time, or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Patch sets some fields of a record, by the names that they are stored under,
// and leaves the others as they are, also to writers at the same time that set
// other ones. A value has the type of the field, or means the same, as for a Cond;
// nil is none. Where the model has a version it goes up by one. What a field held that
// is set need not be readable. It returns the errors of Update, and costs as much.
func (s *Store[T]) Patch(ctx context.Context, id string, values map[string]any) error {
	var overwritten []int
	if s.version >= 0 {
		overwritten = append(overwritten, s.version)
	}
	for name := range values {
		n := s.number(name)
		switch {
		case n < 0 || n >= len(s.goFields):
			return s.wrap(s.unknown(name))
		case n == s.version:
			return s.wrap(fmt.Errorf("%w: %s is the version, which the store sets", ErrValue, name))
		case s.t.counters[n]:
			return s.wrap(fmt.Errorf("%w: %s is a counter: use Incr", ErrValue, name))
		}
		overwritten = append(overwritten, n)
	}
	set := func(record *T) error {
		v := reflect.ValueOf(record).Elem()
		for name, value := range values {
			f := &s.goFields[s.number(name)]
			if err := assign(f.of(v), value); err != nil {
				return fmt.Errorf("%w: %s: %w", ErrValue, f.goName, err)
			}
		}
		return nil
	}
	err := s.checkID(id)
	if err == nil {
		err = s.retry(ctx, func() error { return s.update(ctx, id, overwritten, set) })
	}
	return s.wrap(err)
}

// assign sets a field to a value of its type, or one that means the same; nil is
// none.
func assign(field reflect.Value, value any) error {
	if v := reflect.ValueOf(value); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		field.SetZero()
		return nil
	}
	v, err := operand(field.Type(), value)
	if err == nil {
		field.Set(v)
	}
	return err
}
