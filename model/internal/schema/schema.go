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

// Schema describes the stored data of a model and its indexes: everything that maintenance
// needs, without the Go type.
type Schema struct {
	Fields      []Field // stored fields, then computed fields
	Indexes     []*Index
	Collections []string      // names of the Sets and Lists of a record
	Names       []string      // names of the stored fields
	Counters    []bool        // by the number of the field: whether it is a counter
	Version     int           // number of the field, or -1
	Expires     int           // number of the field, or -1
	Created     int           // number of the field, or -1
	Updated     int           // number of the field, or -1
	TTL         time.Duration // default lifetime of records; 0: unlimited
	TypeName    string        // name of the Go type
	References  []Reference
	Exists      []int // numbers of the fields with the option exists; only known with the Go type
}

// Field is one field of a record.
type Field struct {
	Name     string `json:"name"`
	Kind     kind   `json:"kind"`
	Element  kind   `json:"element,omitempty"` // kind of the elements of an indexable list
	Computed bool   `json:"computed,omitempty"`
	// Zero is the value in indexes for a record without the field, if the Go type cannot
	// distinguish an absent value from zero. nil: such a record is not in the index.
	Zero *string `json:"zero,omitempty"`
}

// Optional reports whether a record can be missing from an index of the field.
func (f *Field) Optional() bool { return f.Zero == nil || f.Element != "" }

// indexed returns the text of a field for an index: an absent field has the value that
// Get returns.
func (f *Field) indexed(stored Text) Text {
	if !stored.OK && f.Zero != nil && !f.Computed {
		return Text{Value: *f.Zero, OK: true}
	}
	return stored
}

// Index is one index, in one of three forms:
//
//   - A unique index is a hash from value to id.
//   - An index that only supports equality (PerValue) has a sorted set of ids for each value,
//     in creation order, with the same scores as in <model>.all. A sorted set at the key of the
//     index, its directory, lists the values that have such a set; its scores are 0.
//   - Any other index is a sorted set in which all scores are 0. Each member is the values of
//     the columns, encoded as bytes that sort as the values do, followed by the id.
type Index struct {
	Name            string   `json:"name"`
	Columns         []Column `json:"columns"`
	Unique          bool     `json:"unique,omitempty"` // a hash from value to id
	PerValue        bool     `json:"equal,omitempty"`  // supports equality only, with a set per value
	CaseInsensitive bool     `json:"fold,omitempty"`
	At              string   `json:"at,omitempty"` // key of a unique index named in Options.Keys

	FieldNumbers []int            `json:"-"` // number of the field of each column
	ListColumn   int              `json:"-"` // the column that is a list, or -1
	Encoding     ordered.Encoding `json:"-"`
	Number       int              `json:"-"` // number of the index in contents
	Key          string           `json:"-"` // name in the key: Name, or Name with a suffix
	Place        int              `json:"-"` // position in Partition.Indexes, or -1
	State        *IndexState      `json:"-"`
}

// Column is one column of an index.
type Column struct {
	Field string `json:"field"`
	Desc  bool   `json:"desc,omitempty"`
}

// maxElements is the maximum number of elements of an indexed list.
const maxElements = 1000

// Timed reports whether records have times from the clock of the server.
func (s *Schema) Timed() bool { return s.Created >= 0 || s.Updated >= 0 || s.TTL > 0 }

// Kept reports whether writing a whole record keeps the stored value of a field.
func (s *Schema) Kept(field int) bool { return s.Counters[field] || field == s.Created }

// NamesOf returns the names of stored fields.
func (s *Schema) NamesOf(numbers []int) []string {
	all := make([]string, len(numbers))
	for i, field := range numbers {
		all[i] = s.Names[field]
	}
	return all
}

// Number returns the number of a field, or -1.
func (s *Schema) Number(name string) int {
	return slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name })
}

// Index returns an index by its name, or nil.
func (s *Schema) Index(name string) *Index {
	i := slices.IndexFunc(s.Indexes, func(x *Index) bool { return x.Name == name })
	if i < 0 {
		return nil
	}
	return s.Indexes[i]
}

// addSpec validates and adds an index.
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
				return fmt.Errorf("%s cannot be indexed: it is stored as JSON, and is not a list of strings, numbers, bools, times or references", c.Field)
			case x.ListColumn >= 0:
				return fmt.Errorf("%s and %s are both lists: an index has one list at most", x.Columns[x.ListColumn].Field, c.Field)
			}
			x.ListColumn = i
		}
		text = text || f.ValueKind().Column() == ordered.String
		columns = append(columns, f.ValueKind().column(c.Field, c.Desc))
		x.FieldNumbers = append(x.FieldNumbers, number)
	}
	if x.CaseInsensitive && !text {
		return errors.New("caseinsensitive is for text")
	}
	if x.PerValue && (x.Unique || len(x.Columns) != 1) {
		return errors.New("an index with a set for each value has one column, and is not unique")
	}
	var err error
	x.Encoding, err = ordered.NewEncoding(columns...)
	s.Indexes = append(s.Indexes, &x)
	return err
}

// Type describes the kind of a field.
func (f *Field) Type() string {
	if f.Element != "" {
		return string(f.Kind) + " of " + string(f.Element)
	}
	return string(f.Kind)
}

// ValueKind returns the kind of the indexed values: for a list, the kind of its elements.
func (f *Field) ValueKind() kind {
	if f.Element != "" {
		return f.Element
	}
	return f.Kind
}

// Identity returns a text that identifies the declaration of an index. Indexes with the same
// name but different declarations have different identities.
func (x *Index) Identity(s *Schema) string {
	words := make([]string, len(x.Columns))
	for i, c := range x.Columns {
		f := &s.Fields[x.FieldNumbers[i]]
		words[i] = c.Field + ":" + f.Type()
		if c.Desc {
			words[i] += " desc"
		}
		if f.Computed {
			words[i] += " computed"
		}
	}
	text := x.Name + "=" + strings.Join(words, ",")
	for _, o := range []struct {
		set  bool
		word string
	}{{x.Unique, "unique"}, {x.PerValue, perValue}, {x.CaseInsensitive, "fold"}} {
		if o.set {
			text += " " + o.word
		}
	}
	if x.At != "" {
		text += " at " + strconv.Quote(x.At) // one line, whatever the key is
	}
	return text
}

// perValue is the word in the identity of an index with a set per value.
const perValue = "equal"

// PerValue reports whether an identity belongs to an index with a set per value.
func PerValue(identity string) bool {
	options, _, _ := strings.Cut(identity, " at ")
	return strings.Contains(options+" ", " "+perValue+" ")
}

// Stored is a schema as stored in <model>.meta, for programs without the Go type.
type Stored struct {
	Encoding    string      `json:"encoding"` // "hash"
	IDs         IDs         `json:"ids"`
	Record      string      `json:"record"` // prefix of the keys of records, for a model with one partition
	Counter     string      `json:"counter,omitempty"`
	Partitions  int         `json:"partitions"`
	Expires     string      `json:"expires,omitempty"`
	Fields      []Field     `json:"fields"` // by their numbers
	Indexes     []*Index    `json:"indexes"`
	Collections []string    `json:"collections,omitempty"`
	Type        string      `json:"type,omitempty"` // name of the Go type
	Refs        []Reference `json:"refs,omitempty"`
}

// Reference is a field that refers to other records by a rule.
type Reference struct {
	Field  string   `json:"field"`
	Target string   `json:"target"` // name of the Go type
	Rule   OnDelete `json:"rule"`
}

// ParseStored parses a stored schema.
func ParseStored(text string) (Stored, Schema, error) {
	var w Stored
	var s Schema
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return w, s, fmt.Errorf("%w: the schema: %w", ErrCorrupt, err)
	}
	s.Fields, s.Collections, s.TypeName, s.References = w.Fields, w.Collections, w.Type, w.Refs
	s.Version, s.Expires, s.Created, s.Updated = -1, -1, -1, -1
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

// Fixed describes the properties that a migration cannot change.
func (w *Stored) Fixed() string {
	if w.Partitions == 1 {
		return fmt.Sprintf("each record as %s at %s<id>", w.Encoding, w.Record)
	}
	return fmt.Sprintf("each record as %s, in %d partitions", w.Encoding, w.Partitions)
}

// Identities returns the identities of the indexes.
func (s *Schema) Identities() []string {
	all := make([]string, len(s.Indexes))
	for i, x := range s.Indexes {
		all[i] = x.Identity(s)
	}
	return all
}

// DigestOf returns the digest of a declaration. Programs whose declarations have equal digests
// write the same entries.
func DigestOf(expires string, identities []string) string {
	sum := sha256.Sum256([]byte(expires + "\n" + strings.Join(slices.Sorted(slices.Values(identities)), "\n")))
	return hex.EncodeToString(sum[:8])
}

// Describe formats an entry in human-readable form.
func (x *Index) Describe(value string) string {
	if x.PerValue && x.Encoding[0].Type != ordered.String {
		return x.Name + "=" + Shorten(value)
	}
	if x.Plain() {
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

// SplitMember splits a member of the sorted set of an index into value and id.
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

// Computed reports whether an index has a column that only the Go type can compute.
func (s *Schema) Computed(x *Index) bool {
	return slices.ContainsFunc(x.FieldNumbers, func(i int) bool { return s.Fields[i].Computed })
}

// NotBuilt returns the error of a query that needs the index.
func (x *Index) NotBuilt() error {
	return fmt.Errorf("%w: the index %s is not built yet: run Migrate", ErrSchema, x.Name)
}

// ColumnOf returns the column of a field, or -1.
func (x *Index) ColumnOf(field int) int { return slices.Index(x.FieldNumbers, field) }

// Built reports whether all records are in the index, as far as this process knows. The scripts
// of queries notice if another process has dropped the index.
func (x *Index) Built() bool { return x.State.Built.Load() }

// FieldIndex returns the non-unique index on a single field, or nil. Fields with a rule have such
// an index, as New checks.
func (s *Schema) FieldIndex(field int) *Index {
	for _, x := range s.Indexes {
		if !x.Unique && len(x.Columns) == 1 && x.FieldNumbers[0] == field {
			return x
		}
	}
	return nil
}

// UniqueIndex returns the unique index on a single field, or nil.
func (s *Schema) UniqueIndex(field int) *Index {
	for _, x := range s.Indexes {
		if x.Unique && len(x.Columns) == 1 && x.FieldNumbers[0] == field {
			return x
		}
	}
	return nil
}

// ValueIndex returns the index on a single field with a set per value, or nil.
func (s *Schema) ValueIndex(field int) *Index {
	if x := s.FieldIndex(field); x != nil && x.PerValue {
		return x
	}
	return nil
}

// IndexState is the state of an index in the database, as last read by this process.
type IndexState struct {
	Built atomic.Bool  // all records are in the index
	Asked atomic.Int64 // when the database was last read, by package elapsed
}

// EntriesLua precedes all scripts that read the contents of records.
//
//go:embed entries.lua
var EntriesLua string

// Numbered returns the index with a number, or nil.
func (s *Schema) Numbered(number int) *Index {
	if i := slices.IndexFunc(s.Indexes, func(x *Index) bool { return x.Number == number }); i >= 0 {
		return s.Indexes[i]
	}
	return nil
}
