package model

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/keys"
)

// table is the records of a model in their stored form: all of a Store that does
// not know the Go type.
type table struct {
	client rueidis.Client
	opt    Options
	schema
	names    []string // of the stored fields
	counters []bool   // which of them are counters
	version  int      // number of the field, or -1
	expires  int
	parts    []partition
	slots    string // as placesOf of entries.lua takes them
	digest   string
	token    atomic.Pointer[string] // of the numbering of the indexes
	restores sync.Mutex
	last     atomic.Int64 // what the counter was last known to say
	writes   writes
	goType   string // name of the Go type
	refs     []storedRef
	scripts  scripts
	compute  func(id string, fields []text) error // checks a record and fills in what is computed; nil: the Go type is not known
	relevant []int                                // fields that what is in the indexes depends on
	right    string                               // numbers of the indexes that nobody here can compute, as align.lua takes them
	// referring are the fields of this and other models that refer to records.
	referring struct {
		sync.RWMutex
		all   []*referrer
		asked time.Time // when the database was last asked for others
	}
}

// partition are the keys of one partition, and those of its indexes: the unique
// ones, unless the model is spread, and then the others.
type partition struct {
	partitionKeys
	indexes []string
}

// of returns the partition that has an id.
func (t *table) of(id string) *partition { return &t.parts[keys.Partition(id, len(t.parts))] }

// spread tells whether unique values and records are in different slots.
func (t *table) spread() bool { return len(t.parts) > 1 }

// stored is the schema as it is written down.
func (t *table) stored() stored {
	w := stored{
		Encoding: "hash", IDs: t.opt.IDs, Record: t.parts[0].record, Counter: t.opt.counter(),
		Partitions: len(t.parts), Fields: t.fields, Indexes: t.indexes, Collections: t.collections,
		Type: t.goType, Refs: t.refs,
	}
	if t.spread() {
		w.Record = ""
	}
	if t.opt.IDs != Counter {
		w.Counter = ""
	}
	if t.expires >= 0 {
		w.Expires = t.fields[t.expires].Name
	}
	return w
}

// fixed is what of a model cannot be changed by a migration.
func (w *stored) fixed() string {
	if w.Partitions == 1 {
		return fmt.Sprintf("each record as %s at %s<id>", w.Encoding, w.Record)
	}
	return fmt.Sprintf("each record as %s, in %d partitions", w.Encoding, w.Partitions)
}

// identities are those of the indexes.
func (t *table) identities() []string {
	all := make([]string, len(t.indexes))
	for i, x := range t.indexes {
		all[i] = x.identity(&t.schema)
	}
	return all
}

// digestOf is the digest of a declaration: what it must have in common with
// another for both to write the same records.
func digestOf(expires string, identities []string) string {
	sum := sha256.Sum256([]byte(expires + "\n" + strings.Join(slices.Sorted(slices.Values(identities)), "\n")))
	return hex.EncodeToString(sum[:8])
}

// registerTimeout bounds the round trip that New makes.
const registerTimeout = 10 * time.Second

// stamp is what scripts compare with meta before they rely on the numbers of the
// indexes: the digest of the declaration and the token of the numbering.
func (t *table) stamp() string { return t.digest + *t.token.Load() }

// register publishes the schema, and takes over what the indexes are called in the
// database and which are built.
func (t *table) register(ctx context.Context) error {
	w := t.stored()
	t.digest = digestOf(w.Expires, t.identities())
	parts, err := t.registeredFirst(ctx)
	if err != nil {
		return err
	}
	// The first partition numbers the indexes, and the others follow.
	var given []string
	token := rand.Text()[:8]
	for i, p := range parts {
		keys := []string{p.meta, p.all}
		if !t.spread() {
			keys = append(keys, t.legacyKeys()...)
		}
		reply, err := t.registerIn(ctx, keys, token, i > 0, given)
		if err != nil {
			return err
		}
		if err := t.learn(i == 0, reply); err != nil {
			return err
		}
		token = reply[1]
		given = t.numbering()
	}
	t.token.Store(&token)
	t.place()
	return nil
}

// registeredFirst are the partitions, those first that have a meta: others may have
// lost theirs together with the server that they were on.
func (t *table) registeredFirst(ctx context.Context) ([]*partition, error) {
	all := make([]*partition, len(t.parts))
	commands := make(rueidis.Commands, len(t.parts))
	for i := range t.parts {
		all[i] = &t.parts[i]
		commands[i] = t.client.B().Exists().Key(t.parts[i].meta).Build()
	}
	if !t.spread() {
		return all, nil
	}
	there := map[*partition]int64{}
	for i, reply := range t.client.DoMulti(ctx, commands...) {
		n, err := reply.AsInt64()
		if err != nil {
			return nil, err
		}
		there[all[i]] = n
	}
	slices.SortStableFunc(all, func(a, b *partition) int { return cmp.Compare(there[b], there[a]) })
	return all, nil
}

// numbering is what the indexes are called, as register.lua takes it.
func (t *table) numbering() []string {
	var given []string
	for _, x := range t.indexes {
		given = append(given, x.identity(&t.schema), fmt.Sprintf("%d %s", x.number, x.key))
	}
	return given
}

// registerIn runs register.lua.
func (t *table) registerIn(ctx context.Context, keys []string, token string, follow bool, given []string) ([]string, error) {
	w := t.stored()
	schema, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	following := ""
	if follow {
		following = "follow"
	}
	args := append([]string{t.digest, string(schema), w.fixed(), token, following, strconv.Itoa(len(given) / 2)}, given...)
	for _, x := range t.indexes {
		args = append(args, x.Name, x.identity(&t.schema))
	}
	reply, err := t.scripts.register.Run(ctx, t.client, keys, args).AsStrSlice()
	if e, ok := rueidis.IsRedisErr(err); ok && strings.HasPrefix(e.Error(), "SCHEMA ") {
		if strings.Contains(e.Error(), "each record as "+encodingJSON) {
			return nil, errJSON(t.opt.Name)
		}
		return nil, fmt.Errorf("%w: %s has %s, not %s", ErrSchema, t.opt.Name, strings.TrimPrefix(e.Error(), "SCHEMA "), w.fixed())
	} else if ok && strings.HasPrefix(e.Error(), "DROPPING") {
		return nil, t.isDropping()
	}
	if err == nil && len(reply) != 2+3*len(t.indexes) {
		err = fmt.Errorf("%w: %s", ErrCorrupt, keys[0])
	}
	return reply, err
}

func (t *table) isDropping() error {
	return fmt.Errorf("%w: the model is being deleted: let Drop come to its end", ErrSchema)
}

// legacyKeys are there where another program kept records before the model.
func (t *table) legacyKeys() []string {
	var all []string
	if t.opt.IDs == Counter && t.client.Mode() != rueidis.ClientModeCluster {
		all = append(all, t.opt.counter())
	}
	for _, x := range t.indexes {
		if x.At != "" {
			all = append(all, x.At)
		}
	}
	return all
}

// learn takes in what register.lua replied.
func (t *table) learn(first bool, reply []string) error {
	for i, x := range t.indexes {
		number, err := strconv.Atoi(reply[2+3*i])
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrCorrupt, t.parts[0].meta, err)
		}
		if key := reply[3+3*i]; first {
			x.number, x.key = number, key
		} else if x.number != number || x.key != key {
			return fmt.Errorf("%w: index %s has different numbers in the partitions", ErrCorrupt, x.Name)
		}
		x.state.asked.Store(time.Now().UnixNano())
		x.state.built.Store((first || x.state.built.Load()) && reply[4+3*i] == "1")
	}
	return nil
}

// place makes the lists of keys and numbers that scripts are called with.
func (t *table) place() {
	var here, elsewhere []*indexSpec // the unique ones first
	for _, x := range t.indexes {
		switch {
		case x.Unique && t.spread():
			elsewhere = append(elsewhere, x)
		case x.Unique:
			here = append(here, x)
		}
	}
	unique := len(here)
	for _, x := range t.indexes {
		if !x.Unique {
			here = append(here, x)
		}
	}
	b := packList(nil, 2+len(here)+len(elsewhere))
	b = packInt(packInt(b, int64(unique)), int64(len(here)-unique))
	for _, x := range slices.Concat(here, elsewhere) {
		b = packInt(b, int64(x.number))
	}
	t.slots = string(b)
	for i := range t.parts {
		p := &t.parts[i]
		p.indexes = make([]string, len(here))
		for j, x := range here {
			p.indexes[j] = t.indexKey(p, x)
		}
	}
}

// indexKey is the key of an index in a partition.
func (t *table) indexKey(p *partition, x *indexSpec) string {
	if x.At != "" {
		return x.At
	}
	return p.index(x.key)
}

// writeKeys are the keys that scripts take which write a record.
func (t *table) writeKeys(p *partition, id string) []string {
	all := make([]string, 0, 7+len(p.indexes))
	all = append(all, p.of(id), p.content, p.all, p.meta, p.expires, p.changes, p.voids)
	return append(all, p.indexes...)
}

// memberKeys appends the keys of the sets and lists of a record.
func (t *table) memberKeys(keys []string, p *partition, id string) []string {
	for _, name := range t.collections {
		keys = append(keys, p.member(name, id))
	}
	return keys
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
	m, err := t.scripts.write.Run(ctx, t.client, keys, args).ToMessage()
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
	if c.left, err = t.entriesOf(left); err != nil {
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
		left, err := t.entriesOf(list[1:])
		return left, cmp.Or(err, t.outcome(id, word))
	case "CLAIM":
		entries, err := t.entriesOf(list[1:])
		return nil, cmp.Or[error](err, &unclaimed{entries})
	case "REFERRED":
		field, _ := list[1].AsInt64()
		members, err := textsOf(list[2:])
		return nil, cmp.Or[error](err, &refers{int(field), members})
	}
	entries, err := t.entriesOf(list[1:3])
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

// otherSchema words what scripts reply to a declaration that is not in force.
func (t *table) otherSchema() error {
	return fmt.Errorf("%w: another process has migrated %s, or Migrate is to be run first", ErrSchema, t.parts[0].base)
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
