package model

import (
	"time"

	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

// IDs selects where the id of a new record comes from.
type IDs = schema.IDs

// The sources of ids.
const (
	Counter        = schema.Counter        // 1, 2, 3, … from next_<name>_id; a process reserves twenty ids at a time, and unused ids are lost
	ULID           = schema.ULID           // 26 letters and digits in time order, without a round trip
	ClientAssigned = schema.ClientAssigned // set by the caller in the id field of the struct
)

// Options configures a Store. Only Name is required.
type Options struct {
	// Name is the name of the model and the prefix of its keys: 1 to 100 bytes. On a Cluster it
	// needs a hash tag, such as {user}, unless there are Partitions. New refuses a name if a
	// key could also belong to another model of the database: for example user:session next to
	// user, if the ids of user are ClientAssigned.
	Name string
	// IDs selects where ids come from. Default Counter. With Counter, Create also accepts an
	// integer id set by the caller, and raises the counter to it.
	IDs IDs
	// Keys overrides the default keys, for existing data.
	Keys Keys
	// Partitions is the number of hash slots of a Cluster over which the records are sharded by
	// id. Writing a new unique value then takes three steps, and a query reads all partitions.
	// The number cannot be changed later. Default 1.
	Partitions int
	// Cache is how long Get, GetMany and queries may use records cached in the client, which
	// the server notifies of changes. A Store always reads its own writes, from any goroutine.
	// A change by another Store or process becomes visible when the notification arrives,
	// usually within a millisecond, and after Cache at the latest. Default 0: no caching.
	Cache time.Duration
	// Adopt reports whether a hash that the model did not write is one of its records: Migrate
	// and Repair add such records to the indexes, Verify reports them as missing, and Delete
	// deletes them. It is called with the part of the key after Keys.Record, never for a key of
	// another model. Default nil: no hash is adopted; a Report counts them as Unknown.
	Adopt func(id string) bool
}

// Keys overrides the default keys of a model: Record is the prefix of the keys of records,
// before the id, and cannot be changed later; Counter is the key that ids come from; and Unique
// has the keys of the hashes from unique value to id, by the name of the field or index.
// Changing a key of Unique declares a new index: see Store.Migrate.
type Keys = record.Keys
