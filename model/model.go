package model

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/maintain"
	run "retwis/model/internal/maintain"
	"retwis/model/internal/query"
	"retwis/model/internal/record"
	"retwis/model/internal/registry"
	"retwis/model/internal/schema"
)

// Info describes a model.
type Info struct {
	Name       string
	Records    int64
	Partitions int
	Indexes    []IndexInfo
	Pending    []string // what Migrate would do, see Store.Pending
}

// IndexInfo describes an index.
type IndexInfo struct {
	Name  string
	On    string // columns and options of the index
	State string // "built", "to build" or "to drop"
}

// Models describes the models of a database that New has opened, sorted by name. One round
// trip, and four more per model.
func Models(ctx context.Context, client rueidis.Client) ([]Info, error) {
	names, err := client.Do(ctx, client.B().Hkeys().Key(registry.ModelsKey).Build()).AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("model: key %q: %w", registry.ModelsKey, err)
	}
	slices.Sort(names)
	var all []Info
	for _, name := range names {
		m, err := Open(ctx, client, name)
		if schema.IsNotFound(err) {
			continue // its keys were deleted
		}
		if err != nil {
			return nil, err
		}
		info, err := m.Describe(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, info)
	}
	return all, nil
}

// Model accesses a model for programs without its Go type, using the schema that New has
// published. It trusts stored values that only the Go type can compute.
type Model struct {
	// Adopt is Options.Adopt for the maintenance methods. Set it before calling them.
	Adopt func(id string) bool

	t *record.Table // with the declaration in force
	o *record.Objects
	r registry.Published
}

// Record is a record read without its Go type.
type Record struct {
	ID     string
	Fields []RecordField // the stored fields, in declaration order
}

// RecordField is a field of a Record, as text: times in RFC 3339, lists and maps as JSON.
type RecordField struct{ Name, Value string }

// FieldInfo describes a field of a model.
type FieldInfo struct {
	Name     string
	Kind     string // string, bytes, bool, int, uint, float, time, unix, duration, decimal or json
	Element  string // kind of the elements of an indexable list
	Computed bool   // computed by the program that declares the model
}

// Fields describes the fields of the model.
func (m *Model) Fields() []FieldInfo {
	all := make([]FieldInfo, len(m.t.Schema.Fields))
	for i, f := range m.t.Schema.Fields {
		all[i] = FieldInfo{Name: f.Name, Kind: string(f.Kind), Element: string(f.Element), Computed: f.Computed}
	}
	return all
}

// Get returns a record, or ErrNotFound: one round trip.
func (m *Model) Get(ctx context.Context, id string) (Record, error) {
	var r Record
	err := m.o.CheckID(id)
	if err == nil {
		err = m.o.Get(ctx, id, &r)
	}
	return r, wrap(m.t, err)
}

// Find returns the query for the records that match all conditions, as Store.Find does. The
// query is read-only. Conditions on values that only the Go type can compute are refused.
func (m *Model) Find(conds ...Cond) *Query[Record] {
	return &Query[Record]{query.Query{Objects: m.o, Conds: slices.Clone(conds)}}
}

// Open returns the model with a name, or ErrNotFound: two round trips.
func Open(ctx context.Context, client rueidis.Client, name string) (*Model, error) {
	m, err := openModel(ctx, client, name)
	if err != nil {
		return nil, named(schema.Shorten(name), err)
	}
	return m, nil
}

func openModel(ctx context.Context, client rueidis.Client, name string) (*Model, error) {
	// A model with one partition may exist without being listed.
	partitions := 1
	text, err := client.Do(ctx, client.B().Hget().Key(registry.ModelsKey).Field(name).Build()).ToString()
	if n, parseErr := strconv.Atoi(text); err == nil && parseErr == nil && n > 1 && n <= record.MaxPartitions {
		partitions = n
	}
	if err != nil && !rueidis.IsRedisNil(err) {
		if _, ok := rueidis.IsRedisErr(err); !ok {
			return nil, err
		}
	}
	meta, err := client.Do(ctx, client.B().Hgetall().Key(schema.Partitions(name, "", partitions)[0].Meta).Build()).AsStrMap()
	if err != nil {
		return nil, err
	}
	r := registry.ParsePublished(meta)
	if r.Digest == "" {
		return nil, noModelError{}
	}
	o, err := record.OpenObjects(client, name, r.Schema, &r, reflect.TypeFor[Record]())
	if err != nil {
		return nil, err
	}
	return &Model{t: o.Table, o: o, r: r}, nil
}

// noModelError is an ErrNotFound for a model rather than a record.
type noModelError struct{}

func (noModelError) Error() string { return "no model has this name" }

// Is makes the error an ErrNotFound.
func (noModelError) Is(target error) bool { return target == ErrNotFound }

// next returns the table that Migrate would put into force: the table of the last New with a
// different declaration, or the current table.
func (m *Model) next() (*record.Table, error) {
	if m.r.Wanted == "" || m.r.WantedDigest == m.r.Digest {
		return m.t, nil
	}
	return record.OpenTable(m.t.Client, m.t.Options.Name, m.r.Wanted, &m.r)
}

// Describe describes the model and its indexes: two round trips.
func (m *Model) Describe(ctx context.Context) (Info, error) {
	info, err := m.describe(ctx)
	return info, wrap(m.t, err)
}

func (m *Model) describe(ctx context.Context) (Info, error) {
	t := m.t
	info := Info{Name: t.Options.Name, Partitions: len(t.Layout.Parts)}
	next, err := m.next()
	if err != nil {
		return info, err
	}
	if info.Pending, err = next.Registry.Pending(ctx); err != nil {
		return info, err
	}
	commands := make(rueidis.Commands, len(t.Layout.Parts))
	for i := range t.Layout.Parts {
		commands[i] = t.Client.B().Zcard().Key(t.Layout.Parts[i].All).Build()
	}
	for _, r := range t.Client.DoMulti(ctx, commands...) {
		n, err := r.AsInt64()
		if err != nil {
			return info, err
		}
		info.Records += n
	}
	states := map[string]string{}
	for _, identity := range t.Schema.Identities() {
		states[identity] = "to drop"
	}
	for _, identity := range next.Schema.Identities() {
		if states[identity] = "built"; slices.Contains(info.Pending, "build "+registry.DescribeIndex(identity)) {
			states[identity] = "to build"
		}
	}
	for _, identity := range slices.Sorted(maps.Keys(states)) {
		name, on, _ := strings.Cut(identity, "=")
		info.Indexes = append(info.Indexes, IndexInfo{name, on, states[identity]})
	}
	return info, nil
}

// Verify is like Store.Verify. Values that only the Go type can compute are compared with the
// values computed when the record was written.
func (m *Model) Verify(ctx context.Context, opt maintain.Options) (Report, error) {
	return verify(ctx, m.adopting(m.t), run.DryRun, opt)
}

// Repair is like Store.Repair. It reports records whose computed values are lost, but cannot
// repair them without the Go type.
func (m *Model) Repair(ctx context.Context, opt maintain.Options) (Report, error) {
	return verify(ctx, m.adopting(m.t), run.Repair, opt)
}

// Migrate is like Store.Migrate, for the declaration of the last New that differs from the
// declaration in force. It returns ErrSchema if a computed index must be built, which requires the
// Go type.
func (m *Model) Migrate(ctx context.Context, opt maintain.Options) (Report, error) {
	t, err := m.migration(ctx)
	if err != nil {
		return Report{}, wrap(m.t, err)
	}
	return migrateAll(ctx, m.adopting(t), opt)
}

// migration returns the table that Migrate puts into force.
func (m *Model) migration(ctx context.Context) (*record.Table, error) {
	t, err := m.next()
	if err != nil {
		return nil, err
	}
	for _, x := range t.Schema.Indexes {
		built, err := t.Registry.IsBuilt(ctx, x, t.Layout.Parts)
		if err != nil {
			return nil, err
		}
		if !built && t.Schema.Computed(x) {
			return nil, fmt.Errorf("%w: index %s is computed by the program that declares it: call Migrate there", ErrSchema, x.Name)
		}
	}
	return t, nil
}

// adopting sets Options.Adopt of a table.
func (m *Model) adopting(t *record.Table) *record.Table {
	t.Options.Adopt = m.Adopt
	return t
}

// Drop is like Store.Drop.
func (m *Model) Drop(ctx context.Context, opt maintain.Options) (Report, error) {
	return drop(ctx, m.t, opt)
}
