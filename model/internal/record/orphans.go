package record

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"retwis/model/internal/schema"
)

// Orphan is an entry whose record may not have it.
type Orphan struct{ ID, Value string }

// Place is where entries are, as orphan.lua names it.
type Place string

// The places of entries.
const (
	InSorted    Place = "z"
	InSet       Place = "s" // of a value
	InUnique    Place = "u"
	InAll       Place = "a"
	InExpires   Place = "e"
	InDirectory Place = "d" // a value without a set
)

// Scope is which orphans are removed, as orphan.lua names it.
type Scope string

// Which orphans are removed.
const (
	None    Scope = "verify"
	Indexed Scope = "repair" // not those of records that are not indexed yet
	Any     Scope = "any"
)

// orphanBatch is how many entries one script checks.
const orphanBatch = 20

// Orphans returns the entries whose records do not have them, and removes them. Entries in a
// set all have its value.
func (t *Table) Orphans(ctx context.Context, p *schema.Partition, scope Scope, kind Place, x *schema.Index, suspects []Orphan) ([]Orphan, error) {
	if len(suspects) == 0 {
		return nil, nil
	}
	key, directory, number := "", "", 0
	switch kind {
	case InAll:
		key = p.All
	case InExpires:
		key = p.Expires
	case InSet:
		key, directory, number = t.Layout.ValueKey(p, schema.Entry{Index: x, Value: suspects[0].Value}), t.Layout.IndexKey(p, x), x.Number
	default:
		key, number = t.Layout.IndexKey(p, x), x.Number
	}
	var all []Orphan
	for some := range slices.Chunk(suspects, orphanBatch) {
		keys := []string{p.Meta, p.Content, key, cmp.Or(directory, key)}
		args := []string{string(scope), t.Registry.Stamp(), string(kind), strconv.Itoa(number)}
		for _, s := range some {
			if kind == InDirectory {
				keys = append(keys, t.Layout.ValueKey(p, schema.Entry{Index: x, Value: s.Value}))
			} else {
				keys = append(keys, p.Record(s.ID))
			}
			args = append(args, s.ID, s.Value)
		}
		m, err := orphanScript.Run(ctx, t.Client, keys, args).ToMessage()
		if err != nil {
			return nil, t.TypeError(ctx, err, keys...)
		}
		if m.IsString() {
			return nil, t.Registry.SchemaError()
		}
		wrong, err := m.AsIntSlice()
		if err != nil {
			return nil, err
		}
		for _, i := range wrong {
			if i < 1 || int(i) > len(some) {
				return nil, schema.ErrReply(nil)
			}
			all = append(all, some[i-1])
		}
	}
	return all, nil
}
