package record

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"retwis/model/internal/schema"
)

// Orphan is an index entry that its record may not have.
type Orphan struct{ ID, Value string }

// Place is the kind of key that holds entries, as named in orphan.lua.
type Place string

// The places of entries.
const (
	InSorted    Place = "z"
	InSet       Place = "s" // the set of a value
	InUnique    Place = "u"
	InAll       Place = "a"
	InExpires   Place = "e"
	InDirectory Place = "d" // a value without a set
)

// Scope selects the orphans to remove, as named in orphan.lua.
type Scope string

// The scopes.
const (
	None    Scope = "verify"
	Indexed Scope = "repair" // except orphans of records that are not indexed yet
	Any     Scope = "any"
)

// orphanBatch is the number of entries checked by one script.
const orphanBatch = 20

// Orphans returns the suspects that their records do not have, and removes them unless the
// scope is None. With InSet, all suspects must have the same value.
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
	for chunk := range slices.Chunk(suspects, orphanBatch) {
		keys := []string{p.Meta, p.Content, key, cmp.Or(directory, key)}
		args := []string{string(scope), t.Registry.Stamp(), string(kind), strconv.Itoa(number)}
		for _, s := range chunk {
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
			if i < 1 || int(i) > len(chunk) {
				return nil, schema.ErrReply(nil)
			}
			all = append(all, chunk[i-1])
		}
	}
	return all, nil
}
