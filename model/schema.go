package model

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"retwis/internal/ordered"
)

// schema is what is stored of a model and how it is indexed: all that Verify and
// Repair need to know, without the Go type.
type schema struct {
	fields      []field // the stored ones, then the computed ones
	indexes     []*indexSpec
	collections []string // names of the Sets and Lists of a record
	names       []string // of the stored fields
	counters    []bool   // which of them are counters
	version     int      // number of the field, or -1
	expires     int      // number of the field, or -1
	typeName    string   // name of the Go type
	rules       []storedRef
}

// field is one field of a record.
type field struct {
	Name     string `json:"name"`
	Kind     kind   `json:"kind"`
	Element  kind   `json:"element,omitempty"` // of a list that can be indexed
	Computed bool   `json:"computed,omitempty"`
	// Zero is what indexes hold of a record without the field: its value where the
	// Go type cannot tell none from zero. Nil: the record has no place in them.
	Zero *string `json:"zero,omitempty"`
}

// optional tells whether a record may have no place in an index of the field.
func (f *field) optional() bool { return f.Zero == nil || f.Element != "" }

// indexed is the text of a field as an index sees it: an absent one as Get reads it.
func (f *field) indexed(stored text) text {
	if !stored.ok && f.Zero != nil && !f.Computed {
		return text{*f.Zero, true}
	}
	return stored
}

// indexSpec is one index. Unless it is unique it is a sorted set whose scores are
// all 0, and whose members are the values of the columns in bytes of the same
// order, and then the id.
type indexSpec struct {
	Name    string   `json:"name"`
	Columns []column `json:"columns"`
	Unique  bool     `json:"unique,omitempty"` // a hash from value to id
	Equal   bool     `json:"equal,omitempty"`  // answers equality only: long values are kept as digests
	Fold    bool     `json:"fold,omitempty"`
	At      string   `json:"at,omitempty"` // key of a unique one that Options.Keys names

	fieldOf  []int // number of the field of each column
	many     int   // which column has many values, or -1
	encoding ordered.Encoding
	number   int    // what it is called in the content of a record
	key      string // what it is called in its key: the name, or one beside it
	state    *indexState
}

// column is one column of an index.
type column struct {
	Field string `json:"field"`
	Desc  bool   `json:"desc,omitempty"`
}

// maxElements is how many elements of a list are indexed.
const maxElements = 1000

// number returns the number of a field, or -1.
func (s *schema) number(name string) int {
	return slices.IndexFunc(s.fields, func(f field) bool { return f.Name == name })
}

// index returns an index by its name, or nil.
func (s *schema) index(name string) *indexSpec {
	i := slices.IndexFunc(s.indexes, func(x *indexSpec) bool { return x.Name == name })
	if i < 0 {
		return nil
	}
	return s.indexes[i]
}

// addSpec checks an index and adds it.
func (s *schema) addSpec(x indexSpec) error {
	if s.index(x.Name) != nil {
		return fmt.Errorf("another index is called %q too", x.Name)
	}
	x.many, x.state = -1, new(indexState)
	var columns []ordered.Column
	text := false
	for i, c := range x.Columns {
		number := s.number(c.Field)
		if number < 0 {
			return fmt.Errorf("no field is called %q", c.Field)
		}
		f := s.fields[number]
		if f.Kind == kindJSON {
			switch {
			case f.Element == "":
				return fmt.Errorf("%s cannot be indexed: of what is stored as JSON, only lists of strings, numbers, bools, times and references can", c.Field)
			case x.many >= 0:
				return fmt.Errorf("%s and %s are both lists: an index has one list at most", x.Columns[x.many].Field, c.Field)
			}
			x.many = i
		}
		text = text || f.valueKind().column() == ordered.String
		columns = append(columns, ordered.Column{Name: columnName(c.Field), Type: f.valueKind().column(), Desc: c.Desc})
		x.fieldOf = append(x.fieldOf, number)
	}
	if x.Fold && !text {
		return errors.New("fold is for text")
	}
	var err error
	x.encoding, err = ordered.NewEncoding(columns...)
	s.indexes = append(s.indexes, &x)
	return err
}

// columnName is what errors call a column of the field: index knows none named
// id.
func columnName(field string) string {
	if field == "id" {
		return "id_"
	}
	return field
}

// valueKind is the kind of the values in an index: of the elements of a list.
func (f *field) valueKind() kind {
	if f.Element != "" {
		return f.Element
	}
	return f.Kind
}

// identity is the text of an index that tells it from all others, also from one
// of the same name that is declared otherwise.
func (x *indexSpec) identity(s *schema) string {
	words := make([]string, len(x.Columns))
	for i, c := range x.Columns {
		f := &s.fields[x.fieldOf[i]]
		words[i] = c.Field + ":" + string(f.Kind)
		if f.Element != "" {
			words[i] += " of " + string(f.Element)
		}
		if c.Desc {
			words[i] += " desc"
		}
		if f.Computed {
			words[i] += " computed"
		}
	}
	text := x.Name + "=" + strings.Join(words, ",")
	for _, o := range []struct {
		is   bool
		word string
	}{{x.Unique, "unique"}, {x.Equal, "equal"}, {x.Fold, "fold"}} {
		if o.is {
			text += " " + o.word
		}
	}
	if x.At != "" {
		text += " at " + strconv.Quote(x.At) // it is one line, whatever the key is
	}
	return text
}

// stored is a schema as it is written down in user.meta, for programs that do
// not have the Go type.
type stored struct {
	Encoding    string       `json:"encoding"` // "hash"; earlier versions could store records as "json"
	IDs         IDs          `json:"ids"`
	Record      string       `json:"record"` // before the id in the key of a record of an unspread model
	Counter     string       `json:"counter,omitempty"`
	Partitions  int          `json:"partitions"`
	Expires     string       `json:"expires,omitempty"`
	Fields      []field      `json:"fields"` // in the order of their numbers
	Indexes     []*indexSpec `json:"indexes"`
	Collections []string     `json:"collections,omitempty"`
	Type        string       `json:"type,omitempty"` // name of the Go type
	Refs        []storedRef  `json:"refs,omitempty"`
}

// stored returns the schema as it is stored.
func (l *layout) stored() stored {
	s := l.schema
	w := stored{
		Encoding: "hash", IDs: l.ids, Record: l.parts[0].record, Counter: l.counter,
		Partitions: len(l.parts), Fields: s.fields, Indexes: s.indexes, Collections: s.collections,
		Type: s.typeName, Refs: s.rules,
	}
	if l.spread() {
		w.Record = ""
	}
	if l.ids != Counter {
		w.Counter = ""
	}
	if s.expires >= 0 {
		w.Expires = s.fields[s.expires].Name
	}
	return w
}

// storedRef is a field that refers to other records by a rule.
type storedRef struct {
	Field  string   `json:"field"`
	Target string   `json:"target"` // name of the Go type
	Rule   OnDelete `json:"rule"`
}

// parseStored reads a schema that a Store wrote.
func parseStored(text string) (stored, schema, error) {
	var w stored
	var s schema
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return w, s, fmt.Errorf("%w: the schema: %w", ErrCorrupt, err)
	}
	s.fields, s.collections, s.typeName, s.rules = w.Fields, w.Collections, w.Type, w.Refs
	s.version, s.expires = -1, -1
	for _, f := range s.fields {
		if !f.Computed {
			s.names, s.counters = append(s.names, f.Name), append(s.counters, false)
		}
	}
	if w.Expires != "" {
		if s.expires = s.number(w.Expires); s.expires < 0 {
			return w, s, fmt.Errorf("%w: the schema: no field is called %q", ErrCorrupt, w.Expires)
		}
	}
	for _, x := range w.Indexes {
		if err := s.addSpec(*x); err != nil {
			return w, s, fmt.Errorf("%w: the schema: index %s: %w", ErrCorrupt, x.Name, err)
		}
	}
	return w, s, nil
}

// fixed is what of a model cannot be changed by a migration.
func (w *stored) fixed() string {
	if w.Partitions == 1 {
		return fmt.Sprintf("each record as %s at %s<id>", w.Encoding, w.Record)
	}
	return fmt.Sprintf("each record as %s, in %d partitions", w.Encoding, w.Partitions)
}

// identities are those of the indexes.
func (s *schema) identities() []string {
	all := make([]string, len(s.indexes))
	for i, x := range s.indexes {
		all[i] = x.identity(s)
	}
	return all
}

// digestOf is the digest of a declaration: what it must have in common with
// another for both to write the same records.
func digestOf(expires string, identities []string) string {
	sum := sha256.Sum256([]byte(expires + "\n" + strings.Join(slices.Sorted(slices.Values(identities)), "\n")))
	return hex.EncodeToString(sum[:8])
}

// described words an entry.
func (x *indexSpec) described(value string) string {
	if x.Unique && len(x.Columns) == 1 {
		return fmt.Sprintf("%s=%q", x.Name, shortened(value))
	}
	var words []string
	for i, c := range x.Columns {
		v, rest, err := x.encoding[i].Next(value)
		if err != nil {
			return fmt.Sprintf("%s=%q", x.Name, shortened(value))
		}
		value = rest
		switch v := v.(type) {
		case string:
			words = append(words, fmt.Sprintf("%s=%q", c.Field, shortened(v)))
		case time.Time:
			words = append(words, c.Field+"="+v.Format(time.RFC3339Nano))
		default:
			words = append(words, fmt.Sprintf("%s=%v", c.Field, v))
		}
	}
	return strings.Join(words, ",")
}

// idOf cuts the id off a member of the sorted set of an index.
func (x *indexSpec) idOf(member string) (value, id string, ok bool) {
	rest := member
	for i := range x.Columns {
		var err error
		if _, rest, err = x.encoding[i].Next(rest); err != nil {
			return member, "", false
		}
	}
	return member[:len(member)-len(rest)], rest, rest != ""
}

// computed tells whether an index has a column that only the Go type can compute.
func (s *schema) computed(x *indexSpec) bool {
	return slices.ContainsFunc(x.fieldOf, func(i int) bool { return s.fields[i].Computed })
}

// notBuilt is the error of a query that an index would answer.
func (x *indexSpec) notBuilt() error {
	return fmt.Errorf("%w: the index %s is not built yet: run Migrate", ErrSchema, x.Name)
}

// columnOf returns which column of an index a field is, or -1.
func (x *indexSpec) columnOf(field int) int { return slices.Index(x.fieldOf, field) }

// ready tells whether all records are in the index, as far as is known here. One
// that another process has dropped is found out by the scripts of a query.
func (x *indexSpec) ready() bool { return x.state.built.Load() }

// fieldIndex returns the sorted set of a field, which New has seen to.
func (s *schema) fieldIndex(field int) *indexSpec {
	for _, x := range s.indexes {
		if !x.Unique && len(x.Columns) == 1 && x.fieldOf[0] == field {
			return x
		}
	}
	return nil
}

// indexState is what a process knows of an index in the database.
type indexState struct {
	built atomic.Bool  // all records are in it
	asked atomic.Int64 // when the database was asked last, in nanoseconds since 1970
}

// entriesLua is the beginning of the scripts that read or write the entries of
// records in the indexes.
//
//go:embed entries.lua
var entriesLua string

// numbered returns the index with a number, or nil.
func (s *schema) numbered(number int) *indexSpec {
	if i := slices.IndexFunc(s.indexes, func(x *indexSpec) bool { return x.number == number }); i >= 0 {
		return s.indexes[i]
	}
	return nil
}
