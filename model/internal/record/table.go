package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/model/internal/registry"
	"retwis/model/internal/rows"
	"retwis/model/internal/schema"
	"retwis/model/internal/unique"
)

// Table holds the records of a model in their stored form: the untyped part of a Store.
type Table struct {
	Client     rueidis.Client
	Options    Options
	Schema     *schema.Schema
	Layout     *schema.Layout
	Registry   *registry.Registry
	Rows       *rows.Rows
	Claims     *unique.Claims
	References references
	targets    targets
	clocks     []clock // one for the server of each partition
	ids        *idSource
	last       atomic.Int64                                // lower bound for the value of the counter
	Compute    func(id string, fields []schema.Text) error // checks a record and sets its computed fields; nil without the Go type
	Validate   func(id string, fields []schema.Text) error // reports an invalid record; nil without the Go type
	Opaque     string                                      // numbers of the indexes that this process cannot compute, each between commas
	// Patience is the total time that a dry run waits for writers that are slow to release
	// unique values.
	Patience time.Duration
}

// patience is the default Patience of a Table.
const patience = 5 * time.Second

// NewTable returns the table of a declaration.
func NewTable(client rueidis.Client, opt Options, d *schema.Declaration) (*Table, error) {
	opt, err := opt.withDefaults(client)
	if err != nil {
		return nil, err
	}
	for name, key := range opt.Keys.Unique {
		x := d.Schema.Index(name)
		if x == nil || !x.Unique {
			return nil, fmt.Errorf("Options.Keys.Unique[%q]: no unique field or index has this name", name)
		}
		x.At = key
	}
	if opt.IDs != schema.Counter && opt.IDs != schema.ClientAssigned && d.ID.Kind != schema.KindString {
		return nil, fmt.Errorf("%s: a ULID is text: make the id a string", d.ID.GoName)
	}
	t := tableOf(client, opt, &d.Schema)
	return t, t.Registry.CheckOwnKeys()
}

// tableOf returns the table of a schema.
func tableOf(client rueidis.Client, opt Options, s *schema.Schema) *Table {
	l := &schema.Layout{Name: opt.Name, IDs: opt.IDs, Counter: opt.Counter(), Schema: s}
	for _, k := range schema.Partitions(opt.Name, opt.Keys.Record, opt.Partitions) {
		l.Parts = append(l.Parts, schema.Partition{Keys: k})
	}
	t := &Table{
		Client: client, Options: opt, Schema: s, Layout: l,
		Registry: registry.New(client, l, s),
		Rows:     rows.New(client, l, s, opt.Cache),
		Claims:   &unique.Claims{Client: client, Layout: l},
		Patience: patience,
	}
	t.References.t = t
	t.ids = newIDSource(t)
	t.clocks = make([]clock, len(l.Parts))
	return t
}

// OpenTable returns the table of a published schema.
func OpenTable(client rueidis.Client, name, text string, r *registry.Published) (*Table, error) {
	w, s, err := schema.ParseStored(text)
	if err != nil {
		return nil, err
	}
	return openTable(client, name, w, &s, r)
}

// OpenObjects returns the records of a published schema, as structs of the record type that
// schema.Untyped describes.
func OpenObjects(client rueidis.Client, name, text string, r *registry.Published, record reflect.Type) (*Objects, error) {
	w, s, err := schema.ParseStored(text)
	if err != nil {
		return nil, err
	}
	d, err := schema.Untyped(s, record)
	if err != nil {
		return nil, err
	}
	t, err := openTable(client, name, w, &d.Schema, r)
	return &Objects{d, t}, err
}

// openTable returns the table of a parsed schema.
func openTable(client rueidis.Client, name string, w schema.Stored, s *schema.Schema, r *registry.Published) (*Table, error) {
	if w.Partitions < 1 || w.Partitions > MaxPartitions {
		return nil, fmt.Errorf("%w: the schema: %d partitions", schema.ErrCorrupt, w.Partitions)
	}
	t := tableOf(client, Options{
		Name: name, IDs: w.IDs, Partitions: w.Partitions, Keys: Keys{Record: w.Record, Counter: w.Counter},
	}, s)
	var err error
	if t.Opaque, err = t.Registry.Adopt(r, w.Expires); err != nil {
		return nil, err
	}
	t.Rows.Relevant = t.relevantFields()
	t.Layout.Arrange()
	return t, nil
}

// IsOpaque reports whether this process cannot compute the entries of an index.
func (t *Table) IsOpaque(x *schema.Index) bool {
	return strings.Contains(t.Opaque, ","+strconv.Itoa(x.Number)+",")
}

// TypeError returns an error that names the key with another type, if that is the cause of err;
// otherwise it returns err. keys may include sets of values.
func (t *Table) TypeError(ctx context.Context, err error, keys ...string) error {
	if !rediserr.IsWrongType(err) {
		return err
	}
	return cmp.Or(t.CheckTypes(ctx, t.valueKeysOf(keys)...), err)
}

// valueKeysOf returns the keys that are sets of values.
func (t *Table) valueKeysOf(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		_, _, ok := t.Layout.ParseValueKey(key)
		return !ok
	})
}

// errExists is returned if a record to create already exists.
var errExists = errors.New("the record exists")

// Outcome returns the error for a reply of one word.
func (t *Table) Outcome(id, word string) error {
	switch word {
	case "OK":
		return nil
	case "NOTFOUND":
		return fmt.Errorf("%w: id %q", schema.ErrNotFound, schema.Shorten(id))
	case "CONFLICT":
		return fmt.Errorf("%w: id %q", schema.ErrConflict, schema.Shorten(id))
	case "LATE":
		return unique.ErrLate
	case "FOREIGN":
		return fmt.Errorf("%w: Delete does not delete key %q unless Options.Adopt accepts its id", schema.ErrUnknown, t.Layout.Of(id).Record(id))
	}
	return t.Registry.SchemaError()
}

// pack sets the content of a change, computed from all fields of the record.
func (t *Table) pack(c *change, fields []schema.Text) (err error) {
	if c.due, err = t.Rows.ExpiresAt(fields); err != nil {
		return err
	}
	if c.entries, err = t.Schema.Entries(fields); err != nil {
		return err
	}
	c.content = schema.Pack(c.due, c.entries)
	return nil
}

// relevantFields returns the numbers of the fields that the index entries depend on.
func (t *Table) relevantFields() []int {
	var all []int
	for i := range t.Schema.Names {
		used := i == t.Schema.Expires || t.Compute != nil && len(t.Schema.Fields) > len(t.Schema.Names)
		for _, x := range t.Schema.Indexes {
			used = used || slices.Contains(x.FieldNumbers, i)
		}
		if used {
			all = append(all, i)
		}
	}
	return all
}

// CheckTypes returns an error if a key of the model has another type, which no script can use.
// The model does not delete such a key. CheckTypes also checks sortedSets, keys of sorted sets.
func (t *Table) CheckTypes(ctx context.Context, sortedSets ...string) error {
	type key struct{ name, kind string }
	var keys []key
	for _, name := range sortedSets {
		keys = append(keys, key{name, "zset"})
	}
	if t.Options.IDs == schema.Counter {
		keys = append(keys, key{t.Options.Counter(), "string"})
	}
	for i := range t.Layout.Parts {
		p := &t.Layout.Parts[i]
		keys = append(keys, key{p.Meta, "hash"}, key{p.Content, "hash"}, key{p.All, "zset"}, key{p.Expires, "zset"},
			key{p.Voids, "zset"})
		for _, x := range t.Schema.Indexes {
			k := key{t.Layout.IndexKey(p, x), "zset"}
			if x.Unique {
				k.kind = "hash"
			}
			keys = append(keys, k)
		}
	}
	commands := make(rueidis.Commands, len(keys))
	for i, k := range keys {
		commands[i] = t.Client.B().Type().Key(k.name).Build()
	}
	for i, r := range t.Client.DoMulti(ctx, commands...) {
		kind, err := r.ToString()
		if err != nil {
			return err
		}
		if kind != keys[i].kind && kind != "none" {
			return fmt.Errorf("%w: key %q holds a %s, not a %s: move it away, and call Repair", schema.ErrCorrupt, keys[i].name, kind, keys[i].kind)
		}
	}
	return nil
}

var (
	// errLeft is returned if a record does not have the entry required for its removal.
	errLeft = errors.New("the record no longer has the reference")
	// errKept is returned if a record to be removed as missing exists.
	errKept = errors.New("the record still exists")
)

// references holds the fields of this and other models that refer to the records of a table.
type references struct {
	t      *Table
	mu     sync.RWMutex
	all    []*referrer
	readAt time.Time // when other models were last read from the database
}

// referrer is a field that refers to records of a model.
type referrer struct {
	from  *Table
	field string
	index *schema.Index // the index of the field
	rule  schema.OnDelete
	// clear removes the references to a target from a record, and reports whether there were
	// any.
	clear func(ctx context.Context, id, target string) (bool, error)
}
