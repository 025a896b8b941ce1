package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"

	"retwis/internal/keys"
)

// layout says which keys a model has.
type layout struct {
	name    string
	ids     IDs
	counter string // key that new ids come from
	parts   []partition
	slots   string // numbers of the indexes, as placesOf of entries.lua takes them
	schema  *schema
}

// partition are the keys of one partition, and those of its indexes: the unique
// ones, unless the model is spread, and then the others.
type partition struct {
	partitionKeys
	indexes []string
}

// of returns the partition that has an id.
func (l *layout) of(id string) *partition { return &l.parts[keys.Partition(id, len(l.parts))] }

// spread tells whether unique values and records are in different slots.
func (l *layout) spread() bool { return len(l.parts) > 1 }

// place makes the lists of keys and numbers that scripts are called with.
func (l *layout) place() {
	var here, elsewhere []*indexSpec // the unique ones first
	for _, x := range l.schema.indexes {
		switch {
		case x.Unique && l.spread():
			elsewhere = append(elsewhere, x)
		case x.Unique:
			here = append(here, x)
		}
	}
	unique := len(here)
	for _, x := range l.schema.indexes {
		if !x.Unique {
			here = append(here, x)
		}
	}
	b := packList(nil, 2+len(here)+len(elsewhere))
	b = packInt(packInt(b, int64(unique)), int64(len(here)-unique))
	for _, x := range slices.Concat(here, elsewhere) {
		b = packInt(b, int64(x.number))
	}
	l.slots = string(b)
	for i := range l.parts {
		p := &l.parts[i]
		p.indexes = make([]string, len(here))
		for j, x := range here {
			p.indexes[j] = l.indexKey(p, x)
		}
	}
}

// indexKey is the key of an index in a partition.
func (l *layout) indexKey(p *partition, x *indexSpec) string {
	if x.At != "" {
		return x.At
	}
	return p.index(x.key)
}

// writeKeys are the keys that scripts take which write a record.
func (l *layout) writeKeys(p *partition, id string) []string {
	all := make([]string, 0, 7+len(p.indexes))
	all = append(all, p.of(id), p.content, p.all, p.meta, p.expires, p.changes, p.voids)
	return append(all, p.indexes...)
}

// memberKeys appends the keys of the sets and lists of a record.
func (l *layout) memberKeys(keys []string, p *partition, id string) []string {
	for _, name := range l.schema.collections {
		keys = append(keys, p.member(name, id))
	}
	return keys
}

// claimHash is the partition and key of the hash that has a unique value.
func (l *layout) claimHash(e entry) string {
	return l.parts[keys.Partition(e.value, len(l.parts))].index(e.index.key)
}

// waitingPart is the partition that has those who wait for a value: that of the
// value.
func (l *layout) waitingPart(e entry) *partition {
	return &l.parts[keys.Partition(e.value, len(l.parts))]
}

// recordPrefix is how the keys of all records begin.
func (l *layout) recordPrefix() string {
	if !l.spread() {
		return l.parts[0].record
	}
	// {user.0}:
	before, _, _ := strings.Cut(l.parts[0].record, ".0}")
	return before + "."
}

// recordOf returns the partition and id of the key of a record.
func (l *layout) recordOf(key string) (*partition, string, bool) {
	for i := range l.parts {
		p := &l.parts[i]
		if id, ok := strings.CutPrefix(key, p.record); ok {
			return p, id, l.isID(id) && l.of(id) == p
		}
	}
	return nil, "", false
}

// score is the score that a record without one gets in user.all, or nothing: the
// time of the server.
func (l *layout) score(id string) string {
	switch l.ids {
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

// isID tells whether what stands behind the prefix in a key is the id of a record:
// other keys may begin so too.
func (l *layout) isID(id string) bool {
	switch l.ids {
	case Counter:
		n, err := strconv.ParseUint(id, 10, 63)
		return err == nil && strconv.FormatUint(n, 10) == id
	case ULID:
		_, err := ulid.ParseStrict(id)
		return err == nil
	}
	return id != "" && len(id) <= maxID && !strings.Contains(id, "\x00")
}

// partitions are the places of a part that walks through a key of each.
func (l *layout) partitions() []string {
	all := make([]string, len(l.parts))
	for i := range all {
		all[i] = strconv.Itoa(i)
	}
	return all
}
