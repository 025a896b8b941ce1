package model

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"retwis/maintain"

	"github.com/redis/rueidis"
)

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
	// Adopt is Options.Adopt of the maintenance methods. Set it before calling them.
	Adopt func(id string) bool

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
	t, err := openTable(client, name, r.schema, &r)
	if err != nil {
		return nil, err
	}
	return &Model{t: t, r: r}, nil
}

// next is the table that Migrate would put into force: that of the last New whose
// declaration is another, or the present one.
func (m *Model) next() (*table, error) {
	if m.r.wanted == "" || m.r.wantedDigest == m.r.digest {
		return m.t, nil
	}
	return openTable(m.t.client, m.t.opt.Name, m.r.wanted, &m.r)
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
func (m *Model) Verify(ctx context.Context, opt maintain.Options) (Report, error) {
	return m.adopting(m.t).verify(ctx, dryRun, opt)
}

// Repair is Store.Repair. A record whose computed values are lost is told, and
// left for the program that computes them.
func (m *Model) Repair(ctx context.Context, opt maintain.Options) (Report, error) {
	return m.adopting(m.t).verify(ctx, repair, opt)
}

// Migrate is Store.Migrate, to the declaration of the last New that differs. It is
// refused with ErrSchema where a computed index is to be built, which only the
// program that declares it can do.
func (m *Model) Migrate(ctx context.Context, opt maintain.Options) (Report, error) {
	t, err := m.migration(ctx)
	if err != nil {
		return Report{}, m.t.wrap(err)
	}
	return m.adopting(t).migrate(ctx, opt)
}

// migration returns the table that Migrate puts into force.
func (m *Model) migration(ctx context.Context) (*table, error) {
	t, err := m.next()
	if err != nil {
		return nil, err
	}
	for _, x := range t.schema.indexes {
		built, err := t.isBuilt(ctx, x, t.parts)
		if err != nil {
			return nil, err
		}
		if !built && t.schema.computed(x) {
			return nil, fmt.Errorf("%w: index %s is computed by the program that declares it: call Migrate there", ErrSchema, x.Name)
		}
	}
	return t, nil
}

func (m *Model) adopting(t *table) *table {
	t.opt.Adopt = m.Adopt
	return handOvers(t)
}

// Drop is Store.Drop.
func (m *Model) Drop(ctx context.Context, opt maintain.Options) (Report, error) {
	return m.t.drop(ctx, opt)
}
