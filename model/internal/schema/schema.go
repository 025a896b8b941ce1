package schema

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
type Schema struct {
	Fields      []Field // the stored ones, then the computed ones
	Indexes     []*Index
	Collections []string // names of the Sets and Lists of a record
	Names       []string // of the stored fields
	Counters    []bool   // which of them are counters
	Version     int      // number of the field, or -1
	Expires     int      // number of the field, or -1
	TypeName    string   // name of the Go type
	References  []Reference
}

// field is one field of a record.
type Field struct {
	Name     string `json:"name"`
	Kind     kind   `json:"kind"`
	Element  kind   `json:"element,omitempty"` // of a list that can be indexed
	Computed bool   `json:"computed,omitempty"`
	// Zero is what indexes hold of a record without the field: its value where the
	// Go type cannot tell none from zero. Nil: the record has no place in them.
	Zero *string `json:"zero,omitempty"`
}

// optional tells whether a record may have no place in an index of the field.
func (f *Field) Optional() bool { return f.Zero == nil || f.Element != "" }

// indexed is the text of a field as an index sees it: an absent one as Get reads it.
func (f *Field) indexed(stored Text) Text {
	if !stored.OK && f.Zero != nil && !f.Computed {
		return Text{*f.Zero, true}
	}
	return stored
}

// indexSpec is one index. Unless it is unique it is a sorted set whose scores are
// all 0, and whose members are the values of the columns in bytes of the same
// order, and then the id.
type Index struct {
	Name            string   `json:"name"`
	Columns         []Column `json:"columns"`
	Unique          bool     `json:"unique,omitempty"` // a hash from value to id
	Equal           bool     `json:"equal,omitempty"`  // answers equality only: long values are kept as digests
	CaseInsensitive bool     `json:"fold,omitempty"`
	At              string   `json:"at,omitempty"` // key of a unique one that Options.Keys names

	FieldNumbers []int            `json:"-"` // number of the field of each column
	ListColumn   int              `json:"-"` // which column has many values, or -1
	Encoding     ordered.Encoding `json:"-"`
	Number       int              `json:"-"` // what it is called in the content of a record
	Key          string           `json:"-"` // what it is called in its key: the name, or one beside it
	State        *IndexState      `json:"-"`
}

// Column is one column of an index.
type Column struct {
	Field string `json:"field"`
	Desc  bool   `json:"desc,omitempty"`
}

// maxElements is how many elements of a list are indexed.
const maxElements = 1000

// number returns the number of a field, or -1.
func (s *Schema) Number(name string) int {
	return slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name })
}

// index returns an index by its name, or nil.
func (s *Schema) Index(name string) *Index {
	i := slices.IndexFunc(s.Indexes, func(x *Index) bool { return x.Name == name })
	if i < 0 {
		return nil
	}
	return s.Indexes[i]
}

// addSpec checks an index and adds it.
func (s *Schema) addSpec(x Index) error {
	if s.Index(x.Name) != nil {
		return fmt.Errorf("another index is called %q too", x.Name)
	}
	x.ListColumn, x.State = -1, new(IndexState)
	var columns []ordered.Column
	text := false
	for i, c := range x.Columns {
		number := s.Number(c.Field)
		if number < 0 {
			return fmt.Errorf("no field is called %q", c.Field)
		}
		f := s.Fields[number]
		if f.Kind == KindJSON {
			switch {
			case f.Element == "":
				return fmt.Errorf("%s cannot be indexed: of what is stored as JSON, only lists of strings, numbers, bools, times and references can", c.Field)
			case x.ListColumn >= 0:
				return fmt.Errorf("%s and %s are both lists: an index has one list at most", x.Columns[x.ListColumn].Field, c.Field)
			}
			x.ListColumn = i
		}
		text = text || f.ValueKind().Column() == ordered.String
		columns = append(columns, ordered.Column{Name: columnName(c.Field), Type: f.ValueKind().Column(), Desc: c.Desc})
		x.FieldNumbers = append(x.FieldNumbers, number)
	}
	if x.CaseInsensitive && !text {
		return errors.New("caseinsensitive is for text")
	}
	var err error
	x.Encoding, err = ordered.NewEncoding(columns...)
	s.Indexes = append(s.Indexes, &x)
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
func (f *Field) ValueKind() kind {
	if f.Element != "" {
		return f.Element
	}
	return f.Kind
}

// identity is the text of an index that tells it from all others, also from one
// of the same name that is declared otherwise.
func (x *Index) Identity(s *Schema) string {
	words := make([]string, len(x.Columns))
	for i, c := range x.Columns {
		f := &s.Fields[x.FieldNumbers[i]]
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
	}{{x.Unique, "unique"}, {x.Equal, "equal"}, {x.CaseInsensitive, "fold"}} {
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
type Stored struct {
	Encoding    string      `json:"encoding"` // "hash"; earlier versions could store records as "json"
	IDs         IDs         `json:"ids"`
	Record      string      `json:"record"` // before the id in the key of a record of an unspread model
	Counter     string      `json:"counter,omitempty"`
	Partitions  int         `json:"partitions"`
	Expires     string      `json:"expires,omitempty"`
	Fields      []Field     `json:"fields"` // in the order of their numbers
	Indexes     []*Index    `json:"indexes"`
	Collections []string    `json:"collections,omitempty"`
	Type        string      `json:"type,omitempty"` // name of the Go type
	Refs        []Reference `json:"refs,omitempty"`
}

// stored returns the schema as it is stored.
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

// storedRef is a field that refers to other records by a rule.
type Reference struct {
	Field  string   `json:"field"`
	Target string   `json:"target"` // name of the Go type
	Rule   OnDelete `json:"rule"`
}

// parseStored reads a schema that a Store wrote.
func ParseStored(text string) (Stored, Schema, error) {
	var w Stored
	var s Schema
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return w, s, fmt.Errorf("%w: the schema: %w", ErrCorrupt, err)
	}
	s.Fields, s.Collections, s.TypeName, s.References = w.Fields, w.Collections, w.Type, w.Refs
	s.Version, s.Expires = -1, -1
	for _, f := range s.Fields {
		if !f.Computed {
			s.Names, s.Counters = append(s.Names, f.Name), append(s.Counters, false)
		}
	}
	if w.Expires != "" {
		if s.Expires = s.Number(w.Expires); s.Expires < 0 {
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
func (w *Stored) Fixed() string {
	if w.Partitions == 1 {
		return fmt.Sprintf("each record as %s at %s<id>", w.Encoding, w.Record)
	}
	return fmt.Sprintf("each record as %s, in %d partitions", w.Encoding, w.Partitions)
}

// identities are those of the indexes.
func (s *Schema) Identities() []string {
	all := make([]string, len(s.Indexes))
	for i, x := range s.Indexes {
		all[i] = x.Identity(s)
	}
	return all
}

// digestOf is the digest of a declaration: what it must have in common with
// another for both to write the same records.
func DigestOf(expires string, identities []string) string {
	sum := sha256.Sum256([]byte(expires + "\n" + strings.Join(slices.Sorted(slices.Values(identities)), "\n")))
	return hex.EncodeToString(sum[:8])
}

// described words an entry.
func (x *Index) Describe(value string) string {
	if x.Unique && len(x.Columns) == 1 {
		return fmt.Sprintf("%s=%q", x.Name, Shorten(value))
	}
	var words []string
	for i, c := range x.Columns {
		v, rest, err := x.Encoding[i].Next(value)
		if err != nil {
			return fmt.Sprintf("%s=%q", x.Name, Shorten(value))
		}
		value = rest
		switch v := v.(type) {
		case string:
			words = append(words, fmt.Sprintf("%s=%q", c.Field, Shorten(v)))
		case time.Time:
			words = append(words, c.Field+"="+v.Format(time.RFC3339Nano))
		default:
			words = append(words, fmt.Sprintf("%s=%v", c.Field, v))
		}
	}
	return strings.Join(words, ",")
}

// idOf cuts the id off a member of the sorted set of an index.
func (x *Index) SplitMember(member string) (value, id string, ok bool) {
	rest := member
	for i := range x.Columns {
		var err error
		if _, rest, err = x.Encoding[i].Next(rest); err != nil {
			return member, "", false
		}
	}
	return member[:len(member)-len(rest)], rest, rest != ""
}

// computed tells whether an index has a column that only the Go type can compute.
func (s *Schema) Computed(x *Index) bool {
	return slices.ContainsFunc(x.FieldNumbers, func(i int) bool { return s.Fields[i].Computed })
}

// notBuilt is the error of a query that an index would answer.
func (x *Index) NotBuilt() error {
	return fmt.Errorf("%w: the index %s is not built yet: run Migrate", ErrSchema, x.Name)
}

// columnOf returns which column of an index a field is, or -1.
func (x *Index) ColumnOf(field int) int { return slices.Index(x.FieldNumbers, field) }

// ready tells whether all records are in the index, as far as is known here. One
// that another process has dropped is found out by the scripts of a query.
func (x *Index) Built() bool { return x.State.Built.Load() }

// fieldIndex returns the sorted set of a field, which New has seen to.
func (s *Schema) FieldIndex(field int) *Index {
	for _, x := range s.Indexes {
		if !x.Unique && len(x.Columns) == 1 && x.FieldNumbers[0] == field {
			return x
		}
	}
	return nil
}

// indexState is what a process knows of an index in the database.
type IndexState struct {
	Built atomic.Bool  // all records are in it
	Asked atomic.Int64 // when the database was asked last, in nanoseconds since 1970
}

// entriesLua is the beginning of the scripts that read or write the entries of
// records in the indexes.
//
//go:embed entries.lua
var EntriesLua string

// numbered returns the index with a number, or nil.
func (s *Schema) Numbered(number int) *Index {
	if i := slices.IndexFunc(s.Indexes, func(x *Index) bool { return x.Number == number }); i >= 0 {
		return s.Indexes[i]
	}
	return nil
}
