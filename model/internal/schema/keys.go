package schema

import (
	"retwis/internal/keys"
)

// partitionKeys are the keys of one partition of a model, all in one hash slot. A model
// that is not spread is its own only partition.
type Keys struct {
	RecordPrefix string // before the id: user:<id>, hash or string, one record
	Base         string // before all others:
	Content      string // user.content: hash, id -> what is in the indexes of it
	All          string // user.all: sorted set, id by order of creation
	Meta         string // user.meta: hash, what is declared and how far it is built
	Expires      string // user.expires: sorted set, id by the millisecond it ends at
	Changes      string // user.changes: stream, what Watch yields
	Voids        string // user.voids: sorted set, tokens of void claims by their deadline
	Waiting      string // user.waiting: sorted set, unique values that records could not have, and their ids
}

// of is the key of a record.
func (k *Keys) Record(id string) string { return k.RecordPrefix + id }

// index is the key of an index, of a name and perhaps a number that tells it
// from an older one of that name: user.by.age. Sorted set, or of a unique index
// hash.
func (k *Keys) Index(name string) string { return k.Base + ".by." + name }

// member is the key of a Set or List of a record: user.of.friends:<id>.
func (k *Keys) Collection(name, id string) string { return k.Base + ".of." + name + ":" + id }

// lock is the name of the lock of a record.
func (k *Keys) Lock(id string) string { return k.Base + ".lock:" + id }

func KeysOf(base, record string) Keys {
	return Keys{
		RecordPrefix: record, Base: base,
		Content: base + ".content", All: base + ".all", Meta: base + ".meta",
		Expires: base + ".expires", Changes: base + ".changes", Voids: base + ".voids", Waiting: base + ".waiting",
	}
}

// partitionsOf returns the keys of the partitions of a model. A custom prefix of records
// is for one partition only.
func Partitions(name, record string, partitions int) []Keys {
	if partitions == 1 {
		if record == "" {
			record = name + ":"
		}
		return []Keys{KeysOf(name, record)}
	}
	all := make([]Keys, partitions)
	for i, base := range keys.Spread(name, partitions) {
		all[i] = KeysOf(base, base+":")
	}
	return all
}

// counterOf returns the key that new ids come from.
func CounterOf(name, custom string) string {
	if custom != "" {
		return custom
	}
	return "next_" + name + "_id"
}
