package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"retwis/internal/ordered"
)

// content is what is in the indexes of one record, as user.content keeps it: with
// it one script can take the record out of all of them, and look at it without
// reading the record. It is a MessagePack list that Lua reads at once:
//
//	when the record expires in milliseconds since 1970, or 0; number of an index, value; …
type content string

// entry is one value of a record in one index.
type entry struct {
	index *indexSpec
	value string // of a unique index the field of its hash, else what stands before the id
}

// Bounds of what a record has in indexes.
const (
	maxIndexed = 1024 // bytes of a value
	maxEntries = 4000
)

// entries are what a record has in the indexes.
func (s *schema) entries(record []text) ([]entry, error) {
	all := make([]entry, 0, len(s.indexes)+2)
	for _, x := range s.indexes {
		var err error
		if all, err = x.append(all, s, record); err != nil {
			return nil, err
		}
	}
	if len(all) > maxEntries {
		return nil, fmt.Errorf("%w: the record has %d entries in indexes: at most %d are allowed", ErrValue, len(all), maxEntries)
	}
	return all, nil
}

// append appends the entries of a record in one index. A record without a value
// for one of the columns has none; an absent field that Get reads as a zero value
// has that.
func (x *indexSpec) append(all []entry, s *schema, record []text) ([]entry, error) {
	for _, f := range x.fieldOf {
		if !s.fields[f].indexed(record[f]).ok {
			return all, nil
		}
	}
	if x.many < 0 {
		value, err := x.value(s, record, "")
		if err != nil {
			return nil, err
		}
		return append(all, entry{x, value}), nil
	}
	f := &s.fields[x.fieldOf[x.many]]
	list, err := elements(f.indexed(record[x.fieldOf[x.many]]).s, f.Element)
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
		if !seen[value] { // two elements can fold to one
			seen[value] = true
			all = append(all, entry{x, value})
		}
	}
	return all, nil
}

// value is what a record, or one element of its list, has in the index.
func (x *indexSpec) value(s *schema, record []text, element string) (string, error) {
	plain := x.Unique && len(x.Columns) == 1
	var b []byte
	for i, f := range x.fieldOf {
		t := s.fields[f].indexed(record[f]).s
		if i == x.many {
			t = element
		}
		if plain {
			b = append(b, x.plain(s, t)...)
			continue
		}
		var err error
		if b, err = x.appendColumn(b, s, i, t); err != nil {
			return "", err
		}
	}
	if len(b) > maxIndexed {
		return "", fmt.Errorf("%w: %s has %d bytes: an index holds at most %d", ErrValue, x.Name, len(b), maxIndexed)
	}
	return string(b), nil
}

// plain is the value of a unique index of one column: its text, so that a person
// can read it and other programs can look it up.
func (x *indexSpec) plain(s *schema, t string) string {
	if s.fields[x.fieldOf[0]].valueKind().column() == ordered.String {
		return x.folded(t)
	}
	return t
}

// appendColumn appends the bytes of one column, from the text of its field.
func (x *indexSpec) appendColumn(b []byte, s *schema, column int, t string) ([]byte, error) {
	f := &s.fields[x.fieldOf[column]]
	v, err := f.valueKind().value(f.Name, t)
	if err != nil {
		return nil, err
	}
	if text, ok := v.(string); ok {
		if text = x.folded(text); x.Equal {
			text = digested(text)
		}
		v = text
	}
	return x.encoding[column].Append(b, v)
}

// folded is text as the index compares it.
func (x *indexSpec) folded(s string) string {
	if !x.Fold {
		return s
	}
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
		}
	}
	return strings.ToLower(s)
}

// digested keeps long text short where only equality is asked for. A digest has 59
// bytes: text of so many is digested too, or it could be taken for that of another.
func digested(s string) string {
	const keep, most = 24, 58
	if len(s) <= most {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return s[:keep] + "…" + hex.EncodeToString(sum[:16])
}

// pack writes entries as content.
func pack(due int64, entries []entry) content {
	size := 16
	for i := range entries {
		size += len(entries[i].value) + 8
	}
	b := make([]byte, 0, size)
	b = packInt(packList(b, 1+2*len(entries)), due)
	for i := range entries {
		b = packInt(b, int64(entries[i].index.number))
		b = packText(b, entries[i].value)
	}
	return content(b)
}

func packList(b []byte, n int) []byte {
	if n < 16 {
		return append(b, 0x90|byte(n))
	}
	return binary.BigEndian.AppendUint16(append(b, 0xdc), uint16(n))
}

func packInt(b []byte, n int64) []byte {
	if n < 128 {
		return append(b, byte(n))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xd3), uint64(n))
}

func packText(b []byte, s string) []byte {
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
