package schema

import (
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"

	"retwis/internal/redis/keys"
)

// Layout computes the keys of a model.
type Layout struct {
	Name    string
	IDs     IDs
	Counter string // key that new ids come from
	Parts   []Partition
	Schema  *Schema
}

// Partition has the keys of one partition, and the keys of its indexes by Index.Place: for
// indexes with a set per value, their directories; unique indexes only if there is a single
// partition.
type Partition struct {
	Keys
	Indexes []string
}

// Of returns the partition of an id.
func (l *Layout) Of(id string) *Partition { return &l.Parts[keys.Partition(id, len(l.Parts))] }

// Spread reports whether the model has several partitions, so that unique values and their
// records can be in different slots.
func (l *Layout) Spread() bool { return len(l.Parts) > 1 }

// Arrange computes the positions and keys of the indexes.
func (l *Layout) Arrange() {
	var placed []*Index
	for _, x := range l.Schema.Indexes {
		if x.Place = -1; !x.Unique || !l.Spread() {
			x.Place = len(placed)
			placed = append(placed, x)
		}
	}
	for i := range l.Parts {
		p := &l.Parts[i]
		p.Indexes = make([]string, len(placed))
		for j, x := range placed {
			p.Indexes[j] = l.IndexKey(p, x)
		}
	}
}

// IndexKey returns the key of an index in a partition.
func (l *Layout) IndexKey(p *Partition, x *Index) string {
	if x.At != "" {
		return x.At
	}
	return p.Index(x.Key)
}

// ValueKey returns the key of the set of ids with a value of an index.
func (l *Layout) ValueKey(p *Partition, e Entry) string { return p.Value(e.Index.Key, e.Value) }

// CollectionKeys appends the keys of the sets and lists of a record.
func (l *Layout) CollectionKeys(keys []string, p *Partition, id string) []string {
	for _, name := range l.Schema.Collections {
		keys = append(keys, p.Collection(name, id))
	}
	return keys
}

// UniqueKey returns the key of the hash that has a unique value.
func (l *Layout) UniqueKey(e Entry) string {
	return l.Parts[keys.Partition(e.Value, len(l.Parts))].Index(e.Index.Key)
}

// RecordPrefix returns the common prefix of the keys of all records.
func (l *Layout) RecordPrefix() string {
	if !l.Spread() {
		return l.Parts[0].RecordPrefix
	}
	// The prefix of the first partition is, for example, {user.0}:
	before, _, _ := strings.Cut(l.Parts[0].RecordPrefix, ".0}")
	return before + "."
}

// ParseKey returns the partition and id of the key of a record.
func (l *Layout) ParseKey(key string) (*Partition, string, bool) {
	for i := range l.Parts {
		p := &l.Parts[i]
		if id, ok := strings.CutPrefix(key, p.RecordPrefix); ok {
			return p, id, l.IsID(id) && l.Of(id) == p
		}
	}
	return nil, "", false
}

// ParseValueKey returns the partition of the key of a set of a value, and the entry of the
// records in the set.
func (l *Layout) ParseValueKey(key string) (*Partition, Entry, bool) {
	for i := range l.Parts {
		p := &l.Parts[i]
		for _, x := range l.Schema.Indexes {
			if value, ok := strings.CutPrefix(key, p.Value(x.Key, "")); ok && x.PerValue {
				return p, Entry{x, value}, true
			}
		}
	}
	return nil, Entry{}, false
}

// ValuePrefix returns the common prefix of the keys of all sets of values.
func (l *Layout) ValuePrefix() string {
	if l.Spread() {
		return l.RecordPrefix()
	}
	return l.Parts[0].Index("")
}

// CreationScore returns the score in <model>.all for a new record, or "" for the time of the
// server.
func (l *Layout) CreationScore(id string) string {
	switch l.IDs {
	case Counter:
		if n, err := strconv.ParseUint(id, 10, 53); err == nil {
			return strconv.FormatUint(n, 10)
		}
	case ULID:
		if u, err := ulid.ParseStrict(id); err == nil {
			return strconv.FormatUint(u.Time()*1000, 10)
		}
	}
	return ""
}

// IsID reports whether a text can be the id of a record. Keys that are not records may have the
// same prefix.
func (l *Layout) IsID(id string) bool {
	switch l.IDs {
	case Counter:
		n, err := strconv.ParseUint(id, 10, 63)
		return err == nil && strconv.FormatUint(n, 10) == id
	case ULID:
		_, err := ulid.ParseStrict(id)
		return err == nil
	}
	return id != "" && len(id) <= maxID && !strings.Contains(id, "\x00")
}

// Stored returns the schema in stored form.
func (l *Layout) Stored() Stored {
	s := l.Schema
	w := Stored{
		Encoding: "hash", IDs: l.IDs, Record: l.Parts[0].RecordPrefix, Counter: l.Counter,
		Partitions: len(l.Parts), Fields: s.Fields, Indexes: s.Indexes, Collections: s.Collections,
		Type: s.TypeName, Refs: s.References,
	}
	if l.Spread() {
		w.Record = ""
	}
	if l.IDs != Counter {
		w.Counter = ""
	}
	if s.Expires >= 0 {
		w.Expires = s.Fields[s.Expires].Name
	}
	return w
}
