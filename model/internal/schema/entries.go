package schema

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"retwis/internal/ordered"
)

// Content is the index entries of one record, as stored in the hash <model>.content. It allows a
// script to remove the record from all indexes, or to check conditions without reading the record.
// A Content is a MessagePack list, which Lua unpacks in one call: the expiry in milliseconds since
// 1970 or 0, then the number of the index and the value of each entry.
type Content string

// Entry is one value of a record in one index.
type Entry struct {
	Index *Index
	// Value is the value as stored: a field of the hash of a unique index, the end of the key of a
	// set, or the part of a member before the ID.
	Value string
}

// Limits of the index entries of a record.
const (
	MaxIndexed = 1024 // bytes of a value
	maxEntries = 4000
)

// Entries returns the index entries of a record.
func (s *Schema) Entries(record []Text) ([]Entry, error) { return s.EntriesOf(s.Indexes, record) }

// EntriesOf returns the entries of a record in the given indexes.
func (s *Schema) EntriesOf(indexes []*Index, record []Text) ([]Entry, error) {
	all := make([]Entry, 0, len(indexes)+2)
	for _, x := range indexes {
		var err error
		if all, err = x.AppendEntries(all, s, record); err != nil {
			return nil, err
		}
	}
	if len(all) > maxEntries {
		return nil, fmt.Errorf("%w: the record has %d entries in indexes: at most %d are allowed", ErrValue, len(all), maxEntries)
	}
	return all, nil
}

// AppendEntries appends the entries of a record in one index. A record without a value for one
// of the columns has no entry. An absent field has the value that Get returns.
func (x *Index) AppendEntries(all []Entry, s *Schema, record []Text) ([]Entry, error) {
	for _, f := range x.FieldNumbers {
		if !s.Fields[f].indexed(record[f]).OK {
			return all, nil
		}
	}
	if x.ListColumn < 0 {
		value, err := x.value(s, record, "")
		if err != nil {
			return nil, err
		}
		return append(all, Entry{x, value}), nil
	}
	f := &s.Fields[x.FieldNumbers[x.ListColumn]]
	list, err := elements(f.indexed(record[x.FieldNumbers[x.ListColumn]]).Value, f.Element)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrValue, f.Name, err)
	}
	if len(list) > maxElements {
		return nil, fmt.Errorf("%w: %s has %d elements: an indexed list has at most %d", ErrValue, f.Name, len(list), maxElements)
	}
	seen := make(map[string]bool, len(list))
	for _, element := range list {
		value, err := x.value(s, record, element)
		if err != nil {
			return nil, err
		}
		if !seen[value] { // elements may differ only by case
			seen[value] = true
			all = append(all, Entry{x, value})
		}
	}
	return all, nil
}

// value returns the value of a record, or of one element of its list, in the index.
func (x *Index) value(s *Schema, record []Text, element string) (string, error) {
	if x.PerValue {
		t := s.Fields[x.FieldNumbers[0]].indexed(record[x.FieldNumbers[0]]).Value
		if x.ListColumn == 0 {
			t = element
		}
		return x.canonical(s, t)
	}
	plain := x.Plain()
	var b []byte
	for i, f := range x.FieldNumbers {
		t := s.Fields[f].indexed(record[f]).Value
		if i == x.ListColumn {
			t = element
		}
		if plain {
			b = append(b, x.plain(s, t)...)
			continue
		}
		var err error
		if b, err = x.AppendColumn(b, s, i, t); err != nil {
			return "", err
		}
	}
	if len(b) > MaxIndexed {
		return "", fmt.Errorf("%w: %s has %d bytes: an index holds at most %d", ErrValue, x.Name, len(b), MaxIndexed)
	}
	return string(b), nil
}

// plain returns the value in a unique index with one column: a readable text that other
// programs can look up.
func (x *Index) plain(s *Schema, t string) string {
	if t == "-0" && s.Fields[x.FieldNumbers[0]].ValueKind() == kindFloat {
		return "0"
	}
	switch kind := s.Fields[x.FieldNumbers[0]].ValueKind(); {
	case kind.Column() == ordered.String:
		return x.folded(t)
	case kind == kindDecimal:
		if text, err := decimalText(t); err == nil {
			return text
		}
	}
	return t
}

// canonical returns the value in an index with a set per value: a readable text that is the
// same for equal values.
func (x *Index) canonical(s *Schema, t string) (string, error) {
	f := &s.Fields[x.FieldNumbers[0]]
	kind := f.ValueKind()
	v, err := kind.Value(f.Name, t)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return digested(x.folded(v)), nil
	case bool:
		return boolText(v), nil
	case int64:
		if kind == kindDuration {
			return time.Duration(v).String(), nil
		}
		return strconv.FormatInt(v, 10), nil
	}
	// A number or time can be written in several ways.
	b, err := x.Encoding[0].Append(nil, v)
	if err == nil {
		v, err = x.Encoding[0].Value(string(b))
	}
	if err == nil && kind == kindDecimal {
		return decimalText(x.Encoding[0].Format(v))
	}
	return x.Encoding[0].Format(v), err
}

// ValueOf returns the value in an index with one column for the text of its field.
func (x *Index) ValueOf(s *Schema, t string) (string, error) {
	switch {
	case x.PerValue:
		return x.canonical(s, t)
	case x.Plain():
		return x.plain(s, t), nil
	}
	b, err := x.AppendColumn(nil, s, 0, t)
	return string(b), err
}

// AppendColumn appends the encoded value of one column, from the text of its field.
func (x *Index) AppendColumn(b []byte, s *Schema, column int, t string) ([]byte, error) {
	f := &s.Fields[x.FieldNumbers[column]]
	v, err := f.ValueKind().Value(f.Name, t)
	if err != nil {
		return nil, err
	}
	if text, ok := v.(string); ok {
		v = x.folded(text)
	}
	return x.Encoding[column].Append(b, v)
}

// folded returns the text in the form that the index compares.
func (x *Index) folded(s string) string {
	if !x.CaseInsensitive {
		return s
	}
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
		}
	}
	return strings.ToLower(s)
}

// digested shortens long text for an index that only supports equality. A digest has 59 bytes;
// text of 59 bytes is digested as well, so that no text can equal a digest.
func digested(s string) string {
	const keep, maxPlain = 24, 58
	if len(s) <= maxPlain {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return s[:keep] + "…" + hex.EncodeToString(sum[:16])
}

// Pack encodes entries as a Content.
func Pack(due int64, entries []Entry) Content {
	size := 16
	for i := range entries {
		size += len(entries[i].Value) + 8
	}
	b := make([]byte, 0, size)
	b = PackInt(PackList(b, 1+2*len(entries)), due)
	for i := range entries {
		b = PackInt(b, int64(entries[i].Index.Number))
		b = PackText(b, entries[i].Value)
	}
	return Content(b)
}

// PackList appends the header of a MessagePack list with n elements.
func PackList(b []byte, n int) []byte {
	if n < 16 {
		return append(b, 0x90|byte(n))
	}
	return binary.BigEndian.AppendUint16(append(b, 0xdc), uint16(n))
}

// PackInt appends a MessagePack integer.
func PackInt(b []byte, n int64) []byte {
	if n < 128 {
		return append(b, byte(n))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xd3), uint64(n))
}

// PackText appends a MessagePack string.
func PackText(b []byte, s string) []byte {
	switch {
	case len(s) < 32:
		b = append(b, 0xa0|byte(len(s)))
	case len(s) < 256:
		b = append(b, 0xd9, byte(len(s)))
	default:
		b = binary.BigEndian.AppendUint16(append(b, 0xda), uint16(len(s)))
	}
	return append(b, s...)
}

// Taken returns the error for an entry whose unique value belongs to owner.
func Taken(e Entry, owner string) *TakenError {
	value := e.Value
	if len(e.Index.Columns) > 1 {
		value = e.Index.Describe(value)
	}
	return &TakenError{Field: e.Index.Name, Value: value, Owner: owner}
}
