package model

import (
	"retwis/internal/keys"
)

// partitionKeys are the keys of one partition of a model, all in one hash slot. A model
// that is not spread is its own only partition.
type partitionKeys struct {
	record  string // before the id: user:<id>, hash or string, one record
	base    string // before all others:
	content string // user.content: hash, id -> what is in the indexes of it
	all     string // user.all: sorted set, id by order of creation
	meta    string // user.meta: hash, what is declared and how far it is built
	expires string // user.expires: sorted set, id by the millisecond it ends at
	changes string // user.changes: stream, what Watch yields
	voids   string // user.voids: sorted set, tokens of void claims by their deadline
	waiting string // user.waiting: sorted set, unique values that records could not have, and their ids
}

// of is the key of a record.
func (k *partitionKeys) of(id string) string { return k.record + id }

// index is the key of an index, of a name and perhaps a number that tells it
// from an older one of that name: user.by.age. Sorted set, or of a unique index
// hash.
func (k *partitionKeys) index(name string) string { return k.base + ".by." + name }

// member is the key of a Set or List of a record: user.of.friends:<id>.
func (k *partitionKeys) member(name, id string) string { return k.base + ".of." + name + ":" + id }

// lock is the name of the lock of a record.
func (k *partitionKeys) lock(id string) string { return k.base + ".lock:" + id }

func keysOf(base, record string) partitionKeys {
	return partitionKeys{
		record: record, base: base,
		content: base + ".content", all: base + ".all", meta: base + ".meta",
		expires: base + ".expires", changes: base + ".changes", voids: base + ".voids", waiting: base + ".waiting",
	}
}

// spread returns the keys of the partitions of a model. The number of each is
// within the hash tag, so that they are in different slots: {user.0}:7.
func (o *Options) spread() []partitionKeys {
	if o.Partitions == 1 {
		record := o.Keys.Record
		if record == "" {
			record = o.Name + ":"
		}
		return []partitionKeys{keysOf(o.Name, record)}
	}
	all := make([]partitionKeys, o.Partitions)
	for i, base := range keys.Spread(o.Name, o.Partitions) {
		all[i] = keysOf(base, base+":")
	}
	return all
}

// counter is the key that new ids come from.
func (o *Options) counter() string {
	if o.Keys.Counter != "" {
		return o.Keys.Counter
	}
	return "next_" + o.Name + "_id"
}

// modelsKey is a hash from the name of each model that New has made to over how
// many partitions it is spread. On a Cluster it is in a slot of its own: it is
// written by itself, and again by every New.
const modelsKey = "models"
