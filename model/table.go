package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// table holds the records of a model in their stored form: the untyped part of a Store.
type table struct {
	client rueidis.Client
	opt    Options
	*schema
	*layout
	*registry
	*rows
	claims     *claims
	references references
	last       atomic.Int64                         // the last known value of the counter
	compute    func(id string, fields []text) error // checks a record and fills in its computed fields; nil without the Go type
	opaque     string                               // numbers of the indexes that this process cannot compute, as align.lua takes them
}

// newTable returns the table of a declaration.
func newTable(client rueidis.Client, opt Options, d *declaration) (*table, error) {
	opt, err := opt.withDefaults(client)
	if err != nil {
		return nil, err
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
	t := tableOf(client, opt, &d.schema)
	return t, t.registry.checkOwnKeys()
}

// tableOf returns the table of a schema.
func tableOf(client rueidis.Client, opt Options, s *schema) *table {
	l := &layout{name: opt.Name, ids: opt.IDs, counter: opt.counter(), schema: s}
	for _, k := range opt.spread() {
		l.parts = append(l.parts, partition{partitionKeys: k})
	}
	t := &table{
		client: client, opt: opt, schema: s, layout: l,
		registry: &registry{client: client, layout: l, schema: s},
		rows:     &rows{client: client, layout: l, schema: s, keep: opt.Cache},
		claims:   &claims{client: client, layout: l},
	}
	t.rows.writes.keep = opt.Cache
	t.references.t = t
	return t
}

// openTable returns the table of a schema that a Store has stored.
func openTable(client rueidis.Client, name, text string, r *registered) (*table, error) {
	w, s, err := parseStored(text)
	if err != nil {
		return nil, err
	}
	if w.Encoding == encodingJSON {
		return nil, errJSON(name)
	}
	if w.Partitions < 1 || w.Partitions > maxPartitions {
		return nil, fmt.Errorf("%w: the schema: %d partitions", ErrCorrupt, w.Partitions)
	}
	t := tableOf(client, Options{
		Name: name, IDs: w.IDs, Partitions: w.Partitions, Keys: Keys{Record: w.Record, Counter: w.Counter},
	}, &s)
	if t.opaque, err = t.registry.adopt(r, w.Expires); err != nil {
		return nil, err
	}
	t.rows.relevant = t.relevantFields()
	t.place()
	return t, nil
}

// change is one write of a record.
type change struct {
	operation string // create, next or save
	id        string
	expected  string // see write.lua
	content   content
	entries   []entry
	set       []string // names and values
	remove    []string // names
	claims    string   // of a model that is spread: the unique values claimed for it
	left      []entry  // and after the write, those that it had before
	shown     []int    // numbers of the fields whose values are wanted after the write
	values    []text   // these
}

// write runs write.lua: one round trip.
func (t *table) write(ctx context.Context, c *change) error {
	defer t.writes.add(c.id)
	return t.again(ctx, func() error { return t.writeOnce(ctx, c) })
}

func (t *table) writeOnce(ctx context.Context, c *change) error {
	p := t.of(c.id)
	args := make([]string, 0, 15+len(t.names)+len(c.set)+len(c.remove))
	score := ""
	if n, err := strconv.ParseUint(c.id, 10, 53); err == nil && t.opt.IDs == Counter {
		score = strconv.FormatUint(n, 10)
	}
	versionField := ""
	if t.version >= 0 {
		versionField = t.names[t.version]
	}
	args = append(args, c.operation, c.id, t.stamp(), t.slots, string(c.content), score, strconv.Itoa(t.opt.Changes),
		c.expected, versionField, c.claims)
	checked := 0
	at := len(args)
	args = append(args, "")
	if strings.HasPrefix(c.expected, "d") {
		for i, name := range t.names {
			if !t.counters[i] {
				args = append(args, name)
				checked++
			}
		}
	}
	args[at] = strconv.Itoa(checked)
	args = append(args, strconv.Itoa(len(c.shown)))
	for _, field := range c.shown {
		args = append(args, t.names[field])
	}
	args = append(append(args, strconv.Itoa(len(c.remove))), c.remove...)
	args = append(args, c.set...)
	keys := t.writeKeys(p, c.id)
	if t.expires >= 0 {
		keys = t.memberKeys(keys, p, c.id) // they end with it
	}
	if c.operation == "next" {
		keys = append(keys, t.opt.counter())
	}
	m, err := writeScript.Run(ctx, t.client, keys, args).ToMessage()
	if err != nil {
		return t.keyError(ctx, err)
	}
	if list, err := m.ToArray(); err == nil && len(list) > 0 {
		switch word, _ := list[0].ToString(); word {
		case "OK":
			return t.takeWritten(c, list)
		case "ID":
			id, err := textsOf(list[1:])
			return cmp.Or[error](err, &givenID{strings.Join(id, "")})
		}
	}
	_, err = t.written(c.id, m)
	return err
}

// takeWritten reads what write.lua replies of a record that was written.
func (t *table) takeWritten(c *change, list []rueidis.RedisMessage) error {
	if len(list) != 3 {
		return errReply(nil)
	}
	left, err := list[1].ToArray()
	if err != nil {
		return err
	}
	if c.left, err = entriesOf(t.schema, left); err != nil {
		return err
	}
	values, err := list[2].ToArray()
	if err != nil {
		return err
	}
	c.values = make([]text, len(values))
	for i := range values {
		s, err := values[i].ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
		c.values[i] = text{s, err == nil}
	}
	return nil
}

// keyError says which key of the model holds something of another type, if that is
// what is wrong.
func (t *table) keyError(ctx context.Context, err error) error {
	if !isWrongType(err) {
		return err
	}
	return cmp.Or(t.checkKeys(ctx), err)
}

// givenID is returned where the counter has given another id than was expected.
type givenID struct{ id string }

func (g *givenID) Error() string { return "the id is " + g.id }

// errExists is returned where a record that is to be created is there.
var errExists = errors.New("the record exists")

// written reads what write.lua and delete.lua reply. It returns the unique values
// that the record had before.
func (t *table) written(id string, m rueidis.RedisMessage) ([]entry, error) {
	if !m.IsArray() {
		word, err := m.ToString()
		if err != nil {
			return nil, err
		}
		return nil, t.outcome(id, word)
	}
	list, err := m.ToArray()
	if err != nil || len(list) < 2 {
		return nil, errors.Join(ErrCorrupt, err)
	}
	switch word, _ := list[0].ToString(); word {
	case "OK", "NOTFOUND":
		left, err := entriesOf(t.schema, list[1:])
		return left, cmp.Or(err, t.outcome(id, word))
	case "CLAIM":
		entries, err := entriesOf(t.schema, list[1:])
		return nil, cmp.Or[error](err, &unclaimed{entries})
	case "REFERRED":
		field, _ := list[1].AsInt64()
		members, err := textsOf(list[2:])
		return nil, cmp.Or[error](err, &refers{int(field), members})
	}
	entries, err := entriesOf(t.schema, list[1:3])
	if err != nil || len(list) != 4 {
		return nil, errors.Join(ErrCorrupt, err)
	}
	owner, _ := list[3].ToString()
	return nil, takenBy(entries[0], owner)
}

// outcome words a reply of one word.
func (t *table) outcome(id, word string) error {
	switch word {
	case "OK":
		return nil
	case "NOTFOUND":
		return fmt.Errorf("%w: id %q", ErrNotFound, shortened(id))
	case "CONFLICT":
		return fmt.Errorf("%w: id %q", ErrConflict, shortened(id))
	case "EXISTS":
		return errExists
	case "LATE":
		return errLate
	case "LEFT":
		return errLeft
	case "KEPT":
		return errKept
	}
	return t.otherSchema()
}

// refers is what delete.lua replies where records refer to one.
type refers struct {
	field   int
	members []string
}

func (r *refers) Error() string { return "records refer to it" }

// textsOf reads a list of texts.
func textsOf(list []rueidis.RedisMessage) ([]string, error) {
	all := make([]string, len(list))
	for i := range list {
		var err error
		if all[i], err = list[i].ToString(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// packed returns the content of a record, and its entries.
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

// encodingJSON is the encoding of records that earlier versions stored as JSON.
const encodingJSON = "json"

func errJSON(name string) error {
	return fmt.Errorf("%w: the records of %s are stored as JSON strings, which this version does not read: copy them to a model with hashes by a program built with commit 2dac664 of this module, the last that reads both", ErrSchema, name)
}

// relevantFields are the numbers of the fields that what a record has in the
// indexes depends on.
func (t *table) relevantFields() []int {
	var all []int
	for i := range t.names {
		used := i == t.expires || t.compute != nil && len(t.fields) > len(t.names)
		for _, x := range t.indexes {
			used = used || slices.Contains(x.fieldOf, i)
		}
		if used {
			all = append(all, i)
		}
	}
	return all
}

// checkKeys fails where a key of the model holds something that no script could
// work with: it is not ours to delete.
func (t *table) checkKeys(ctx context.Context) error {
	type key struct{ name, kind string }
	var keys []key
	for i := range t.parts {
		p := &t.parts[i]
		keys = append(keys, key{p.meta, "hash"}, key{p.content, "hash"}, key{p.all, "zset"}, key{p.expires, "zset"})
		for _, x := range t.indexes {
			k := key{t.indexKey(p, x), "zset"}
			if x.Unique {
				k.kind = "hash"
			}
			keys = append(keys, k)
		}
	}
	commands := make(rueidis.Commands, len(keys))
	for i, k := range keys {
		commands[i] = t.client.B().Type().Key(k.name).Build()
	}
	for i, r := range t.client.DoMulti(ctx, commands...) {
		kind, err := r.ToString()
		if err != nil {
			return err
		}
		if kind != keys[i].kind && kind != "none" {
			return fmt.Errorf("%w: key %q holds a %s, not a %s: move it away, and call Repair", ErrCorrupt, keys[i].name, kind, keys[i].kind)
		}
	}
	return nil
}
