package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"

	"retwis/internal/redis/keys"
)

// Layout computes the keys of a model.
type Layout struct {
	Name         string
	IDs          IDs
	Counter      string // key that new ids come from
	Parts        []Partition
	IndexNumbers string // numbers of the indexes, as placesOf of entries.lua takes them
	Schema       *Schema
}

// Partition is the keys of one partition, and those of its indexes: the unique ones, if
// there is only one partition, the others, and then the directories of those with a set
// for each value.
type Partition struct {
	Keys
	Indexes []string
}

// Of returns the partition of an id.
func (l *Layout) Of(id string) *Partition { return &l.Parts[keys.Partition(id, len(l.Parts))] }

// Spread reports whether there are several partitions, so that unique values and
// records are in different slots.
func (l *Layout) Spread() bool { return len(l.Parts) > 1 }

// Arrange computes the lists of keys and numbers that scripts take.
func (l *Layout) Arrange() {
	var here, elsewhere []*Index // the unique ones first
	for _, x := range l.Schema.Indexes {
		switch {
		case x.Unique && l.Spread():
			elsewhere = append(elsewhere, x)
		case x.Unique:
			here = append(here, x)
		}
	}
	unique := len(here)
	for _, x := range l.Schema.Indexes {
		if !x.Unique && !x.PerValue {
			here = append(here, x)
		}
	}
	sorted := len(here) - unique
	for _, x := range l.Schema.Indexes {
		if x.PerValue {
			here = append(here, x)
		}
	}
	b := PackList(nil, 3+len(here)+len(elsewhere))
	b = PackInt(PackInt(PackInt(b, int64(unique)), int64(sorted)), int64(len(here)-unique-sorted))
	for _, x := range slices.Concat(here, elsewhere) {
		b = PackInt(b, int64(x.Number))
	}
	l.IndexNumbers = string(b)
	for _, x := range elsewhere {
		x.Place = -1
	}
	for i, x := range here {
		x.Place = i
	}
	for i := range l.Parts {
		p := &l.Parts[i]
		p.Indexes = make([]string, len(here))
		for j, x := range here {
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

// WriteKeys returns the keys for scripts that write a record.
func (l *Layout) WriteKeys(p *Partition, id string) []string {
	all := make([]string, 0, 6+len(p.Indexes))
	all = append(all, p.Record(id), p.Content, p.All, p.Meta, p.Expires, p.Voids)
	return append(all, p.Indexes...)
}

// ValueKey returns the key of the ids with a value of an index that has such sets.
func (l *Layout) ValueKey(p *Partition, e Entry) string { return p.Value(e.Index.Key, e.Value) }

// ValueKeys appends the keys of the sets that entries are in, each once, and returns them
// for setsOf of entries.lua as well: the position of the first one, then number and value
// of each.
func (l *Layout) ValueKeys(keys []string, p *Partition, entries ...[]Entry) (all []string, packed string) {
	first := len(keys) + 1
	var b []byte
	seen := map[Entry]bool{}
	for _, some := range entries {
		for _, e := range some {
			if e.Index.PerValue && !seen[e] {
				seen[e] = true
				keys = append(keys, l.ValueKey(p, e))
				b = PackText(PackInt(b, int64(e.Index.Number)), e.Value)
			}
		}
	}
	if len(seen) == 0 {
		return keys, ""
	}
	return keys, string(append(PackInt(PackList(nil, 1+2*len(seen)), int64(first)), b...))
}

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
	// {user.0}:
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

// ParseValueKey returns the partition of the key of a set, and the entry that its records
// have.
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

// ValuePrefix returns the common prefix of the keys of the sets of all values.
func (l *Layout) ValuePrefix() string {
	if l.Spread() {
		return l.RecordPrefix()
	}
	return l.Parts[0].Index("")
}

// CreationScore returns the score in user.all for a record without one, or "" for the
// time of the server.
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

// IsID reports whether the rest of a key after the prefix is the id of a record: other
// keys may have the same prefix.
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

// Stored returns the schema as it is stored.
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
