package record

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"retwis/internal/keys"
	"retwis/model/internal/schema"

	"github.com/redis/rueidis"
)

// Options of a Store. Only Name has to be set.
type Options struct {
	// Name of the model, and the beginning of its keys: 1 to 100 bytes. On a
	// Cluster, unless it is spread by Partitions, it needs a hash tag: {user}.
	// New refuses a name of which a key could be one of another model of the
	// database, as user:session beside user where the ids of user are Own.
	Name string
	// IDs says where ids come from. Default Counter.
	IDs schema.IDs
	// Keys are names of keys, for layouts that exist already.
	Keys Keys
	// Partitions is over how many hash slots of a Cluster the records are
	// spread, by their ids. A write of a new unique value then takes three steps,
	// and a query asks all of them. It cannot be changed later. Default 1.
	Partitions int
	// Cache is how long Get, GetMany and queries may answer from the memory of
	// the client, which the server tells when a record changes. What this Store
	// has written it reads as written, at once and from any goroutine; a change
	// by another Store or process is seen when the server's message has
	// arrived, mostly within a millisecond, and after this time at the latest.
	// Default 0: they always ask.
	Cache time.Duration
	// Adopt reports whether a hash that the model did not write is one of its records:
	// Migrate and Repair bring these into the indexes, Verify finds them missing. It
	// gets the part of the key after Keys.Record, and never a key of another model.
	// Default nil: none of them; a Report counts them as Unknown.
	Adopt func(id string) bool
	// Changes is how many changes are kept for Watch, about. Default 0: none,
	// and Watch is an error.
	ChangeLog int
}

// Keys are the keys of a model where they are not to be the default ones.
type Keys struct {
	// Record is what stands before the id in the key of a record. It cannot be
	// changed later. Default "<name>:".
	Record string
	// Counter is the key that ids come from. Default "next_<name>_id".
	Counter string
	// Unique are the keys of the hashes from unique value to id, by the name of
	// the field or index. Another key is another index: see Migrate. Default
	// "<name>.by.<field>".
	Unique map[string]string
}

const (
	maxName       = 100
	MaxPartitions = keys.MaxPartitions
)

// withDefaults returns the options with what was left out filled in, or an
// error that names the field.
func (o Options) withDefaults(client rueidis.Client) (Options, error) {
	if client == nil {
		return o, errors.New("the client is nil")
	}
	if o.Name == "" || len(o.Name) > maxName {
		return o, fmt.Errorf("Options.Name has %d bytes: it must have from 1 to %d", len(o.Name), maxName)
	}
	if strings.ContainsAny(o.Name, " \n\r\t") {
		return o, fmt.Errorf("Options.Name is %q: it cannot have blanks", o.Name)
	}
	if err := o.checkName(); err != nil {
		return o, err
	}
	if o.IDs == "" {
		o.IDs = schema.Counter
	}
	if o.Partitions == 0 {
		o.Partitions = 1
	}
	switch {
	case o.IDs != schema.Counter && o.IDs != schema.ULID && o.IDs != schema.ClientAssigned:
		return o, fmt.Errorf("Options.IDs is %q: use model.Counter, model.ULID or model.ClientAssigned", o.IDs)
	case o.Partitions < 1 || o.Partitions > MaxPartitions:
		return o, fmt.Errorf("Options.Partitions is %d: from 1 to %d are allowed", o.Partitions, MaxPartitions)
	case o.Cache < 0:
		return o, fmt.Errorf("Options.Cache is %v: it cannot be negative", o.Cache)
	case o.ChangeLog < 0:
		return o, fmt.Errorf("Options.ChangeLog is %d: it cannot be negative", o.ChangeLog)
	case o.Partitions > 1 && (o.Keys.Record != "" || len(o.Keys.Unique) > 0):
		return o, fmt.Errorf("Options.Keys cannot be set with Options.Partitions: their keys hold the number of the partition")
	}
	if client.Mode() == rueidis.ClientModeCluster {
		return o, o.checkSlots()
	}
	return o, nil
}

// checkSlots refuses keys that a Cluster would put into different slots.
func (o *Options) checkSlots() error {
	if o.Partitions > 1 {
		return nil
	}
	tag := keys.Tag(o.Name)
	if tag == "" {
		return fmt.Errorf("Options.Name is %q: on a Cluster it needs a hash tag, so that the keys of a record meet in one slot: call it %q, or spread it by Options.Partitions",
			o.Name, "{"+o.Name+"}")
	}
	named := map[string]string{"Record": o.Keys.Record}
	for name, key := range o.Keys.Unique {
		named[fmt.Sprintf("Unique[%q]", name)] = key
	}
	for name, key := range named {
		if key != "" && keys.Tag(key) != tag {
			return fmt.Errorf("Options.Keys.%s is %q: on a Cluster it must have the hash tag of the name, {%s}", name, key, tag)
		}
	}
	return nil
}

// counter returns the key that new ids come from.
func (o *Options) Counter() string { return schema.CounterOf(o.Name, o.Keys.Counter) }
