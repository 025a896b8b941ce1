package schema

import (
	"retwis/internal/redis/keys"
)

// Keys are the keys of one partition of a model, all in one hash slot. The examples are keys of a
// model with the name user.
type Keys struct {
	RecordPrefix string // prefix of user:<id>: hash, one record
	Base         string // prefix of the following keys, and of the keys of indexes and collections
	Content      string // user.content: hash, id to Content
	All          string // user.all: sorted set, ids in creation order
	Meta         string // user.meta: hash, the published schema and the state of the indexes
	Expires      string // user.expires: sorted set, id by the millisecond at which it expires
	Voids        string // user.voids: sorted set, tokens of revoked claims by their deadline
}

// Record returns the key of a record.
func (k *Keys) Record(id string) string { return k.RecordPrefix + id }

// Index returns the key of an index, such as user.by.age: a sorted set, or a hash for a unique
// index. The name may have a number appended, to distinguish the index from an older index of
// the same name.
func (k *Keys) Index(name string) string { return k.Base + ".by." + name }

// Value returns the key of the ids with one value of an index, such as user.by.city:London: a
// sorted set of ids in creation order.
func (k *Keys) Value(name, value string) string { return k.Index(name) + ":" + value }

// Collection returns the key of a Set or List of a record: user.of.friends:<id>.
func (k *Keys) Collection(name, id string) string { return k.Base + ".of." + name + ":" + id }

// Lock returns the name of the lock of a record.
func (k *Keys) Lock(id string) string { return k.Base + ".lock:" + id }

// KeysOf returns the keys with a base, and with a prefix for records.
func KeysOf(base, record string) Keys {
	return Keys{
		RecordPrefix: record, Base: base,
		Content: base + ".content", All: base + ".all", Meta: base + ".meta",
		Expires: base + ".expires", Voids: base + ".voids",
	}
}

// Partitions returns the keys of the partitions of a model. A custom prefix of records
// requires one partition.
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

// CounterOf returns the key that new ids come from.
func CounterOf(name, custom string) string {
	if custom != "" {
		return custom
	}
	return "next_" + name + "_id"
}
