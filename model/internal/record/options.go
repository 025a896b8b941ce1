package record

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/keys"
	"retwis/model/internal/registry"
	"retwis/model/internal/schema"
)

// Options configures a table; see model.Options.
type Options struct {
	Name       string
	IDs        schema.IDs
	Keys       Keys
	Partitions int
	Cache      time.Duration
	Adopt      func(id string) bool
}

// Keys overrides the default keys of a model.
type Keys struct {
	Record  string            // prefix of the keys of records. Default "<name>:"
	Counter string            // key that ids come from. Default "next_<name>_id"
	Unique  map[string]string // by the name of the field or index. Default "<name>.by.<field>"
}

// Limits of Options.
const (
	maxName       = 100
	MaxPartitions = keys.MaxPartitions
)

// withDefaults sets the defaults, or returns an error that names the field.
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
	case o.Partitions > 1 && (o.Keys.Record != "" || len(o.Keys.Unique) > 0):
		return o, fmt.Errorf("Options.Keys cannot be set with Options.Partitions: the keys contain the number of the partition")
	}
	if client.Mode() == rueidis.ClientModeCluster {
		return o, o.checkSlots()
	}
	return o, nil
}

// checkSlots returns an error if keys are in different slots of a Cluster.
func (o *Options) checkSlots() error {
	if o.Partitions > 1 {
		return nil
	}
	tag := keys.Tag(o.Name)
	if tag == "" {
		return fmt.Errorf("Options.Name is %q: on a Cluster it needs a hash tag, so that the keys of a record are in one slot: call it %q, or set Options.Partitions",
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

// Counter returns the key that new ids come from.
func (o *Options) Counter() string { return schema.CounterOf(o.Name, o.Keys.Counter) }

// checkName refuses names that look like a key of another model.
func (o *Options) checkName() error {
	if o.Name == registry.ModelsKey {
		return fmt.Errorf("Options.Name is %q: this is the key with the list of models: choose another name", o.Name)
	}
	k := schema.KeysOf("", "")
	for _, key := range []string{k.Content, k.All, k.Meta, k.Expires, k.Voids, ".lock"} {
		if model, ok := strings.CutSuffix(o.Name, key); ok {
			return fmt.Errorf("Options.Name is %q: a model called %q has keys of this form: choose another name", o.Name, model)
		}
	}
	for _, key := range []string{k.Index(""), ".of.", k.Lock("")} {
		if model, _, ok := strings.Cut(o.Name, key); ok {
			return fmt.Errorf("Options.Name is %q: a model called %q has keys of this form: choose another name", o.Name, model)
		}
	}
	return nil
}
