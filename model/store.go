package model

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/redis/rueidis"
)

// Store keeps records of type T. It may be used by many goroutines; all of its
// methods may be called from many processes at once.
type Store[T any] struct {
	mapper[T]
	t     *table
	locks *locks
}

// New returns the store of a model. It reads the declaration from the struct,
// and refuses one that makes no model with the name of the field. It tells the
// database what is declared: one round trip for each partition, of 10 seconds at
// most. Where the indexes in the database are others, Pending tells which are to
// be built by Migrate.
func New[T any](client rueidis.Client, opt Options) (*Store[T], error) {
	d, err := declared[T]()
	if err != nil {
		return nil, fmt.Errorf("model: %w: %w", ErrDeclaration, err)
	}
	t, err := newTable(client, opt, d)
	if err != nil {
		return nil, fmt.Errorf("model: %w: %w", ErrDeclaration, err)
	}
	s := &Store[T]{mapper: mapper[T]{d}, t: t, locks: &locks{}}
	t.goType = reflect.TypeFor[T]().Name()
	for _, r := range d.refs {
		if r.rule != "" {
			t.refs = append(t.refs, storedRef{d.fields[r.field].Name, r.target.Name(), r.rule})
		}
	}
	t.compute = s.recompute
	t.relevant = t.relevantFields()
	ctx, cancel := context.WithTimeout(context.Background(), registerTimeout)
	defer cancel()
	if err := t.enrol(ctx); err != nil {
		return nil, fmt.Errorf("model: %s: %w", opt.Name, err)
	}
	refer(s, s)
	return s, nil
}

// recompute checks a stored record, and fills in its computed fields.
func (s *Store[T]) recompute(id string, fields []text) error {
	var record T
	if err := s.decode(s.t.of(id).of(id), id, fields, &record); err != nil {
		return err
	}
	return s.compute(&record, fields)
}

func newTable(client rueidis.Client, opt Options, d *declaration) (*table, error) {
	opt, err := opt.withDefaults(client)
	if err != nil {
		return nil, err
	}
	t := &table{client: client, opt: opt, schema: d.schema, version: d.version, expires: d.expires, scripts: newScripts()}
	for i := range d.goFields {
		if d.goFields[i].counter && opt.Encoding == JSON {
			return nil, fmt.Errorf("%s: a counter is kept in a hash, not in JSON", d.goFields[i].goName)
		}
		t.names = append(t.names, d.fields[i].Name)
		t.counters = append(t.counters, d.goFields[i].counter)
	}
	for name, key := range opt.Keys.Unique {
		x := d.index(name)
		if x == nil || !x.Unique {
			return nil, fmt.Errorf("Options.Keys.Unique[%q]: no unique field or index is called so", name)
		}
		x.At = key
	}
	if opt.IDs != Counter && opt.IDs != Own && d.id.kind != kindString {
		return nil, fmt.Errorf("%s: a ULID is text: make the id a string", d.id.goName)
	}
	t.writes.keep = opt.Cache
	for _, k := range opt.spread() {
		t.parts = append(t.parts, partition{partitionKeys: k})
	}
	return t, t.checkOwnKeys()
}

// wrap words an error for the caller.
func (s *Store[T]) wrap(err error) error { return s.t.wrap(err) }

func (t *table) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("model: %s: %w", t.opt.Name, err)
}

// Create writes a new record and returns it with its id, and version 1. Where a
// unique value is another record's it returns a *TakenError and has written
// nothing; so it does where the caller's own id is in use. One script, which takes an
// id from the counter too; another one where other processes create records of the
// model at the same moment. Of a model that is spread, or whose counter is in another
// slot of a Cluster, the id takes a round trip before.
func (s *Store[T]) Create(ctx context.Context, record T) (T, error) {
	created, err := s.create(ctx, record)
	return created, s.wrap(err)
}

func (s *Store[T]) create(ctx context.Context, record T) (T, error) {
	own := s.idOf(&record)
	switch {
	case own != "" && s.t.opt.IDs != Own:
		return record, fmt.Errorf("%w: %s is %q: new records get theirs from Options.IDs, %s; leave it empty", ErrValue, s.id.goName, shortened(own), s.t.opt.IDs)
	case own == "" && s.t.opt.IDs == Own:
		return record, fmt.Errorf("%w: %s is empty: with model.Own the caller gives the id", ErrValue, s.id.goName)
	}
	s.setVersion(&record, 1)
	next, err := s.t.newID(ctx, own)
	for {
		if err != nil {
			return record, err
		}
		var given *givenID
		switch err = s.createAs(ctx, &record, next); {
		case errors.As(err, &given):
			next, err = s.t.given(given.id)
		case errors.Is(err, errExists) && own == "":
			// The counter fell back, or another program made the record: the
			// next id will do.
			next, err = s.t.newID(ctx, "")
		case errors.Is(err, errExists):
			return record, &TakenError{Field: "id", Value: own, Owner: own}
		default:
			if err != nil {
				s.t.unused(next)
			}
			return record, err
		}
	}
}

// createAs writes a new record with an id.
func (s *Store[T]) createAs(ctx context.Context, record *T, next newID) error {
	if err := s.checkID(next.id); err != nil {
		return err
	}
	if err := s.setID(record, next.id); err != nil {
		return fmt.Errorf("%w: id %q: %w", ErrValue, next.id, err)
	}
	c, err := s.written(record, next.id)
	if err != nil {
		return err
	}
	c.operation, c.expected = "create", next.after
	if next.after != "" {
		c.operation = "next"
	}
	return s.t.put(ctx, c)
}

// written is the change that writes a whole record.
func (s *Store[T]) written(record *T, id string) (*change, error) {
	fields, err := s.encode(record)
	if err != nil {
		return nil, err
	}
	c := &change{id: id}
	if c.content, c.entries, err = s.t.packed(fields); err != nil {
		return nil, err
	}
	if s.t.opt.Encoding == JSON {
		c.json, err = s.t.document(&row{fields: fields})
		return c, err
	}
	c.set = make([]string, 0, 2*len(s.t.names))
	for i, name := range s.t.names {
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

// packed is the content of a record, and its entries.
func (t *table) packed(fields []text) (content, []entry, error) {
	due, err := t.due(fields)
	if err != nil {
		return "", nil, err
	}
	entries, err := t.entries(fields)
	if err != nil {
		return "", nil, err
	}
	return pack(due, entries), entries, nil
}

// Get returns a record, or ErrNotFound: one round trip. With Options.Cache it is
// answered from the memory of the client, as far as this Store has not written the
// record since.
func (s *Store[T]) Get(ctx context.Context, id string) (T, error) {
	var record T
	err := s.get(ctx, id, s.t.do(ctx, id, false), &record)
	return record, err
}

func (s *Store[T]) get(ctx context.Context, id string, r rueidis.RedisResult, into *T) error {
	var room [32]text
	stored := row{fields: room[:]}
	if len(s.fields) > len(room) {
		stored.fields = make([]text, len(s.fields))
	}
	known, err := s.t.parse(id, r, &stored)
	if err == nil && !known {
		err = s.t.absent(ctx, id)
	}
	if err == nil {
		err = stored.damage(nil)
	}
	if err == nil {
		err = s.decode(s.t.of(id).record+id, id, stored.fields, into)
	}
	return s.wrap(err)
}

// GetMany returns the records with these ids, in their order, without those that
// are not there: one pipeline. Those that cannot be read are left out too: the error
// joins a *RecordError for each of them, or the first hundred.
func (s *Store[T]) GetMany(ctx context.Context, ids ...string) ([]T, error) {
	records := make([]T, 0, len(ids))
	var damaged recordErrors
	for chunk := range slices.Chunk(ids, fetchMany) {
		for i, r := range s.t.doMany(ctx, chunk) {
			var record T
			err := s.get(ctx, chunk[i], r, &record)
			if errors.Is(err, ErrNotFound) || damaged.add(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			records = append(records, record)
		}
	}
	return records, damaged.join()
}

// fetchMany is how many records are read in one pipeline.
const fetchMany = 500

func (t *table) doMany(ctx context.Context, ids []string) []rueidis.RedisResult {
	if t.opt.Cache > 0 {
		commands := make([]rueidis.CacheableTTL, len(ids))
		for i, id := range ids {
			commands[i] = rueidis.CT(t.static(t.cached(id)), t.opt.Cache)
		}
		results := t.client.DoMultiCache(ctx, commands...)
		if !slices.ContainsFunc(results, refused) {
			return results
		}
	}
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = rueidis.Completed(t.command(id))
	}
	return t.client.DoMulti(ctx, commands...)
}

// Exists tells whether there is a record with an id: one round trip.
func (s *Store[T]) Exists(ctx context.Context, id string) (bool, error) {
	there, err := s.t.client.Do(ctx, s.t.client.B().Exists().Key(s.t.of(id).of(id)).Build()).AsBool()
	return there, s.wrap(err)
}
