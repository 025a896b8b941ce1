package model

import (
	"time"

	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

// IDs says where the id of a new record comes from.
type IDs = schema.IDs

// The sources of ids.
const (
	Counter        = schema.Counter        // 1, 2, 3, … from next_<name>_id; a process takes twenty at once, and loses those that it does not use
	ULID           = schema.ULID           // 26 letters and digits in order of time, without asking the server
	ClientAssigned = schema.ClientAssigned // the caller's, in the id field of the struct
)

// Options of a Store. Only Name is required.
type Options struct {
	// Name of the model, and the prefix of its keys: 1 to 100 bytes. On a Cluster it
	// needs a hash tag, {user}, unless there are Partitions. New refuses a name if a key
	// could belong to another model of the database as well: user:session next to user
	// if the ids of user are ClientAssigned.
	Name string
	// IDs says where ids come from. Default Counter. Beside it, Create takes an integer that
	// the caller has set as the id, and raises the counter to it.
	IDs IDs
	// Keys are names of keys, for data that exist already.
	Keys Keys
	// Partitions is the number of hash slots of a Cluster over which the records are
	// sharded, by their ids. Writing a new unique value then takes three steps, and a
	// query asks all partitions. It cannot be changed later. Default 1.
	Partitions int
	// Cache is how long Get, GetMany and queries may answer from the memory of the
	// client, which the server notifies when a record changes. This Store reads its own
	// writes, at once and from any goroutine; a change by another Store or process is
	// seen when the notification arrives, mostly within a millisecond, and after this
	// time at the latest. Default 0: no caching.
	Cache time.Duration
	// Adopt reports whether a hash that the model did not write is one of its records:
	// Migrate and Repair bring these into the indexes, Verify reports them as missing, and
	// Delete deletes them.
	// It gets the part of the key after Keys.Record, and never a key of another model.
	// Default nil: none of them; a Report counts them as Unknown.
	Adopt func(id string) bool
}

// Keys are the keys of a model that differ from the default: the prefix Record of the keys of
// records, before the id, which cannot be changed later; the Counter that ids come from; and
// Unique, the keys of the hashes from unique value to id by the name of the field or index. A
// new key of Unique makes a new index: see Store.Migrate.
type Keys = record.Keys
