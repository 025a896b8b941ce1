package model

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// enrol makes the model known to the database, unless its keys could be those of
// another model.
func (t *table) enrol(ctx context.Context) error {
	if err := t.checkNeighbours(ctx, false); err != nil {
		return err
	}
	if err := t.register(ctx); err != nil {
		return err
	}
	added, err := t.publishName(ctx)
	if err != nil || !added {
		return err
	}
	// Another model may have been published at the same moment.
	if err = t.checkNeighbours(ctx, true); err != nil {
		_ = t.client.Do(ctx, t.client.B().Hdel().Key(modelsKey).Field(t.opt.Name).Build()).Error() // it is refused either way
	}
	return err
}

// publishName writes the name of the model down, and tells whether it is new. That
// a server refuses it, as where a program may write its own keys only, keeps the
// model from being listed, and from nothing else.
func (t *table) publishName(ctx context.Context) (added bool, err error) {
	n, err := t.client.Do(ctx, t.client.B().Hset().Key(modelsKey).FieldValue().
		FieldValue(t.opt.Name, strconv.Itoa(len(t.parts))).Build()).AsInt64()
	if _, ok := rueidis.IsRedisErr(err); ok {
		return false, nil
	}
	return n == 1, err
}

// Info describes a model, as the database knows it.
type Info struct {
	Name       string
	Records    int64
	Partitions int
	Indexes    []IndexInfo
	Pending    []string // what a Migrate would do, as Store.Pending
}

// IndexInfo describes an index.
type IndexInfo struct {
	Name  string
	On    string // its columns and options
	State string // "built", "to build" or "to drop"
}

// Models describes the models of a database, in the order of their names: those that
// New has made since there is such a list. Four round trips for each, and one for
// each partition.
func Models(ctx context.Context, client rueidis.Client) ([]Info, error) {
	names, err := client.Do(ctx, client.B().Hkeys().Key(modelsKey).Build()).AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("model: key %q: %w", modelsKey, err)
	}
	slices.Sort(names)
	var all []Info
	for _, name := range names {
		m, err := Open(ctx, client, name)
		if isNotFound(err) {
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

// Model is a model of a database for programs that do not have its Go type: it
// reads how records are stored and indexed from what New wrote. What only the type
// can compute, it takes to be right.
type Model struct {
	t *table // as the declaration in force says
	r registered
}

// Open returns the model with a name, or ErrNotFound. Two round trips.
func Open(ctx context.Context, client rueidis.Client, name string) (*Model, error) {
	m, err := openModel(ctx, client, name)
	if err != nil {
		return nil, fmt.Errorf("model: %s: %w", shortened(name), err)
	}
	return m, nil
}

func openModel(ctx context.Context, client rueidis.Client, name string) (*Model, error) {
	// A model that is not listed may be there, unless it is spread.
	partitions := 1
	text, err := client.Do(ctx, client.B().Hget().Key(modelsKey).Field(name).Build()).ToString()
	if n, bad := strconv.Atoi(text); err == nil && bad == nil && n > 1 && n <= maxPartitions {
		partitions = n
	}
	if err != nil && !rueidis.IsRedisNil(err) {
		if _, ok := rueidis.IsRedisErr(err); !ok {
			return nil, err
		}
	}
	opt := Options{Name: name, Partitions: partitions}
	meta, err := client.Do(ctx, client.B().Hgetall().Key(opt.spread()[0].meta).Build()).AsStrMap()
	if err != nil {
		return nil, err
	}
	r := registeredOf(meta)
	if r.digest == "" {
		return nil, fmt.Errorf("%w: no model is called so", ErrNotFound)
	}
	t, err := storedTable(client, name, r.schema, &r)
	if err != nil {
		return nil, err
	}
	return &Model{t, r}, nil
}

// storedTable makes a table of a schema that a Store wrote.
func storedTable(client rueidis.Client, name, text string, r *registered) (*table, error) {
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
	t := &table{client: client, schema: s, version: -1, expires: -1, scripts: newScripts(), opt: Options{
		Name: name, IDs: w.IDs, Partitions: w.Partitions,
		Keys: Keys{Record: w.Record, Counter: w.Counter},
	}}
	for _, f := range s.fields {
		if !f.Computed {
			t.names = append(t.names, f.Name)
			t.counters = append(t.counters, false)
		}
	}
	if w.Expires != "" {
		if t.expires = t.number(w.Expires); t.expires < 0 {
			return nil, fmt.Errorf("%w: the schema: no field is called %q", ErrCorrupt, w.Expires)
		}
	}
	for _, k := range t.opt.spread() {
		t.parts = append(t.parts, partition{partitionKeys: k})
	}
	identities := t.identities()
	t.digest = digestOf(w.Expires, identities)
	t.goType, t.refs = w.Type, w.Refs
	t.token.Store(&r.token)
	for i, x := range t.indexes {
		number, key, _ := strings.Cut(r.indexes[identities[i]], " ")
		if x.number, err = strconv.Atoi(number); err != nil {
			return nil, fmt.Errorf("%w: index %s has no number", ErrCorrupt, x.Name)
		}
		x.key = key
		if t.computed(x) {
			t.right += "," + number
		}
	}
	if t.right != "" {
		t.right += ","
	}
	t.relevant = t.relevantFields()
	t.place()
	return t, nil
}

// next is the table that Migrate would put into force: that of the last New whose
// declaration is another, or the present one.
func (m *Model) next() (*table, error) {
	if m.r.wanted == "" || m.r.wantedDigest == m.r.digest {
		return m.t, nil
	}
	return storedTable(m.t.client, m.t.opt.Name, m.r.wanted, &m.r)
}

// Describe tells of what the model is, and which indexes it has. One round trip
// for each partition, and one for all.
func (m *Model) Describe(ctx context.Context) (Info, error) {
	info, err := m.describe(ctx)
	return info, m.t.wrap(err)
}

func (m *Model) describe(ctx context.Context) (Info, error) {
	t := m.t
	info := Info{Name: t.opt.Name, Partitions: len(t.parts)}
	next, err := m.next()
	if err != nil {
		return info, err
	}
	if info.Pending, err = next.pendingAll(ctx); err != nil {
		return info, err
	}
	commands := make(rueidis.Commands, len(t.parts))
	for i := range t.parts {
		commands[i] = t.client.B().Zcard().Key(t.parts[i].all).Build()
	}
	for _, r := range t.client.DoMulti(ctx, commands...) {
		n, err := r.AsInt64()
		if err != nil {
			return info, err
		}
		info.Records += n
	}
	states := map[string]string{}
	for _, identity := range t.identities() {
		states[identity] = "to drop"
	}
	for _, identity := range next.identities() {
		if states[identity] = "built"; slices.Contains(info.Pending, "build "+described(identity)) {
			states[identity] = "to build"
		}
	}
	for _, identity := range slices.Sorted(maps.Keys(states)) {
		name, on, _ := strings.Cut(identity, "=")
		info.Indexes = append(info.Indexes, IndexInfo{name, on, states[identity]})
	}
	return info, nil
}

// Verify is Store.Verify, without what only the Go type can compute: that is
// compared with what was computed when the record was written.
func (m *Model) Verify(ctx context.Context, up Upkeep) (Report, error) {
	report, err := m.t.upkeep(ctx, look, up)
	return report, m.t.wrap(err)
}

// Repair is Store.Repair. A record whose computed values are lost is told, and
// left for the program that computes them.
func (m *Model) Repair(ctx context.Context, up Upkeep) (Report, error) {
	report, err := m.t.upkeep(ctx, mend, up)
	return report, m.t.wrap(err)
}

// Migrate is Store.Migrate, to the declaration of the last New that differs. It is
// refused with ErrSchema where a computed index is to be built, which only the
// program that declares it can do.
func (m *Model) Migrate(ctx context.Context, up Upkeep) (Report, error) {
	report, err := m.migrate(ctx, up)
	return report, m.t.wrap(err)
}

func (m *Model) migrate(ctx context.Context, up Upkeep) (Report, error) {
	t, err := m.next()
	if err != nil {
		return Report{}, err
	}
	for i := range t.indexes {
		x := t.indexes[i]
		built, err := t.isBuilt(ctx, x, t.parts)
		if err != nil {
			return Report{}, err
		}
		if !built && t.computed(x) {
			return Report{}, fmt.Errorf("%w: index %s is computed by the program that declares it: call Migrate there", ErrSchema, x.Name)
		}
	}
	return t.migrate(ctx, up)
}
